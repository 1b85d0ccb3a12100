/**
 * Sensing campaigns: numbers about objects, with noise that the device adds to each.
 *
 * Where objects have different ranges, a value is sent as a share of its object's own range. What is not hidden:
 * which objects somebody reports about.
 */

import { Refusal, require } from './errors.js';
import { freshVariance } from './fresh_variance.js';
import { Laplace } from './laplace.js';
import { Objects } from './objects.js';
import { level } from './promise.js';
import { systemWords } from './random.js';
import { VariancePerUser } from './variance_per_user.js';
import { sealed } from './wire.js';

/**
 * @typedef {import('./random.js').Words} Words
 * @typedef {import('./kinds.js').Asked} Asked
 * @typedef {import('./kinds.js').Document} Document
 */

/** @type {Record<string, (parameters: Record<string, unknown>) => Laplace | VariancePerUser>} */
const MECHANISMS = {
  laplace: (parameters) => new Laplace(parameters),
  'gaussian-exponential': freshVariance,
  'gaussian-exponential-per-user': (parameters) => new VariancePerUser(parameters),
};

/** Objects, and the mechanism that protects each claim about one of them. */
export class Sensing {
  asksByPlace = false;

  /** @param {Document} document */
  constructor(document) {
    const { mechanism, unit = 'claim' } = document;
    require(unit === 'claim' || unit === 'person', 'this kind of campaign protects claim or person');
    require(Object.hasOwn(MECHANISMS, mechanism.name), 'a sensing campaign has another mechanism');
    this.unit = /** @type {string} */ (unit);
    this.objects = new Objects(document.objects);
    this.mechanism = MECHANISMS[mechanism.name](mechanism.parameters);
    const { low, high } = this.mechanism.grid;
    const ranges = new Map(this.objects.listed.map((item) => [item.name, item.range]));
    /** The range of each object, by its place among the names. */
    this.ranges = this.objects.names.map((name) => {
      const range = ranges.get(name);
      require(range !== undefined, 'an object has no range');
      return range;
    });
    /** Whether values are sent as shares of their objects' ranges. */
    this.scaled = this.ranges.some((own) => own[0] !== low || own[1] !== high);
    require(!this.scaled || (low === 0 && high === 1), 'objects with different ranges are reported on the scale 0 to 1');
    require(document.scaled === this.scaled, 'the campaign says something else than its mechanism holds');
  }

  /**
   * What one wave promises: for each claim, and for a person with one about each object.
   * @param {unknown} stated levels as the document states them
   */
  promises(stated) {
    const [one, all] = Array.isArray(stated) ? stated : [];
    const numbers = { epsilon: undefined, delta: undefined };
    const { count } = this.objects;
    const claim = this.mechanism.promise('claim', 1, one ?? numbers);
    const person = this.mechanism.promise('user', count, all ?? numbers);
    const several = count === 1 ? '1 claim' : `${count} claims`;
    const levels = [level('each claim', claim), level(`a person with ${several}, and nobody has more`, person)];
    return { own: this.unit === 'person' ? person : claim, levels: claim === null ? [] : levels };
  }

  /**
   * The report of one device: noisy claims about the objects that there is a value of.
   * @param {Record<string, unknown>} answer
   * @param {Asked} _asked
   * @param {Words} [words]
   */
  report(answer, _asked, words = systemWords) {
    const numbers = this.objects.numbers(answer);
    if (numbers.size === 0) throw new Refusal('answer', 'there is no value: at least one is needed');
    const places = [...numbers].map(([code, value]) => this.mechanism.grid.place(this.#sent(code, value)));
    const noise = this.mechanism.noise(places.length, words);
    const steps = places.map((place, at) => place + noise[at]);
    return sealed(this.mechanism.name, [...numbers.keys()].map((code, at) => [this.objects.names[code], steps[at]]));
  }

  /**
   * The noisy values of a report, by object, in the objects' own units: for a picture.
   * @param {import('./wire.js').Report} report
   * @returns {Record<string, number>}
   */
  shown(report) {
    const pairs = /** @type {[string, number][]} */ (report.payload);
    return Object.fromEntries(
      pairs.map(([name, step]) => {
        const value = this.mechanism.grid.value(step);
        const [low, high] = this.rangeOf(name);
        return [name, this.scaled ? low + value * (high - low) : value];
      }),
    );
  }

  /** How far apart noisy values of an object are at least, in its own unit. @param {string} name */
  stepOf(name) {
    const [low, high] = this.rangeOf(name);
    return this.mechanism.grid.step * (this.scaled ? high - low : 1);
  }

  /** @param {string} name of an object */
  rangeOf(name) {
    return this.ranges[/** @type {number} */ (this.objects.codes.get(name))];
  }

  /** A made-up answer, of nobody: the middle of a range. One is enough, as noise about each object is as strong. */
  madeUp() {
    const [{ name }] = this.objects.listed;
    const [low, high] = this.rangeOf(name);
    return { [name]: low + (high - low) / 2 };
  }

  /**
   * A finite value on the scale of the mechanism.
   * @param {number} code
   * @param {number} value
   */
  #sent(code, value) {
    if (!this.scaled) return value;
    const [low, high] = this.ranges[code];
    return (Math.min(Math.max(value, low), high) - low) / (high - low);
  }
}
