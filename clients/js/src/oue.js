/**
 * OUE, optimized unary encoding: a bit for each cell; a fair coin for the true one, rarely 1 for the others.
 *
 * q is 1/(e^epsilon + 1) rounded up to a multiple of 2^-64. Two codes differ in two bits, so the ratio of a report's
 * probabilities is at most (1 - q)/q = e^epsilon. Bit k of byte b is that of cell 8 b + k.
 */

import { BitChance } from './bit_chance.js';
import { nearest } from './exact.js';
import { checkCells, realised } from './oracle.js';
import { coin } from './random.js';
import { bitsOf, textOfBits } from './wire.js';

/** @typedef {import('./random.js').Words} Words */

/** Optimized unary encoding. */
export class OUE {
  name = 'oue';
  oneCell = false;

  /**
   * @param {number} epsilon
   * @param {number} cells
   */
  constructor(epsilon, cells) {
    this.cells = checkCells(cells);
    /** The epsilon that is realised, never above the one given. */
    this.epsilon = realised(BitChance.of(epsilon).epsilon());
    this.ones = BitChance.of(this.epsilon);
  }

  get short() {
    return this.cells <= 64;
  }

  get chances() {
    return [0.5, nearest({ num: this.ones.weight, den: 2n ** 64n })];
  }

  weights() {
    return { cells: this.cells, ones: String(this.ones.weight) };
  }

  /**
   * What a device sends.
   * @param {number} code
   * @param {Words} words
   */
  payload(code, words) {
    const bytes = new Uint8Array(Math.ceil(this.cells / 8));
    for (let first = 0; first < this.cells; first += 32) {
      const width = Math.min(32, this.cells - first);
      const bits = this.ones.draw(width, words);
      for (let at = 0; at < width; at += 8) bytes[(first + at) >> 3] = bits >>> at;
    }
    const own = 1 << (code & 7);
    bytes[code >> 3] = (bytes[code >> 3] & ~own) | (coin(words) ? own : 0);
    return textOfBits(bytes);
  }

  /** Whether a report names a code. @param {unknown} payload @param {number} code */
  supports(payload, code) {
    return ((bitsOf(payload)[code >> 3] >> (code & 7)) & 1) === 1;
  }
}
