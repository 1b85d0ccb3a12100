/** A small picture of how noisy reports are: examples of a made-up answer, which are never sent. */

import { CellResponse } from './src/cell_response.js';
import { Records } from './src/records.js';
import { Sensing } from './src/sensing.js';
import { Sparse } from './src/sparse.js';
import { fill, make, say, written } from './texts.js';

/**
 * @typedef {import('./src/campaign.js').Campaign} Campaign
 * @typedef {import('./src/wire.js').Report} Report
 * @typedef {{ answer: Record<string, unknown>, report: Report, values?: Record<string, number> }} Example
 * @typedef {{ name: string, labels: string[], of: (report: Report) => number }} Symbols
 */

const COUNT = 60;
const FEW = 4;
const MOST_ROWS = 12;
const WIDTH = 340; // about that of a phone, so that text keeps its size
const [LEFT, RIGHT, LINE, HEIGHT] = [12, 328, 70, 112];

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
 * @param {HTMLElement} figure
 */
export function drawExamples(campaign, figure) {
  const { kind } = campaign;
  const examples = campaign.examples(COUNT);
  if (kind instanceof Sensing) {
    const [{ name }] = kind.objects.listed;
    const [low, high] = kind.ranges[/** @type {number} */ (kind.objects.codes.get(name))];
    const values = examples.map((example) => /** @type {Record<string, number>} */ (example.values)[name]);
    figure.append(strip(values, Number(examples[0].answer[name]), low, high));
  } else {
    const symbols = symbolsOf(campaign);
    figure.append(...(symbols ? tallied(examples, symbols) : listed(examples.slice(0, FEW))));
  }
  figure.hidden = false;
}

/**
 * What can be sent about the first thing that is asked, where a report has one symbol for it.
 * @param {Campaign} campaign
 * @returns {Symbols | undefined}
 */
function symbolsOf({ kind }) {
  if (kind instanceof Sparse && kind.mechanism instanceof CellResponse) {
    const { low, high, levels } = kind.mechanism.scale;
    const [{ name }] = kind.objects.listed;
    const place = /** @type {number} */ (kind.objects.codes.get(name));
    const step = (high - low) / Math.max(1, levels - 1);
    const labels = Array.from({ length: levels }, (_, level) => written(low + level * step));
    const of = (/** @type {Report} */ { payload }) => /** @type {number[]} */ (payload)[place];
    return { name, labels: [...labels, say('none') ?? ''], of };
  }
  if (kind instanceof Records && kind.exampleQuestion().oracle.mechanism === 'krr') {
    const [{ name, labels }] = kind.schema.columns;
    return labels.length <= MOST_ROWS ? { name, labels, of: ({ payload }) => Number(payload) } : undefined;
  }
  return undefined;
}

/**
 * How often each symbol would be sent.
 * @param {Example[]} examples
 * @param {Symbols} symbols
 */
function tallied(examples, { name, labels, of }) {
  const counts = labels.map((_, symbol) => examples.filter(({ report }) => of(report) === symbol).length);
  const rows = labels.map((label, symbol) => {
    const share = fill('of', { count: counts[symbol], all: examples.length });
    const bar = make('meter', { min: '0', max: String(examples.length), value: String(counts[symbol]), 'aria-label': share });
    return make('tr', {}, make('th', { scope: 'row' }, label), make('td', {}, share), make('td', {}, bar));
  });
  const answer = `${name}: ${examples[0].answer[name]}`;
  const head = make('tr', {}, ...['sent', 'often', 'share'].map((title) => make('th', { scope: 'col' }, say(title) ?? '')));
  const table = make('table', {}, make('thead', {}, head), make('tbody', {}, ...rows));
  return [make('p', {}, fill('tally', { answer })), make('div', { class: 'scroll' }, table)];
}

/** Reports as they are. @param {Example[]} examples */
function listed(examples) {
  const answer = Object.entries(examples[0].answer).map(([name, value]) => `${name}: ${value}`);
  const items = examples.map(({ report }) => make('li', {}, make('code', {}, JSON.stringify(report.payload).slice(0, 120))));
  return [make('p', {}, fill('examples', { answer: answer.slice(0, 4).join(', ') })), make('ul', {}, ...items)];
}

/**
 * Noisy values along an axis; the public range is shaded, the true value marked.
 * @param {number[]} values
 * @param {number} truth
 * @param {number} low
 * @param {number} high
 */
function strip(values, truth, low, high) {
  const [least, most] = [Math.min(low, ...values), Math.max(high, ...values)];
  const at = (/** @type {number} */ value) => LEFT + ((value - least) / (most - least)) * (RIGHT - LEFT);
  const label = fill('example', { value: written(truth), count: values.length });
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
  svg.append(drawn('text', { x: WIDTH / 2, y: HEIGHT - 4, 'text-anchor': 'middle', fill: 'currentColor', 'font-size': 12 }, label));
  return svg;
}
