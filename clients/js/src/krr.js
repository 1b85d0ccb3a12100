/** kRR: randomized response on the cells of a table. A report is the code itself or any other cell. */

import { checkCells, realised } from './oracle.js';
import { nearest } from './exact.js';
import { Response } from './response.js';

/** @typedef {import('./random.js').Words} Words */

/** Randomized response on all cells. */
export class KRR {
  name = 'krr';
  oneCell = true;

  /**
   * @param {number} epsilon
   * @param {number} cells
   */
  constructor(epsilon, cells) {
    this.cells = checkCells(cells);
    /** The epsilon that is realised, never above the one given. */
    this.epsilon = realised(Response.of(cells, epsilon).epsilon);
    this.response = Response.of(cells, this.epsilon);
  }

  /** Whether a report takes up to 64 bits. */
  get short() {
    return true;
  }

  /** p and q: the probabilities that a report supports the true cell, and any given other one. */
  get chances() {
    const { keep, other, total } = this.response;
    return [nearest({ num: keep, den: total }), nearest({ num: other, den: total })];
  }

  weights() {
    return this.response.published();
  }

  /**
   * What a device sends.
   * @param {number} code
   * @param {Words} words
   */
  payload(code, words) {
    return this.response.draw(code, words);
  }
}
