/** A small picture of how noisy reports are: examples of a made-up answer, which are never sent. */

import { Records } from './src/records.js';
import { Sensing } from './src/sensing.js';
import { Sparse } from './src/sparse.js';
import { meaningOf } from './src/meaning.js';
import { answered, answerText, sentText } from './said.js';
import { fill, make, say, written } from './texts.js';

/**
 * @typedef {import('./src/campaign.js').Campaign} Campaign
 * @typedef {import('./src/kinds.js').Asked} Asked
 * @typedef {import('./src/wire.js').Report} Report
 * @typedef {{ answer: Record<string, unknown>, report: Report }} Example
 */

/**
 * Possible answers, of which the made-up one is number `own`, and whether a report names one.
 * @typedef {{ own: number, count: number, several: boolean, label: (code: number) => string,
 *   names: (report: Report, code: number) => boolean }} Symbols
 */

const COUNT = 60;
const [FEWEST, MOST_DRAWS] = [12, 120_000]; // of a report about each of many things, fewer are drawn
const MOST_ROWS = 6;
const WIDTH = 340; // about that of a phone, so that text keeps its size
const [LEFT, RIGHT, LINE, HEIGHT] = [12, 328, 70, 96];

/** @param {string} name @param {Record<string, string | number>} attributes @param {string} [text] */
function drawn(name, attributes, text) {
  const node = document.createElementNS('http://www.w3.org/2000/svg', name);
  for (const [key, value] of Object.entries(attributes)) node.setAttribute(key, String(value));
  if (text !== undefined) node.textContent = text;
  return node;
}

/**
 * Puts examples into a figure.
 * @param {Campaign} campaign
 * @param {Asked} asked what this device is asked
 * @param {HTMLElement} figure
 */
export function drawExamples(campaign, asked, figure) {
  const { kind } = campaign;
  const examples = campaign.examples(countOf(kind), asked);
  if (kind instanceof Sensing) {
    const [{ name }] = kind.objects.listed;
    const [low, high] = kind.rangeOf(name);
    const values = examples.map(({ report }) => kind.shown(report)[name]);
    figure.append(...strip(values, Number(examples[0].answer[name]), low, high, kind.stepOf(name)));
  } else {
    figure.append(...tallied(examples, symbolsOf(kind, asked, examples[0].answer)));
  }
  figure.hidden = false;
}

/** How many examples there is time for. @param {import('./src/kinds.js').Kind} kind */
function countOf(kind) {
  const draws = kind instanceof Sparse && !kind.asksByPlace ? kind.objects.count : 1;
  return Math.min(COUNT, Math.max(FEWEST, Math.floor(MOST_DRAWS / draws)));
}

/**
 * What can be sent: about the first thing, where a report says something about each.
 * @param {Sparse | Records} kind
 * @param {Asked} asked
 * @param {Record<string, unknown>} answer
 * @returns {Symbols}
 */
function symbolsOf(kind, asked, answer) {
  const meaning = meaningOf(kind, asked);
  if (meaning) {
    const { codes: count, only, names, parts } = meaning;
    return { own: meaning.code(answer), count, several: !only, names, label: (code) => answerText(parts(code)) };
  }
  const { scale } = /** @type {Sparse} */ (kind).mechanism;
  const [name] = Object.keys(answer);
  const valueOf = (/** @type {number} */ code) => (code === scale.levels ? undefined : scale.answer(code));
  return {
    own: scale.nearest(Number(answer[name])),
    count: scale.levels + 1,
    several: false,
    label: (code) => sentText(valueOf(code)),
    names: (report, code) => /** @type {Sparse} */ (kind).shown(report)?.[name] === valueOf(code),
  };
}

/**
 * How often each possible answer would be sent, or named by what is sent; of many, those around the made-up one.
 * @param {Example[]} examples
 * @param {Symbols} symbols
 */
function tallied(examples, { own, count, several, label, names }) {
  const first = Math.max(0, Math.min(own - Math.floor(MOST_ROWS / 2), count - MOST_ROWS));
  const codes = Array.from({ length: Math.min(MOST_ROWS, count) }, (_, at) => first + at);
  const row = (/** @type {string} */ text, /** @type {number} */ often) => {
    const share = fill('of', { count: often, all: examples.length });
    const bar = make('meter', { min: '0', max: String(examples.length), value: String(often), 'aria-label': share });
    return make('tr', {}, make('th', { scope: 'row' }, text), make('td', {}, share), make('td', {}, bar));
  };
  const often = codes.map((code) => examples.filter(({ report }) => names(report, code)).length);
  const rows = codes.map((code, at) => row(label(code), often[at]));
  const hidden = written(count - codes.length);
  if (codes.length < count && !several) {
    rows.push(row(fill('others', { count: hidden }), examples.length - often.reduce((sum, one) => sum + one, 0)));
  }
  const answer = Object.entries(examples[0].answer).map(([name, value]) => `${name}: ${answered(value)}`);
  const head = make('tr', {}, ...['sent', 'often', 'share'].map((title) => make('th', { scope: 'col' }, say(title) ?? '')));
  const table = make('table', {}, make('thead', {}, head), make('tbody', {}, ...rows));
  const unlisted = codes.length < count && several ? [make('p', { class: 'soft' }, fill('unlisted', { count: hidden }))] : [];
  const lead = fill(several ? 'tally-several' : 'tally', { answer: several || answer.length > 1 ? label(own) : answer[0] });
  return [make('p', {}, lead), make('div', { class: 'scroll' }, table), ...unlisted];
}

/**
 * Noisy values along an axis; the public range is shaded, the true value marked.
 * @param {number[]} values
 * @param {number} truth
 * @param {number} low
 * @param {number} high
 * @param {number} step
 */
function strip(values, truth, low, high, step) {
  const [least, most] = [Math.min(low, ...values), Math.max(high, ...values)];
  const at = (/** @type {number} */ value) => LEFT + ((value - least) / (most - least)) * (RIGHT - LEFT);
  const label = fill('example', { value: sentText(truth, step), count: values.length });
  const svg = drawn('svg', { viewBox: `0 0 ${WIDTH} ${HEIGHT}`, class: 'scaled', role: 'img', 'aria-label': label });
  svg.append(
    drawn('title', {}, label),
    drawn('rect', { x: at(low), y: 12, width: at(high) - at(low), height: LINE - 12, class: 'heat-1' }),
    drawn('path', { d: `M${LEFT} ${LINE}H${RIGHT}`, stroke: 'currentColor' }),
    drawn('path', { d: `M${at(truth)} 8V${LINE}`, stroke: 'currentColor', 'stroke-width': 2.5 }),
  );
  values.forEach((value, place) => {
    svg.append(drawn('circle', { cx: at(value), cy: 18 + ((place * 7) % 46), r: 3.5, class: 'heat-5' }));
  });
  for (const [value, anchor] of /** @type {[number, string][]} */ ([[low, 'start'], [high, 'end']])) {
    svg.append(drawn('text', { x: at(value), y: LINE + 20, 'text-anchor': anchor, fill: 'currentColor', 'font-size': 13 }, written(value)));
  }
  return [svg, make('p', { class: 'small' }, label)];
}
