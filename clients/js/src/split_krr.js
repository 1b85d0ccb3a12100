/** Split kRR: a joint code of several columns, each column by randomized response with an epsilon of its own. */

import { exactly, fraction, nextDown, plus, times, up } from './exact.js';
import { require } from './errors.js';
import { KRR } from './krr.js';
import { checkCells } from './oracle.js';

/** @typedef {import('./random.js').Words} Words */

/** Randomized response on each column of a joint code, in which the last column runs fastest. */
export class SplitKRR {
  name = 'split-krr';
  oneCell = false;

  /**
   * @param {number[]} epsilons one for each column
   * @param {number[]} sizes
   */
  constructor(epsilons, sizes) {
    require(epsilons.length === sizes.length && sizes.length > 0, 'there must be one epsilon for each column');
    this.sizes = sizes;
    this.columns = sizes.map((size, at) => new KRR(epsilons[at], size));
    this.cells = checkCells(sizes.reduce((product, size) => product * size, 1));
    const total = this.columns.reduce((sum, column) => plus(sum, exactly(column.epsilon)), fraction(0n));
    /** The sum of the epsilons that are realised, rounded up. */
    this.epsilon = up(total);
  }

  /**
   * Equal shares of one epsilon.
   * @param {number} epsilon
   * @param {number[]} sizes
   */
  static of(epsilon, sizes) {
    return new SplitKRR(sizes.map(() => shareOf(epsilon, sizes.length)), sizes);
  }

  weights() {
    return { columns: this.columns.map((column) => column.weights()) };
  }

  /**
   * What a device sends: a value of each column.
   * @param {number} code
   * @param {Words} words
   */
  payload(code, words) {
    const values = [];
    let rest = code;
    for (const size of [...this.sizes].reverse()) {
      values.unshift(rest % size);
      rest = Math.floor(rest / size);
    }
    return values.map((value, at) => this.columns[at].payload(value, words));
  }
}

/**
 * Largest x with parts x <= epsilon.
 * @param {number} epsilon
 * @param {number} parts
 */
export function shareOf(epsilon, parts) {
  let share = epsilon / parts;
  const isTooLarge = () => {
    const all = times(exactly(share), fraction(BigInt(parts)));
    const given = exactly(epsilon);
    return all.num * given.den > given.num * all.den;
  };
  while (isTooLarge()) share = nextDown(share);
  return share;
}
