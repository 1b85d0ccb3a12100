/** What a report says, in the reader's words. */

import { Records } from './src/records.js';
import { meaningOf } from './src/meaning.js';
import { Sensing } from './src/sensing.js';
import { fill, inSteps, make, say, written } from './texts.js';

/**
 * @typedef {import('./src/campaign.js').Campaign} Campaign
 * @typedef {import('./src/kinds.js').Asked} Asked
 * @typedef {import('./src/meaning.js').Meaning} Meaning
 * @typedef {import('./src/meaning.js').Part} Part
 * @typedef {import('./src/wire.js').Report} Report
 */

const MOST_NAMED = 12;
const MOST_LOOKED_AT = 5000;
const LEVEL = 0.01; // levels of a scale are at least 1 apart, and need not be whole

/** A possible answer. @param {Part[]} parts */
export function answerText(parts) {
  return parts.map(({ about, value }) => (about === undefined ? sentText(value) : `${about}: ${sentText(value)}`)).join('; ');
}

/** A value that is sent: a number no finer than its grid. @param {unknown} value @param {number} [step] of the grid */
export const sentText = (value, step = LEVEL) => answered(typeof value === 'number' ? inSteps(value, step) : value);

/** A value, a number as people write it, or that there is none. @param {unknown} value */
export function answered(value) {
  if (value === null || value === undefined) return say('none') ?? '';
  return typeof value === 'number' ? written(value) : String(value);
}

/**
 * What was sent, beside the answer if it is known.
 * @param {Campaign} campaign
 * @param {Report} report
 * @param {Asked | undefined} asked
 * @param {Record<string, unknown> | undefined} answer
 * @returns {Node[]}
 */
export function shown({ kind }, report, asked, answer) {
  const sent = kind instanceof Records ? undefined : kind.shown(report);
  const names = sent ? Object.keys(sent) : Object.keys(answer ?? {});
  const meaning = sent || asked === undefined ? undefined : meaningOf(kind, asked);
  const named = meaning ? [make('p', { id: 'named' }, namedText(meaning, report))] : [];
  if (names.length === 0) return named;
  const head = ['object', ...(answer ? ['yours'] : []), ...(sent ? ['sent'] : [])];
  const body = names.map((name) => {
    const own = answer === undefined ? [] : [make('td', {}, answered(answer[name]))];
    const noisy = sent === undefined ? [] : [make('td', {}, sentText(sent[name], kind instanceof Sensing ? kind.stepOf(name) : undefined))];
    return make('tr', {}, make('th', { scope: 'row' }, name), ...own, ...noisy);
  });
  const titles = head.map((name) => make('th', { scope: 'col' }, say(name) ?? ''));
  const caption = sent ? [] : [make('caption', {}, say('stayed') ?? '')];
  const table = make('table', {}, ...caption, make('thead', {}, make('tr', {}, ...titles)), make('tbody', {}, ...body));
  return [...named, make('div', { class: 'scroll' }, table)];
}

/** @param {Meaning} meaning @param {Report} report */
function namedText(meaning, report) {
  if (meaning.only) return fill('named', { answer: answerText(meaning.parts(meaning.only(report))) });
  /** @type {number[]} */
  const codes = [];
  const last = Math.min(meaning.codes, MOST_LOOKED_AT);
  for (let code = 0; code < last; code += 1) if (meaning.names(report, code)) codes.push(code);
  const listed = codes.slice(0, MOST_NAMED).map((code) => answerText(meaning.parts(code)));
  if (codes.length === 0) return fill('named-none', { all: written(meaning.codes) });
  const more = codes.length > MOST_NAMED || meaning.codes > last ? ' …' : '';
  return fill('named-several', { all: written(meaning.codes), answers: listed.join(' · ') + more });
}
