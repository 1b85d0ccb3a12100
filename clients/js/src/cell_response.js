/**
 * Randomized response for every cell of a person, NULL included: nobody learns what was answered, or whether.
 *
 * An answer is rounded at random to a level, without bias; then the level, or NULL, is sent unchanged with a
 * probability e^epsilon times that of any other symbol. This is what rr, three-symbols and auto amount to.
 */

import { require } from './errors.js';
import { exactly, fraction, rational, times, up } from './exact.js';
import { Response } from './response.js';
import { Scale } from './scale.js';

/**
 * @typedef {import('./random.js').Words} Words
 * @typedef {import('./promise.js').Promised} Promised
 */

const NAMED = ['epsilon', 'range', 'levels'];

/** A symbol for each object: a level, or `levels` for NULL. */
export class CellResponse {
  /** @param {Record<string, unknown>} parameters */
  constructor(parameters) {
    this.name = 'cell-response';
    require(Object.keys(parameters).every((key) => NAMED.includes(key)), `these are not the parameters of ${this.name}`);
    const { epsilon, range, levels } = parameters;
    rational(epsilon, 'epsilon'); // refuses one that is too small or too large
    this.scale = new Scale(range, levels);
    this.response = Response.of(this.scale.levels + 1, /** @type {number} */ (epsilon));
  }

  /** Refuses a number of objects that this cannot be asked about; there is none. */
  checkObjects() {}

  /**
   * The numbers that a device sends.
   * @param {ReadonlyMap<number, number>} answers values by the object's place in the list
   * @param {number} objects
   * @param {number} _place
   * @param {Words} words
   */
  row(answers, objects, _place, words) {
    const { levels } = this.scale;
    return Array.from({ length: objects }, (_, object) => {
      const value = answers.get(object);
      const symbol = value === undefined ? levels : this.scale.level(this.scale.code(value), words);
      return this.response.draw(symbol, words);
    });
  }

  /**
   * Pure epsilon for each cell; for a user the sum over all objects.
   * @param {'cell' | 'user'} unit
   * @param {number} objects
   * @returns {Promised}
   */
  promise(unit, objects) {
    const { epsilon } = this.response;
    const all = up(times(fraction(BigInt(objects)), exactly(epsilon)));
    return { epsilon: unit === 'cell' ? epsilon : all, delta: 0, unit, adjacency: 'replace-or-none' };
  }
}
