/**
 * K-ary randomized response with integer weights: exact, with the epsilon that it realises.
 *
 * The true symbol has weight `keep`, each of the K - 1 others weight `other`; what is sent is drawn with an exact
 * uniform integer. No output is more than keep/other = e^epsilon times as likely from one symbol as from another.
 */

import * as decimal from './decimal.js';
import { Refusal } from './errors.js';
import { up } from './exact.js';
import { belowBig } from './random.js';

/** @typedef {import('./random.js').Words} Words */

const TOTAL_LIMIT = 2n ** 62n;
const FINEST = 2n ** 60n; // the largest weight tried for `other`
export const LARGEST_EPSILON = 42; // a larger epsilon is replaced by this one
/** Removes more than rounding can have added: 1 - 10^-50. */
export const BELOW_ONE = { digits: 10n ** 50n - 1n, exponent: -50 };

/** Weights of randomized response on the symbols 0 ... symbols - 1. */
export class Response {
  /**
   * @param {number} symbols
   * @param {bigint} keep
   * @param {bigint} other
   */
  constructor(symbols, keep, other) {
    this.symbols = symbols;
    this.keep = keep;
    this.other = other;
    this.total = keep + BigInt(symbols - 1) * other;
    /** The realised epsilon, log(keep/other), rounded up to a double. */
    this.epsilon = logRatio(keep, other);
  }

  /**
   * The weights whose epsilon is as close to `epsilon` as possible, and never above it.
   * @param {number} symbols
   * @param {number} epsilon
   * @returns {Response}
   */
  static of(symbols, epsilon) {
    checkEpsilon(epsilon);
    if (!(Number.isInteger(symbols) && symbols >= 2 && symbols < 2 ** 40)) {
      throw new Refusal('document', 'randomized response needs at least 2 symbols');
    }
    const odds = decimal.product(decimal.exp(decimal.ofDouble(Math.min(epsilon, LARGEST_EPSILON))), BELOW_ONE, 'floor');
    const others = BigInt(symbols - 1);
    for (let other = FINEST; ; other /= 2n) {
      const keep = decimal.truncated(decimal.product(odds, decimal.whole(other), 'floor'));
      if (keep + others * other < TOTAL_LIMIT) return new Response(symbols, keep > other ? keep : other, other);
    }
  }

  /**
   * A randomized symbol: the true one with weight `keep`, each other one with weight `other`.
   * @param {number} symbol
   * @param {Words} words
   * @returns {number}
   */
  draw(symbol, words) {
    const drawn = belowBig(words, this.total);
    if (drawn < this.keep) return symbol;
    const place = Number((drawn - this.keep) / this.other);
    return place >= symbol ? place + 1 : place;
  }

  /** The weights as a question publishes them. */
  published() {
    return { symbols: this.symbols, keep: String(this.keep), other: String(this.other) };
  }
}

/**
 * log(keep/other) in 60 digits, rounded up to a double.
 * @param {bigint} keep
 * @param {bigint} other
 */
function logRatio(keep, other) {
  return up(decimal.asFraction(decimal.ln(decimal.quotient(decimal.whole(keep), decimal.whole(other), 'half-even'))));
}

/**
 * Refuses an epsilon that is not a finite number above 0.
 * @param {unknown} epsilon
 * @returns {asserts epsilon is number}
 */
export function checkEpsilon(epsilon) {
  if (typeof epsilon !== 'number' || !Number.isFinite(epsilon) || epsilon <= 0) {
    throw new Refusal('document', 'epsilon must be a number above 0');
  }
}
