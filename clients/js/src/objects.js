/** The objects of a campaign: public names, and for measurements the range and unit of each. */

import { Refusal, require } from './errors.js';
import { rangeOf } from './grid.js';
import { byCodePoints, byName, checkedText } from './names.js';

/** @typedef {{ name: string, range?: [number, number], unit?: string }} Item */

const MOST_OBJECTS = 10000;
const LONGEST_UNIT = 40;

/** Objects in the order in which they were given; no name twice. */
export class Objects {
  /** @param {unknown} given as in a campaign's document */
  constructor(given) {
    require(Array.isArray(given) && given.length >= 1 && given.length <= MOST_OBJECTS, 'a campaign has objects');
    /** @type {Item[]} */
    this.listed = given.map(itemOf);
    /** All names, ascending by code points: the order in which devices report and draw. */
    this.names = this.listed.map(({ name }) => name).sort(byCodePoints);
    /** The place of each name in `names`. */
    this.codes = new Map(this.names.map((name, code) => [name, code]));
    require(this.codes.size === this.listed.length, 'the list of objects has one of them twice');
    this.count = this.listed.length;
  }

  /**
   * The numbers of an answer by the place of their objects, ascending.
   * @param {Record<string, unknown>} answer by name; null and undefined are no answer
   * @returns {Map<number, number>}
   */
  numbers(answer) {
    const named = byName(answer);
    if (named === undefined) throw new Refusal('answer', 'there are two answers about one object');
    /** @type {[number, number][]} */
    const numbers = [];
    for (const [name, value] of named) {
      const code = this.codes.get(name);
      if (code === undefined) throw new Refusal('answer', 'there is an answer about an object that is not listed');
      if (value === null || value === undefined) continue;
      if (typeof value !== 'number' || !Number.isFinite(value)) throw new Refusal('answer', 'an answer is no number');
      numbers.push([code, value]);
    }
    return new Map(numbers.sort(([a], [b]) => a - b));
  }
}

/** @param {unknown} given @returns {Item} */
function itemOf(given) {
  const { name, range, unit, ...rest } = /** @type {Record<string, unknown>} */ (given ?? {});
  require(Object.keys(rest).length === 0, 'an object has a name and perhaps a range and a unit');
  /** @type {Item} */
  const item = { name: checkedText(name, "an object's name") };
  if (range !== undefined) item.range = rangeOf(range);
  if (unit !== undefined) item.unit = checkedText(unit, "an object's unit", LONGEST_UNIT);
  return item;
}
