/** Bits that are 1 with an exact probability, a multiple of 2^-64, and the epsilon that this realises. */

import * as decimal from './decimal.js';
import { up } from './exact.js';
import { BELOW_ONE, LARGEST_EPSILON, checkEpsilon } from './response.js';

/** @typedef {import('./random.js').Words} Words */

const WHOLE = 2n ** 64n;

/** The probability weight/2^64, at most 1/2. */
export class BitChance {
  /** @param {bigint} weight */
  constructor(weight) {
    this.weight = weight;
    /** The weight's bits from the highest to the lowest. */
    this.bits = Array.from({ length: 64 }, (_, at) => ((weight >> BigInt(63 - at)) & 1n) === 1n);
  }

  /**
   * Least probability c with differing log((1 - c)/c) <= epsilon.
   * @param {number} epsilon
   * @param {number} [differing] the number of bits in which two reports' laws differ
   */
  static of(epsilon, differing = 1) {
    checkEpsilon(epsilon);
    const largest = decimal.whole(BigInt(LARGEST_EPSILON));
    const share = decimal.quotient(decimal.ofDouble(epsilon), decimal.whole(BigInt(differing)), 'floor');
    const each = decimal.isBelow(share, largest) ? share : largest;
    const odds = decimal.product(decimal.exp(each), BELOW_ONE, 'floor');
    const divisor = decimal.sum(odds, decimal.whole(1n), 'floor');
    const { num, den } = decimal.asFraction(decimal.quotient(decimal.whole(WHOLE), divisor, 'floor'));
    const weight = (num + den - 1n) / den;
    return new BitChance(weight < WHOLE / 2n ? weight : WHOLE / 2n);
  }

  /**
   * differing log((1 - c)/c), rounded up.
   * @param {number} [differing]
   */
  epsilon(differing = 1) {
    const odds = decimal.quotient(decimal.whole(WHOLE - this.weight), decimal.whole(this.weight), 'ceiling');
    const total = decimal.product(decimal.ln(odds), decimal.whole(BigInt(differing)), 'ceiling');
    return up(decimal.asFraction(total));
  }

  /**
   * Exact: up to 32 independent bits, each 1 with this probability.
   *
   * Each lane compares random bits with the weight, from the highest bit on; drawing stops when all are decided.
   * @param {number} width how many bits
   * @param {Words} words
   * @returns {number} the first of them is the lowest
   */
  draw(width, words) {
    let wanted = width === 32 ? 0xffffffff : (1 << width) - 1;
    let less = 0;
    for (let place = 0; place < 64 && wanted !== 0; place += 1) {
      const drawn = words.next32();
      if (this.bits[place]) {
        less |= wanted & ~drawn;
        wanted &= drawn;
      } else {
        wanted &= ~drawn;
      }
    }
    return less >>> 0;
  }
}
