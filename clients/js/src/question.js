/** What a place of a records campaign is asked: a few columns, and the oracle of their joint code. */

import { Bloom } from './bloom.js';
import { Refusal } from './errors.js';
import { KRR } from './krr.js';
import { OLH } from './olh.js';
import { OUE } from './oue.js';
import { isWhole } from './scale.js';
import { SplitKRR } from './split_krr.js';

/** @typedef {import('./oracle.js').Oracle} Oracle */

const notPublished = () => new Refusal('question', 'this is not a question that was published');

/** Columns, by place, and the oracle of their joint code, in which the last column runs fastest. */
export class Question {
  /**
   * @param {number[]} columns
   * @param {number[]} sizes
   * @param {Oracle} oracle
   */
  constructor(columns, sizes, oracle) {
    this.columns = columns;
    this.sizes = sizes;
    this.oracle = oracle;
  }

  /**
   * The question that a server published; refuses one that contradicts itself: other sizes than the oracle has
   * cells, or other weights than follow from its epsilon.
   * @param {unknown} published
   * @returns {Question}
   */
  static fromDocument(published) {
    const { columns, sizes, oracle: described, weights } = /** @type {Record<string, unknown>} */ (published ?? {});
    if (!isListOfWhole(columns) || !isListOfWhole(sizes) || columns.length !== sizes.length) throw notPublished();
    if (new Set(columns).size < columns.length) throw notPublished();
    const oracle = oracleOf(described);
    if (sizes.reduce((product, size) => product * size, 1) !== oracle.cells) throw notPublished();
    if (canonical(weights) !== canonical(oracle.weights())) throw notPublished();
    return new Question(columns, sizes, oracle);
  }

  /** The joint code of a record. @param {number[]} codes of all columns */
  code(codes) {
    return this.columns.reduce((joint, column, at) => {
      if (!isWhole(codes[column], 0, this.sizes[at] - 1)) throw new Refusal('answer', 'a code lies outside its column');
      return joint * this.sizes[at] + codes[column];
    }, 0);
  }
}

/**
 * The oracle that is described by its mechanism and parameters, and nothing else.
 * @param {unknown} described
 * @returns {Oracle}
 */
function oracleOf(described) {
  const { mechanism, parameters, ...rest } = /** @type {Record<string, unknown>} */ (described ?? {});
  const given = /** @type {Record<string, any>} */ (parameters);
  if (Object.keys(rest).length || typeof mechanism !== 'string' || typeof given !== 'object' || given === null) {
    throw notPublished();
  }
  const named = (/** @type {string[]} */ ...names) => {
    if (!Object.keys(given).every((name) => names.includes(name))) throw notPublished();
    return names.map((name) => given[name]);
  };
  const isNumber = (/** @type {unknown} */ value) => typeof value === 'number';
  if (!Object.values(given).every((value) => isNumber(value) || (Array.isArray(value) && value.every(isNumber)))) {
    throw notPublished();
  }
  if (mechanism === 'krr') return new KRR(.../** @type {[number, number]} */ (named('epsilon', 'cells')));
  if (mechanism === 'oue') return new OUE(.../** @type {[number, number]} */ (named('epsilon', 'cells')));
  if (mechanism === 'olh') return new OLH(.../** @type {[number, number]} */ (named('epsilon', 'cells')));
  if (mechanism === 'bloom') {
    return new Bloom(.../** @type {[number, number]} */ (named('epsilon', 'cells', 'bits', 'hashes', 'seed')));
  }
  const [epsilons, sizes] = named('epsilons', 'sizes');
  if (mechanism !== 'split-krr' || !Array.isArray(epsilons) || !isListOfWhole(sizes)) throw notPublished();
  return new SplitKRR(epsilons, sizes);
}

/** @param {unknown} list @returns {list is number[]} */
const isListOfWhole = (list) => Array.isArray(list) && list.every((number) => isWhole(number, 0));

/**
 * Plain data as one text, whatever the order of keys.
 * @param {unknown} value
 * @returns {string}
 */
export function canonical(value) {
  if (Array.isArray(value)) return `[${value.map(canonical).join(',')}]`;
  if (typeof value !== 'object' || value === null) return JSON.stringify(value) ?? 'undefined';
  const entries = Object.entries(value).sort(([a], [b]) => (a < b ? -1 : 1));
  return `{${entries.map(([key, inner]) => `${JSON.stringify(key)}:${canonical(inner)}`).join(',')}}`;
}
