/**
 * Bloom filters: a code sets a few of many bits, and each bit is flipped at random (RAPPOR).
 *
 * Two codes differ in at most 2 hashes bits, so epsilon is 2 hashes log((1 - f)/f). Bit k of byte b is number 8 b + k.
 */

import { BitChance } from './bit_chance.js';
import { require } from './errors.js';
import { keyOf, mix, valueOf } from './hash.js';
import { checkCells, realised } from './oracle.js';
import { isWhole } from './scale.js';
import { textOfBits } from './wire.js';

/** @typedef {import('./random.js').Words} Words */

const MOST_BITS = 4096;

/** Bloom filters with flipped bits. */
export class Bloom {
  name = 'bloom';
  oneCell = false;

  /**
   * @param {number} epsilon
   * @param {number} cells
   * @param {number} bits length of a report, a multiple of 8
   * @param {number} hashes how many bits a code sets
   * @param {number} seed public, of the hash functions
   */
  constructor(epsilon, cells, bits = 64, hashes = 2, seed = 0) {
    this.cells = checkCells(cells);
    require(isWhole(bits, 8, MOST_BITS) && bits % 8 === 0, 'bits must be a multiple of 8');
    require(isWhole(hashes, 1, bits / 2) && isWhole(seed, 0, 2 ** 32 - 1), 'these are not the parameters of bloom');
    this.bits = bits;
    const differing = 2 * hashes;
    /** The epsilon that is realised, never above the one given. */
    this.epsilon = realised(BitChance.of(epsilon, differing).epsilon(differing));
    this.flips = BitChance.of(this.epsilon, differing);
    this.seeds = Array.from({ length: hashes }, (_, hash) => mix((keyOf(hash) ^ seed) >>> 0));
  }

  weights() {
    return { bits: this.bits, flips: String(this.flips.weight) };
  }

  /**
   * What a device sends.
   * @param {number} code
   * @param {Words} words
   */
  payload(code, words) {
    const bytes = new Uint8Array(this.bits / 8);
    for (const seed of this.seeds) {
      const bit = valueOf(keyOf(code), seed, this.bits);
      bytes[bit >> 3] |= 1 << (bit & 7);
    }
    for (let first = 0; first < bytes.length; first += 4) {
      const step = Math.min(4, bytes.length - first);
      const flips = this.flips.draw(8 * step, words);
      for (let at = 0; at < step; at += 1) bytes[first + at] ^= flips >>> (8 * at);
    }
    return textOfBits(bytes);
  }
}
