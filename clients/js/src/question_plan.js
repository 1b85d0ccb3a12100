/**
 * Which questions a records campaign can ask, from its public numbers alone: the same as on the Python side.
 *
 * A device needs them to know the largest epsilon among them, which is what the campaign promises. Which sets of
 * columns are asked about is chosen by expected errors, in doubles; sums may differ from Python's in the last bit,
 * which changes the choice only where two designs are equally good to fifteen digits.
 */

import { require } from './errors.js';
import { KRR } from './krr.js';
import { OLH } from './olh.js';
import { MOST_CELLS } from './oracle.js';
import { OUE } from './oue.js';
import { SplitKRR } from './split_krr.js';

/**
 * @typedef {import('./oracle.js').PureOracle} PureOracle
 * @typedef {{ columns: number[], oracle: PureOracle }} Asked
 */

const MOST_COLUMNS = 5; // of a question
const MOST_QUESTIONS = 20000;
const MOST_CELLS_IN_ALL = 2000000; // of all questions of more than two columns

/** The questions of a schema with these sizes, at this epsilon. */
export class QuestionPlan {
  /** @type {Map<number, PureOracle>} */
  #oracles = new Map();

  /**
   * @param {number} epsilon
   * @param {number[]} sizes
   */
  constructor(epsilon, sizes) {
    this.epsilon = epsilon;
    this.sizes = sizes;
  }

  /** A question about each column. */
  singles() {
    return this.sizes.map((_, column) => this.#about([column]));
  }

  /** Questions about all sets of so many columns. @param {number} columns */
  sets(columns) {
    require(
      this.sizes.length >= columns && combinations(this.sizes.length, columns) <= MOST_QUESTIONS,
      'there are too few columns, or too many',
    );
    return subsets(this.sizes.length, columns).map((each) => this.#about(each));
  }

  /** Questions about sets of columns, of the size that gives the most precise pairs. */
  joints() {
    /** @type {Asked[]} */
    let best = [];
    let least = Infinity;
    for (const columns of this.#numbers()) {
      const asked = this.#all(columns);
      if (asked.length === 0) continue;
      const error = this.#expectedError(asked);
      if (error < least) [best, least] = [asked, error];
    }
    return best;
  }

  /** The largest epsilon among questions. @param {{ oracle: { epsilon: number } }[]} questions */
  static epsilon(questions) {
    return questions.reduce((largest, { oracle }) => Math.max(largest, oracle.epsilon), 0);
  }

  /** @param {number[]} columns @returns {Asked} */
  #about(columns) {
    const cells = columns.reduce((product, column) => product * this.sizes[column], 1);
    require(cells <= MOST_CELLS, 'columns have too many cells together');
    let oracle = this.#oracles.get(cells);
    if (oracle === undefined) {
      oracle = bestOracle(this.epsilon, cells);
      this.#oracles.set(cells, oracle);
    }
    return { columns, oracle };
  }

  /** The numbers of columns that a question may have. */
  #numbers() {
    const numbers = [];
    const ascending = [...this.sizes].sort((a, b) => a - b);
    for (let columns = 2; columns <= Math.min(this.sizes.length, MOST_COLUMNS); columns += 1) {
      const largest = ascending.slice(-columns).reduce((product, size) => product * size, 1);
      if (columns > 2 && (combinations(this.sizes.length, columns) > MOST_QUESTIONS || largest > MOST_CELLS)) break;
      numbers.push(columns);
    }
    return numbers;
  }

  /** All questions about this many columns that may be asked; none if they leave out a pair. @param {number} columns */
  #all(columns) {
    const every = subsets(this.sizes.length, columns).map((each) => this.#about(each));
    if (columns === 2) return every;
    const asked = every.filter(({ oracle }) => oracle.oneCell);
    const pairs = new Set(asked.flatMap((each) => pairsOf(each.columns).map(String)));
    const complete = pairs.size === combinations(this.sizes.length, 2);
    const cells = asked.reduce((sum, { oracle }) => sum + oracle.cells, 0);
    return complete && cells <= MOST_CELLS_IN_ALL ? asked : [];
  }

  /** The expected error of a pair's table, averaged over pairs. @param {Asked[]} questions */
  #expectedError(questions) {
    /** @type {Map<string, number>} */
    const precisions = new Map();
    for (const { columns, oracle } of questions) {
      for (const pair of pairsOf(columns)) {
        const cells = this.sizes[pair[0]] * this.sizes[pair[1]];
        const precision = 1 / (pairVariance(oracle, cells) + 1 / cells);
        precisions.set(String(pair), (precisions.get(String(pair)) ?? 0) + precision / questions.length);
      }
    }
    let total = 0;
    for (const [pair, precision] of precisions) {
      const [a, b] = pair.split(',').map(Number);
      total += (this.sizes[a] * this.sizes[b]) / Math.sqrt(precision);
    }
    return total / precisions.size;
  }
}

/**
 * Questions of SamPrivSyn: every pair, by split kRR.
 * @param {number} epsilon
 * @param {number[]} sizes
 */
export function splitPairs(epsilon, sizes) {
  require(sizes.length >= 2, 'there must be at least two columns');
  /** @type {Map<string, SplitKRR>} */
  const oracles = new Map();
  return subsets(sizes.length, 2).map((columns) => {
    const own = columns.map((column) => sizes[column]);
    const oracle = oracles.get(String(own)) ?? SplitKRR.of(epsilon, own);
    oracles.set(String(own), oracle);
    return { columns, oracle };
  });
}

/**
 * The most precise oracle whose reports have up to 64 bits: kRR for few cells, then OUE, and OLH for many.
 * @param {number} epsilon
 * @param {number} cells
 * @returns {PureOracle}
 */
export function bestOracle(epsilon, cells) {
  /** @type {PureOracle[]} */
  const candidates = [new KRR(epsilon, cells), new OUE(epsilon, cells), new OLH(epsilon, cells)];
  const short = candidates.filter((oracle) => oracle.short);
  return short.reduce((best, each) => (rareVariance(each) < rareVariance(best) ? each : best));
}

/** The variance of the frequency of a cell that no record holds. @param {PureOracle} oracle */
function rareVariance({ chances: [p, q] }) {
  return (q * (1 - q)) / ((p - q) * (p - q));
}

/** The same for a cell of a pair, from reports about more columns. @param {PureOracle} oracle @param {number} cells */
function pairVariance({ cells: all, chances: [p, q], oneCell }, cells) {
  const merged = all / cells;
  const signal = (p - q) * (p - q);
  return oneCell ? (merged * q * (1 - merged * q)) / signal : (merged * q * (1 - q)) / signal;
}

/** @param {number} of @param {number} chosen */
function combinations(of, chosen) {
  let count = 1;
  for (let at = 0; at < chosen; at += 1) count = (count * (of - at)) / (at + 1);
  return count;
}

/** All sets of `chosen` of the numbers 0 ... of - 1, in lexical order. @param {number} of @param {number} chosen */
function subsets(of, chosen) {
  /** @type {number[][]} */
  const all = [];
  const extend = (/** @type {number[]} */ chosenSoFar, /** @type {number} */ next) => {
    if (chosenSoFar.length === chosen) all.push(chosenSoFar);
    else for (let at = next; at < of; at += 1) extend([...chosenSoFar, at], at + 1);
  };
  extend([], 0);
  return all;
}

/** @param {number[]} columns @returns {[number, number][]} */
const pairsOf = (columns) => subsets(columns.length, 2).map(([a, b]) => [columns[a], columns[b]]);
