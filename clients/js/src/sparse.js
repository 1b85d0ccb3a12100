/** Sparse campaigns: answers about few of many objects, and whether there is one is hidden too. */

import { CellResponse } from './cell_response.js';
import { require } from './errors.js';
import { Objects } from './objects.js';
import { level } from './promise.js';
import { systemWords } from './random.js';
import { SlotResponse } from './slot_response.js';
import { sealed } from './wire.js';

/**
 * @typedef {import('./random.js').Words} Words
 * @typedef {import('./kinds.js').Asked} Asked
 * @typedef {import('./kinds.js').Document} Document
 */

/** Objects, and the mechanism by which a device reports about all of them. */
export class Sparse {
  /** @param {Document} document */
  constructor(document) {
    const { mechanism, unit = 'cell' } = document;
    const slots = mechanism.name === 'slots';
    require(slots || mechanism.name === 'cell-response', 'a sparse campaign has another mechanism');
    require(unit === (slots ? 'person' : 'cell'), 'slots protects the unit person, other mechanisms the unit cell');
    this.unit = /** @type {string} */ (unit);
    /** Slots ask different people about different objects. */
    this.asksByPlace = slots;
    this.objects = new Objects(document.objects);
    this.mechanism = slots ? new SlotResponse(mechanism.parameters) : new CellResponse(mechanism.parameters);
    const { low, high } = this.mechanism.scale;
    const isScale = (/** @type {unknown} */ ends) => Array.isArray(ends) && ends.length === 2 && ends[0] === low && ends[1] === high;
    require(isScale(document.range), 'the campaign says something else than its mechanism holds');
    require(
      this.objects.listed.every(({ range }) => range === undefined || isScale(range)),
      'all objects of a sparse campaign are answered on one scale',
    );
    this.mechanism.checkObjects(this.objects.count);
  }

  /** What one wave promises: for each cell, and for a person with all of them. */
  promises() {
    const { count } = this.objects;
    const [cell, person] = [this.mechanism.promise('cell', count), this.mechanism.promise('user', count)];
    const levels = [
      level('each answer, given or not', cell),
      level(`a person, with all ${count} answers, given or not`, person),
    ];
    return { own: this.unit === 'person' ? person : cell, levels };
  }

  /**
   * The report of one device about all objects, whatever there is an answer to.
   * @param {Record<string, unknown>} answer
   * @param {Asked} asked
   * @param {Words} [words]
   */
  report(answer, asked, words = systemWords) {
    const numbers = this.objects.numbers(answer);
    return sealed(this.mechanism.name, this.mechanism.row(numbers, this.objects.count, asked.place, words));
  }

  /**
   * What a report says about each object, for showing it to whoever sends it; undefined for none. Slots do not say
   * something about each object (`meaningOf`).
   * @param {import('./wire.js').Report} report
   * @returns {Record<string, number | undefined> | undefined}
   */
  shown({ payload }) {
    if (this.asksByPlace) return undefined;
    const { scale } = this.mechanism;
    const symbols = /** @type {number[]} */ (payload);
    const valueOf = (/** @type {number} */ symbol) => (symbol === scale.levels ? undefined : scale.answer(symbol));
    return Object.fromEntries(
      this.objects.listed.map(({ name }) => [name, valueOf(symbols[/** @type {number} */ (this.objects.codes.get(name))])]),
    );
  }

  /** A made-up answer, of nobody: the middle of the scale, about the first object that is asked about. @param {Asked} asked */
  madeUp({ place }) {
    const { low, high } = this.mechanism.scale;
    const lists = this.mechanism instanceof SlotResponse ? this.mechanism.lists(place, this.objects.count) : null;
    const name = lists === null ? this.objects.listed[0].name : this.objects.names[lists[0][0]];
    return { [name]: Math.floor((low + high) / 2) };
  }
}
