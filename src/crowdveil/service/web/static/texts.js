/** The page's texts, in the reader's language, and its elements by name. */

/** @type {Record<string, string>} */
const texts = JSON.parse(document.getElementById('texts')?.textContent ?? '{}');

/** The text of that name, if there is one. @param {string} name @returns {string | undefined} */
export function say(name) {
  return Object.hasOwn(texts, name) ? texts[name] : undefined;
}

/** A text with values in their places. @param {string} name @param {Record<string, unknown>} values */
export function fill(name, values) {
  return (say(name) ?? name).replace(/\{(\w+)\}/g, (_, key) => String(values[key] ?? ''));
}

/** An element of the page. @param {string} id @returns {HTMLElement} */
export function element(id) {
  const found = document.getElementById(id);
  if (found === null) throw new Error(`the page has no ${id}`);
  return found;
}

/**
 * A new element.
 * @template {keyof HTMLElementTagNameMap} K
 * @param {K} name
 * @param {Record<string, string>} [attributes]
 * @param {...(Node | string)} content
 * @returns {HTMLElementTagNameMap[K]}
 */
export function make(name, attributes = {}, ...content) {
  const node = document.createElement(name);
  for (const [key, value] of Object.entries(attributes)) node.setAttribute(key, value);
  node.append(...content);
  return node;
}

const language = document.documentElement.lang;

const [SMALLEST, LARGEST] = [1e-6, 1e15]; // between these, numbers are written out
const NO_MORE_DECIMALS = 100; // than `toFixed` takes

/** No separator in four digits: they may be a year. @type {Intl.NumberFormatOptions} */
const FORM = { maximumFractionDigits: 20, useGrouping: 'min2' };
const plain = new Intl.NumberFormat(language, FORM);
const byPower = new Intl.NumberFormat(language, { ...FORM, notation: 'scientific' });

/** Between a number and its decimals. */
export const point = plain.formatToParts(0.5).find(({ type }) => type === 'decimal')?.value ?? '.';

/** A number as people write it, with all its digits. @param {number} value */
export function written(value) {
  const size = Math.abs(value);
  return (size === 0 || (size >= SMALLEST && size < LARGEST) ? plain : byPower).format(value);
}

/** A number to as many decimals as tell one step from the next. @param {number} value @param {number} step */
export function inSteps(value, step) {
  const [, power] = step.toExponential().split('e');
  return Number(value.toFixed(Math.min(Math.max(0, -Number(power)), NO_MORE_DECIMALS))) + 0; // never -0
}
