/** What frequency oracles have in common: each person holds one cell of a public table and sends one report. */

import { Refusal } from './errors.js';

/**
 * One side of an oracle, the device's. `epsilon` is the one that is realised, for one record. An oracle whose reports
 * name several codes tells which by `supports`.
 * @typedef {{ name: string, epsilon: number, cells: number, weights: () => object,
 *   payload: (code: number, words: import('./random.js').Words) => unknown,
 *   supports?: (payload: unknown, code: number) => boolean }} Oracle
 */

/**
 * An oracle whose report supports cells: the true one with probability p, any other one with q.
 * @typedef {Oracle & { oneCell: boolean, short: boolean, chances: number[] }} PureOracle
 */

export const MOST_CELLS = 1e6;

/** Refuses a table with fewer than 2 cells, or with too many. @param {unknown} cells @returns {number} */
export function checkCells(cells) {
  if (typeof cells === 'number' && Number.isInteger(cells) && cells >= 2 && cells <= MOST_CELLS) return cells;
  throw new Refusal('document', 'a table has from 2 to 1,000,000 cells');
}

/** Refuses an epsilon so small that reports would hold no information. @param {number} epsilon */
export function realised(epsilon) {
  if (epsilon > 0) return epsilon;
  throw new Refusal('document', 'epsilon is too small to be drawn');
}
