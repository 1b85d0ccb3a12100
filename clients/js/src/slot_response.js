/**
 * Sparse answers with one epsilon for all that a person answered: a device is asked about a few objects.
 *
 * For each list of objects (a slot) it picks one of those that its person answered about, or NULL, and rounds the
 * answer at random to a level. Randomized response over the symbols of all slots at once is all that is sent, so
 * that the person's epsilon is that of the response. One device in `unnamed` picks among all answers of its
 * person and sends the level only.
 */

import { require } from './errors.js';
import { rational } from './exact.js';
import { below } from './random.js';
import { Response } from './response.js';
import { Scale, isWhole } from './scale.js';
import { slotLists } from './slot_lists.js';

/**
 * @typedef {import('./random.js').Words} Words
 * @typedef {import('./promise.js').Promised} Promised
 */

const MOST_SYMBOLS = 2 ** 32;
const NAMED = ['epsilon', 'range', 'slots', 'listed', 'levels', 'unnamed', 'seed'];

/** One number for all slots. */
export class SlotResponse {
  /** @param {Record<string, unknown>} parameters */
  constructor(parameters) {
    this.name = 'slots';
    require(Object.keys(parameters).every((key) => NAMED.includes(key)), 'these are not the parameters of slots');
    const { epsilon, range, slots = 1, listed = 1, levels, unnamed, seed = 0 } = parameters;
    rational(epsilon, 'epsilon'); // refuses one that is too small or too large
    require(isWhole(slots, 1, 2 ** 32) && isWhole(listed, 1, 2 ** 32), 'slots and listed are whole numbers');
    require(unnamed === undefined || isWhole(unnamed, 2), 'unnamed means one device in at least 2');
    require(isWhole(seed, 0), 'a seed is a whole number');
    this.scale = new Scale(range, levels);
    this.slots = slots;
    this.listed = listed;
    this.unnamed = unnamed;
    this.seed = seed;
    /** The number of symbols of a slot; the last one is NULL. */
    this.symbols = listed * this.scale.levels + 1;
    const together = this.symbols ** slots;
    require(together <= MOST_SYMBOLS, 'these slots have too many symbols at once');
    const strength = /** @type {number} */ (epsilon);
    this.response = Response.of(together, strength);
    this.unnamedResponse = Response.of(this.scale.levels + 1, strength);
  }

  /** Refuses fewer objects than a device is asked about. @param {number} objects */
  checkObjects(objects) {
    require(this.slots * this.listed <= objects, 'a device would be asked about more objects than there are');
  }

  /** Whether the device in a place names objects. @param {number} place */
  names(place) {
    return this.unnamed === undefined || (place + 1) % this.unnamed !== 0;
  }

  /**
   * The objects that the device in a place is asked about, slot by slot; null if it names none.
   * @param {number} place
   * @param {number} objects
   */
  lists(place, objects) {
    if (!this.names(place)) return null;
    const rank = this.unnamed === undefined ? place : place - Math.floor(place / this.unnamed);
    return slotLists(rank, objects, this);
  }

  /**
   * The one number that a device sends, as a row.
   * @param {ReadonlyMap<number, number>} answers values by the object's place in the list
   * @param {number} objects
   * @param {number} place
   * @param {Words} words
   */
  row(answers, objects, place, words) {
    const lists = this.lists(place, objects);
    if (lists === null) return [this.unnamedResponse.draw(this.#unnamedSymbol(answers, words), words)];
    let [joint, power] = [0, 1];
    for (const list of lists) {
      joint += power * this.#symbol(list, answers, words);
      power *= this.symbols;
    }
    return [this.response.draw(joint, words)];
  }

  /**
   * The symbol of a uniformly chosen answered object of a list, with its answer's level; or NULL.
   * @param {number[]} list
   * @param {ReadonlyMap<number, number>} answers
   * @param {Words} words
   */
  #symbol(list, answers, words) {
    const answered = list.flatMap((object, at) => (answers.has(object) ? [at] : []));
    if (answered.length === 0) return list.length * this.scale.levels;
    const at = answered[below(words, answered.length)];
    const value = /** @type {number} */ (answers.get(list[at]));
    return at * this.scale.levels + this.scale.level(this.scale.code(value), words);
  }

  /**
   * The level of a uniformly chosen answer, without its object; or NULL.
   * @param {ReadonlyMap<number, number>} answers
   * @param {Words} words
   */
  #unnamedSymbol(answers, words) {
    const given = [...answers].sort(([a], [b]) => a - b);
    if (given.length === 0) return this.scale.levels;
    const [, value] = given[below(words, given.length)];
    return this.scale.level(this.scale.code(value), words);
  }

  /**
   * Pure epsilon for a user, once, however many objects there are; so for each cell too.
   * @param {'cell' | 'user'} unit
   * @returns {Promised}
   */
  promise(unit) {
    const realised = this.response.epsilon;
    const epsilon = this.unnamed === undefined ? realised : Math.max(realised, this.unnamedResponse.epsilon);
    return { epsilon, delta: 0, unit, adjacency: 'replace-or-none' };
  }
}
