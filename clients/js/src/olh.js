/**
 * OLH, optimized local hashing: randomized response on a random hash of the code.
 *
 * A device draws a seed of 32 bits, hashes its code under it to one of g values, and sends the seed and the
 * randomized response of that value. The seed is drawn without looking at the code, and given the seed no value is
 * more than e^epsilon times as likely from one code as from another.
 */

import * as decimal from './decimal.js';
import { nearest } from './exact.js';
import { keyOf, valueOf } from './hash.js';
import { checkCells, realised } from './oracle.js';
import { LARGEST_EPSILON, Response, checkEpsilon } from './response.js';

/** @typedef {import('./random.js').Words} Words */

const MOST_VALUES = 2 ** 16;

/**
 * g = round(e^epsilon) + 1, from 2 to 2^16. Python rounds the floating-point exponential, this one 60 digits of
 * it: they differ only for an epsilon whose exponential lies within 2^-36 of a half.
 * @param {number} epsilon
 */
export function valuesOf(epsilon) {
  checkEpsilon(epsilon);
  const odds = decimal.exp(decimal.ofDouble(Math.min(epsilon, LARGEST_EPSILON)));
  const rounded = (decimal.truncated({ digits: 2n * odds.digits, exponent: odds.exponent }) + 1n) / 2n;
  return Math.min(Math.max(2, Number(rounded) + 1), MOST_VALUES);
}

/** Optimized local hashing. */
export class OLH {
  name = 'olh';
  oneCell = false;

  /**
   * @param {number} epsilon
   * @param {number} cells
   */
  constructor(epsilon, cells) {
    this.cells = checkCells(cells);
    /** The epsilon that is realised, never above the one given. */
    this.epsilon = realised(Response.of(valuesOf(epsilon), epsilon).epsilon);
    this.values = valuesOf(this.epsilon);
    this.response = Response.of(this.values, this.epsilon);
  }

  get short() {
    return true;
  }

  get chances() {
    return [nearest({ num: this.response.keep, den: this.response.total }), 1 / this.values];
  }

  weights() {
    return this.response.published();
  }

  /**
   * What a device sends: the seed and the value.
   * @param {number} code
   * @param {Words} words
   */
  payload(code, words) {
    const seed = words.next32();
    return [seed, this.response.draw(valueOf(seed, keyOf(code), this.values), words)];
  }

  /** Whether a report names a code. @param {unknown} payload @param {number} code */
  supports(payload, code) {
    const [seed, value] = /** @type {number[]} */ (payload);
    return valueOf(seed, keyOf(code), this.values) === value;
  }
}
