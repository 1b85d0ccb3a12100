/** Names of objects and columns: texts in Unicode normal form C, in the order of code points. */

import { require } from './errors.js';

const LONGEST = 200;
const UNPRINTABLE = /[\p{C}\p{Zl}\p{Zp}]|(?! )\p{Zs}/u;

/**
 * Which of two texts comes first by code points. JavaScript's own order goes by UTF-16 units, in which U+1F600
 * comes before U+FB01.
 * @param {string} a
 * @param {string} b
 */
export function byCodePoints(a, b) {
  const [first, second] = [[...a], [...b]];
  for (let at = 0; at < Math.min(first.length, second.length); at += 1) {
    const difference = /** @type {number} */ (first[at].codePointAt(0)) - /** @type {number} */ (second[at].codePointAt(0));
    if (difference) return difference;
  }
  return first.length - second.length;
}

/**
 * A text of a document that is in the form in which both sides keep it.
 * @param {unknown} text
 * @param {string} what
 * @param {number} [longest] in code points
 * @returns {string}
 */
export function checkedText(text, what, longest = LONGEST) {
  require(typeof text === 'string' && text.length > 0 && [...text].length <= longest, `${what} is a short text`);
  require(!UNPRINTABLE.test(text), `${what} has characters that cannot be printed`);
  require(text.normalize('NFC') === text && text.trim() === text, `${what} is not in normal form`);
  return text;
}

/**
 * An answer by name, with names in normal form C; undefined if two names become one.
 * @param {Record<string, unknown>} answer
 * @returns {Map<string, unknown> | undefined}
 */
export function byName(answer) {
  const entries = Object.entries(answer);
  const named = new Map(entries.map(([name, value]) => [name.normalize('NFC'), value]));
  return named.size === entries.length ? named : undefined;
}
