/** A small picture of how noisy reports are: examples of a made-up answer, which are never sent. */

import { Sensing } from './src/sensing.js';
import { fill, make, written } from './texts.js';

const COUNT = 60;
const FEW = 4;
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
 * @param {import('./src/campaign.js').Campaign} campaign
 * @param {HTMLElement} figure
 */
export function drawExamples(campaign, figure) {
  const { kind } = campaign;
  const examples = campaign.examples(kind instanceof Sensing ? COUNT : FEW);
  if (kind instanceof Sensing) {
    const [{ name }] = kind.objects.listed;
    const [low, high] = kind.ranges[/** @type {number} */ (kind.objects.codes.get(name))];
    const values = examples.map((example) => /** @type {Record<string, number>} */ (example.values)[name]);
    figure.append(strip(values, Number(examples[0].answer[name]), low, high));
  } else {
    const answer = Object.entries(examples[0].answer).map(([name, value]) => `${name}: ${value}`);
    const items = examples.map(({ report }) => make('li', {}, make('code', {}, JSON.stringify(report.payload).slice(0, 120))));
    figure.append(make('p', {}, fill('examples', { answer: answer.slice(0, 4).join(', ') })), make('ul', {}, ...items));
  }
  figure.hidden = false;
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
