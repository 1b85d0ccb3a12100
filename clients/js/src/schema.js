/** The columns of records and their public domains: values, or the edges of bins. */

import { Refusal, require } from './errors.js';
import { byName } from './names.js';
import { keysInOrder } from './ordered_json.js';

const MOST_VALUES = 2 ** 14;
const MISSING = '(missing)';
const NUMBER = /^[+-]?(\d+\.?\d*|\.\d+)(e[+-]?\d+)?$/i;

/** A column: bins are [edge, next edge), the last one includes its upper edge; the code of a missing cell is the last. */
export class Column {
  /**
   * @param {string} name
   * @param {unknown} domain
   */
  constructor(name, domain) {
    const { values, edges, missing = false, ...rest } = /** @type {Record<string, unknown>} */ (domain ?? {});
    require(name.trim() !== '' && name.normalize('NFC') === name, 'a column needs a name in normal form');
    require(Object.keys(rest).length === 0 && typeof missing === 'boolean', 'a domain has values or edges');
    require((values === undefined) !== (edges === undefined), 'a domain has either values or edges');
    this.name = name;
    this.missing = missing;
    /** @type {number[] | undefined} */
    this.edges = edges === undefined ? undefined : checkedEdges(edges);
    this.present = this.edges === undefined ? checkedValues(values, missing) : labelsOf(this.edges);
    /** The text of each code. */
    this.labels = missing ? [...this.present, MISSING] : this.present;
    this.size = this.labels.length;
    require(this.size >= 2 && this.size <= MOST_VALUES, 'a domain has from 2 values on');
  }

  /**
   * The code of a cell: a text, a number or, where there is a bin for it, nothing.
   *
   * Numbers beyond the edges go into the first or last bin.
   * @param {unknown} cell
   * @returns {number}
   */
  code(cell) {
    const text = cell === null || cell === undefined || Number.isNaN(cell) ? '' : String(cell).normalize('NFC');
    if (text.trim() === '') {
      if (this.missing) return this.size - 1;
      throw new Refusal('answer', 'a question is not answered');
    }
    const place = this.labels.indexOf(text);
    if (place >= 0) return place;
    if (this.edges === undefined) throw new Refusal('answer', 'an answer is not one of the declared values');
    if (!NUMBER.test(text.trim())) throw new Refusal('answer', 'an answer is no number');
    return binOf(Number(text), this.edges);
  }
}

/** All columns. */
export class Schema {
  /** @param {unknown} given as in a campaign's document */
  constructor(given) {
    const { columns, ...rest } = /** @type {Record<string, unknown>} */ (given ?? {});
    require(Object.keys(rest).length === 0 && typeof columns === 'object' && columns !== null, 'a schema has columns');
    require(!Array.isArray(columns), 'the columns of a schema are named');
    const names = keysInOrder(columns);
    require(names !== undefined, 'the order of the columns is not known: give the text of the document');
    const domains = /** @type {Record<string, unknown>} */ (columns);
    this.columns = names.map((name) => new Column(name, domains[name]));
    require(this.columns.length > 0, 'a schema needs at least one column');
    this.sizes = this.columns.map((column) => column.size);
  }

  /**
   * The codes of a record.
   * @param {Record<string, unknown>} answer by column; columns that the schema does not name are ignored
   */
  codes(answer) {
    const named = byName(answer);
    if (named === undefined) throw new Refusal('answer', 'a question is answered twice');
    return this.columns.map((column) => column.code(named.get(column.name)));
  }
}

/** @param {unknown} edges */
function checkedEdges(edges) {
  require(Array.isArray(edges) && edges.every(Number.isFinite), 'edges are finite numbers that ascend');
  require(edges.every((edge, at) => at === 0 || edges[at - 1] < edge), 'edges are finite numbers that ascend');
  return /** @type {number[]} */ (edges);
}

/** @param {unknown} values @param {boolean} missing */
function checkedValues(values, missing) {
  require(Array.isArray(values), 'values are a list of texts');
  for (const value of values) {
    require(typeof value === 'string' && value.trim() !== '' && value.normalize('NFC') === value, 'values are texts');
  }
  require(new Set(values).size === values.length, 'a column has a value twice');
  require(!(missing && values.includes(MISSING)), 'a value has the name of missing cells');
  return /** @type {string[]} */ (values);
}

/** Labels of bins in the form 30..60. @param {number[]} edges */
function labelsOf(edges) {
  return edges.slice(1).map((edge, at) => `${asPython(edges[at])}..${asPython(edge)}`);
}

/** A number with all its digits, in Python's form: an exponent from 10^16 on and below 10^-4. @param {number} number */
export function asPython(number) {
  if (Number.isInteger(number) && Math.abs(number) < 1e15) return String(number);
  const [digits, power] = number.toExponential().split('e');
  const exponent = Number(power);
  if (exponent >= 16 || exponent < -4) {
    return `${digits}e${exponent < 0 ? '-' : '+'}${String(Math.abs(exponent)).padStart(2, '0')}`;
  }
  const plain = String(number);
  if (!plain.includes('e')) return Number.isInteger(number) ? `${plain}.0` : plain;
  return number.toFixed(Math.max(0, digits.replace(/[^\d]/g, '').length - 1 - exponent));
}

/** @param {number} number @param {number[]} edges */
function binOf(number, edges) {
  const inside = Math.min(Math.max(number, edges[0]), edges[edges.length - 1]);
  let bin = 0;
  while (bin < edges.length - 2 && edges[bin + 1] <= inside) bin += 1;
  return bin;
}
