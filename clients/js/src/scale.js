/** The scale of answers of a sparse campaign: the whole numbers low ... high, and levels that they are rounded to. */

import { require } from './errors.js';
import { roundHalfEven } from './grid.js';
import { below } from './random.js';

/** @typedef {import('./random.js').Words} Words */

const MOST_ANSWERS = 200;

/** Possible answers. */
export class Scale {
  /**
   * @param {unknown} ends
   * @param {unknown} [levels] how many levels answers are rounded to; by default one for each answer
   */
  constructor(ends, levels) {
    require(Array.isArray(ends) && ends.length === 2 && ends.every(Number.isSafeInteger), 'a scale is [low, high]');
    const [low, high] = /** @type {[number, number]} */ (ends);
    this.low = low;
    this.high = high;
    /** The number of possible answers, not counting none (NULL). */
    this.size = this.high - this.low + 1;
    require(this.size >= 2 && this.size <= MOST_ANSWERS, `a scale has 2 to ${MOST_ANSWERS} answers`);
    const rounded = levels === undefined ? this.size : levels;
    require(isWhole(rounded, 2, this.size), 'levels must be at least 2 and at most the number of answers');
    this.levels = rounded;
  }

  /** The nearest answer, in steps above the low end; halves go to the even answer. @param {number} value finite */
  code(value) {
    return Math.min(Math.max(roundHalfEven(value), this.low), this.high) - this.low;
  }

  /** The answer that a level stands for; it need not be whole. @param {number} level */
  answer(level) {
    return this.low + (level * (this.high - this.low)) / (this.levels - 1);
  }

  /** The level closest to an answer. @param {number} value finite */
  nearest(value) {
    return Math.round((this.code(value) * (this.levels - 1)) / (this.size - 1));
  }

  /**
   * Exact: one of the two levels around an answer, rounded at random without bias.
   * @param {number} code
   * @param {Words} words
   */
  level(code, words) {
    const steps = this.size - 1;
    const scaled = code * (this.levels - 1);
    const rest = scaled % steps;
    const lower = (scaled - rest) / steps;
    return rest > 0 && below(words, steps) < rest ? lower + 1 : lower;
  }
}

/**
 * Whether a number of a document is whole and lies in low ... high.
 * @param {unknown} number
 * @param {number} low
 * @param {number} [high]
 * @returns {number is number}
 */
export function isWhole(number, low, high = Number.MAX_SAFE_INTEGER) {
  return typeof number === 'number' && Number.isSafeInteger(number) && number >= low && number <= high;
}
