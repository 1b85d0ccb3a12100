/** Requests that are tried again where the server does not answer, or asks to come back later. */

import { Refusal } from './errors.js';
import { parse } from './ordered_json.js';
import { below, systemWords } from './random.js';

const TRANSIENT = new Set([408, 429, 500, 502, 503, 504]);
const FIRST = 250; // milliseconds
const LONGEST = 30_000;
const MOST_JITTER = 1000;
const MOST_READ = 2 ** 26; // characters of an answer

/**
 * How to speak with a server. `patience` is for how many milliseconds to try again without an answer, `busy` the same
 * where it answers to come back later; `wait` sleeps (tests put another clock here), `now` tells the time.
 * @typedef {{ fetch?: typeof fetch, patience?: number, busy?: number, wait?: (milliseconds: number) => Promise<void>,
 *   now?: () => number, onWait?: (milliseconds: number) => void }} Connection
 */

/**
 * An answer that is not transient.
 * @typedef {{ status: number, said: Record<string, unknown> }} Reply
 */

/**
 * Sends a request until there is an answer; the same bytes each time. Redirects are not followed: answers go where
 * their owner said.
 * @param {Connection} connection
 * @param {string} method
 * @param {string} url
 * @param {unknown} [body]
 * @returns {Promise<Reply>}
 */
export async function exchange(connection, method, url, body) {
  const { fetch: ask = globalThis.fetch, patience = 300_000, busy = patience, now = Date.now, wait = sleep } = connection;
  const content = body === undefined ? {} : { body: JSON.stringify(body), headers: { 'Content-Type': 'application/json' } };
  const began = now();
  for (let attempt = 0; ; attempt += 1) {
    const answer = await once(ask, url, { method, ...content });
    if (answer !== null && !TRANSIENT.has(answer.status)) return { status: answer.status, said: answer.said };
    const pause = pauseAfter(attempt, answer?.retryAfter ?? null);
    if (now() - began + pause > (answer === null ? patience : busy)) {
      throw new Refusal('unreachable', 'the server does not answer; what was drawn is kept and can be sent later');
    }
    connection.onWait?.(pause);
    await wait(pause);
  }
}

/**
 * One attempt; null if there was no answer.
 * @param {typeof fetch} ask
 * @param {string} url
 * @param {RequestInit} init
 * @returns {Promise<(Reply & { retryAfter: number | null }) | null>}
 */
async function once(ask, url, init) {
  let response;
  let text;
  try {
    response = await ask(url, { ...init, redirect: 'manual', credentials: 'omit', cache: 'no-store', referrerPolicy: 'no-referrer' });
    text = await response.text();
  } catch {
    return null;
  }
  if (response.type === 'opaqueredirect' || (response.status >= 300 && response.status < 400)) {
    throw new Refusal('redirect', 'the server sends us to another address: redirects are not followed');
  }
  if (text.length > MOST_READ) throw new Refusal('document', "the server's answer is too long");
  return { status: response.status, said: objectOf(text), retryAfter: retryAfter(response.headers.get('Retry-After')) };
}

/** @param {string} text @returns {Record<string, unknown>} */
function objectOf(text) {
  try {
    const said = parse(text);
    return typeof said === 'object' && said !== null ? /** @type {Record<string, unknown>} */ (said) : {};
  } catch {
    return {};
  }
}

/**
 * Milliseconds before the next attempt: at least as long as the server asks, and longer each time.
 * @param {number} attempt
 * @param {number | null} asked
 */
export function pauseAfter(attempt, asked) {
  const jitter = below(systemWords, 1001) / 1000;
  const backedOff = Math.min(LONGEST, FIRST * 2 ** Math.min(attempt, 20)) * (0.5 + 0.5 * jitter);
  return asked === null ? backedOff : asked + Math.min(MOST_JITTER, backedOff) * jitter;
}

/**
 * Milliseconds to wait, from a Retry-After header: a number of seconds, or a date.
 * @param {string | null} header
 * @param {number} [now]
 */
export function retryAfter(header, now = Date.now()) {
  if (header === null) return null;
  const text = header.trim();
  if (/^\d+$/.test(text)) return 1000 * Number(text.slice(0, 9));
  const then = Date.parse(text);
  return Number.isNaN(then) ? null : Math.max(0, then - now);
}

/** The code of a problem, in letters that can be shown. @param {Reply} reply */
export function problemOf({ status, said }) {
  const code = String(said.type ?? '').replace('urn:crowdveil:problem:', '');
  return /^[a-z0-9-]{1,40}$/.test(code) ? code : `status-${status}`;
}

/** @param {number} milliseconds @returns {Promise<void>} */
const sleep = (milliseconds) => new Promise((resolve) => setTimeout(resolve, milliseconds));
