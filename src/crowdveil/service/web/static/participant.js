/**
 * The page of a participant: promise, answer, sent.
 *
 * Refusal comes before the draw. A report is drawn once, is on the device before it is shown and sent, and is never
 * drawn again; the page then shows it for good, in every tab and after the back button. What was entered is in the
 * memory of this page alone.
 */

import { fetchCampaign, IndexedStore, Participation, Refusal } from './src/client.js';
import { fieldsOf } from './fields.js';
import { drawExamples } from './examples.js';
import { shown } from './said.js';
import { element, fill, say } from './texts.js';
import { listen, offer } from './withdrawal.js';

const RETRY = 15_000; // milliseconds between two attempts to send while there is no connection
const PATIENCE = 8_000;

const sections = ['promise', 'answer', 'sent'];
const invitation = new URLSearchParams(location.hash.slice(1)).get('i') ?? undefined;
/** @type {Participation | undefined} */
let participation;
let sending = false;
/** @type {(() => void) | undefined} what tries again to send, once something was drawn */
let again;

/** Shows one of the three steps, and puts the reader there. @param {string} name */
function show(name) {
  for (const section of sections) element(section).hidden = section !== name;
  for (const step of document.querySelectorAll('[data-step]')) {
    if (step.getAttribute('data-step') === name) step.setAttribute('aria-current', 'step');
    else step.removeAttribute('aria-current');
  }
  element(name).focus({ preventScroll: true });
  window.scrollTo(0, 0);
}

/** Says something about the whole page. @param {string} text */
function tell(text) {
  const message = element('message');
  message.textContent = text;
  message.hidden = text === '';
}

/** What a refusal before the draw means, in the reader's words. @param {unknown} error */
function wordsOf(error) {
  const code = codeOf(error);
  return (code === 'unreachable' ? say('offline') : say(code)) ?? fill('failed', { code });
}

/** What a failure after the draw means: whether the report arrived is not known. @param {unknown} error */
function unsure(error) {
  const code = codeOf(error);
  return (code === 'unreachable' ? say(code) : undefined) ?? fill('unsure', { code });
}

/** @param {unknown} error */
const codeOf = (error) => (error instanceof Refusal ? error.code : 'bug');

/** What became of a report that was sent. @param {string} code */
function becameOf(code) {
  return (code === 'reported' ? say('second') : say(code)) ?? fill('not-taken', { code });
}

/** @param {import('./src/campaign.js').Campaign} campaign */
async function begin(campaign) {
  element('device').hidden = campaign.admission === 'invited' && invitation === undefined;
  participation = await Participation.join(campaign, {
    store: new IndexedStore(),
    participant: campaign.admission === 'invited' ? invitation : undefined,
    connection: { patience: PATIENCE },
  });
  listen(participation, withdrawn);
  if (await participation.withdrew()) return withdrawn();
  const { state } = /** @type {import('./src/campaign.js').Published} */ (campaign.published);
  await offer(participation, state);
  if (await participation.withdrawing()) return unsureOfWithdrawal();
  const drawn = await participation.drawn();
  if (drawn !== undefined) return finish(campaign, drawn);
  if (state !== 'open') return tell(say(state === 'paused' ? 'resting' : state) ?? fill('failed', { code: state }));
  const asked = await participation.prepare();
  participation.sendLate().catch(() => undefined); // of earlier waves; it is tried again next time
  try {
    drawExamples(campaign, asked, element('examples'));
  } catch {
    element('examples').hidden = true; // a picture is not worth an answer
  }
  enable(true);
  button('continue').addEventListener('click', () => ask(campaign).catch((error) => tell(wordsOf(error))));
  button('refuse').addEventListener('click', () => refuse(campaign).catch((error) => tell(wordsOf(error))));
  tell('');
  return undefined;
}

/** @param {string} id */
const button = (id) => /** @type {HTMLButtonElement} */ (element(id));

/** @param {boolean} possible whether somebody can still decide */
function enable(possible) {
  button('continue').disabled = !possible;
  button('refuse').disabled = !possible;
}

/** Nothing is drawn; unless another tab did. @param {import('./src/campaign.js').Campaign} campaign */
async function refuse(campaign) {
  const there = await current().drawn();
  if (there !== undefined) return finish(campaign, there);
  enable(false);
  return tell(say('refused') ?? '');
}

/** The questions. @param {import('./src/campaign.js').Campaign} campaign */
async function ask(campaign) {
  const there = await current().drawn();
  if (there !== undefined) return finish(campaign, there);
  const fields = fieldsOf(campaign, await current().prepare());
  element('fields').replaceChildren(...fields.nodes);
  const form = /** @type {HTMLFormElement} */ (element('form'));
  form.onsubmit = (event) => {
    event.preventDefault();
    void submit(campaign, fields);
  };
  form.onkeydown = (event) => {
    // what cannot be taken back is not sent by a key that only ends a field
    if (event.key === 'Enter' && event.target instanceof HTMLInputElement) event.preventDefault();
  };
  show('answer');
  return undefined;
}

/**
 * Draws and sends, once.
 * @param {import('./src/campaign.js').Campaign} campaign
 * @param {import('./fields.js').Fields} fields
 */
async function submit(campaign, fields) {
  const problem = element('problem');
  problem.hidden = true;
  const { answer, wrong } = fields.read();
  if (answer === undefined) {
    problem.textContent = wrong ?? '';
    problem.hidden = false;
    return;
  }
  const send = button('send');
  if (send.disabled) return;
  send.disabled = true;
  let kept;
  try {
    kept = await current().draw(answer);
  } catch (error) {
    problem.textContent = wordsOf(error);
    problem.hidden = false;
    send.disabled = false;
    return;
  }
  await finish(campaign, kept, answer, await current().prepare());
  /** @type {HTMLFormElement} */ (element('form')).reset();
  element('fields').replaceChildren();
}

/**
 * Sends what was drawn. It is shown, beside the answer if this page still knows it, when the server has answered: who
 * could look at the noise before could still keep it back.
 * @param {import('./src/campaign.js').Campaign} campaign
 * @param {import('./src/store.js').Kept} kept
 * @param {Record<string, unknown>} [answer]
 * @param {import('./src/kinds.js').Asked} [asked] what it answers
 */
async function finish(campaign, kept, answer, asked) {
  tell('');
  show('sent');
  history.replaceState(null, '', location.href);
  const report = JSON.parse(kept.report);
  await deliver(() => {
    const { state, wave } = /** @type {import('./src/campaign.js').Published} */ (campaign.published);
    void offer(current(), state);
    element('next').textContent = campaign.waves > 1 ? fill(wave < campaign.waves ? 'more' : 'last', { wave, waves: campaign.waves }) : '';
    element('report').textContent = JSON.stringify(report, null, 1);
    element('shown').replaceChildren(...shown(campaign, report, asked, answer));
    element('delivered').hidden = false;
  });
}

/** Says that the reader withdrew: nothing is asked, shown or sent any more. */
function withdrawn() {
  again = undefined;
  tell('');
  show('sent');
  for (const id of ['delivered', 'withdrawal']) element(id).hidden = true;
  element('fields').replaceChildren();
  element('outcome').textContent = say('withdrew') ?? '';
}

/** Says that it is not known whether what the reader withdrew is gone; until it is, nothing is asked, shown or sent. */
function unsureOfWithdrawal() {
  tell('');
  show('sent');
  element('outcome').textContent = say('withdrawing') ?? '';
}

/** Sends what was drawn until there is an answer. @param {() => void} reveal called when there is one */
async function deliver(reveal) {
  if (sending) return;
  sending = true;
  again = () => void deliver(reveal);
  const outcome = element('outcome');
  outcome.textContent = say('sending') ?? '';
  try {
    const became = await current().send();
    outcome.textContent = becameOf(became);
    if (became === 'paused') setTimeout(again, 4 * RETRY);
    else reveal();
  } catch (error) {
    outcome.textContent = unsure(error);
    if (codeOf(error) === 'unreachable') setTimeout(again, RETRY);
  } finally {
    sending = false;
  }
}

/** @returns {Participation} */
function current() {
  if (participation === undefined) throw new Refusal('document', 'nobody takes part yet');
  return participation;
}

async function start() {
  element('back').addEventListener('click', () => show('promise'));
  window.addEventListener('online', () => again?.());
  window.addEventListener('hashchange', () => location.reload()); // the invitation of somebody else
  window.addEventListener('pageshow', (event) => event.persisted && location.reload());
  if ('serviceWorker' in navigator) navigator.serviceWorker.register('/c/worker.js').catch(() => undefined);
  try {
    await begin(await fetchCampaign(location.origin + location.pathname, { patience: PATIENCE }));
  } catch (error) {
    tell(wordsOf(error));
  }
}

void start();
