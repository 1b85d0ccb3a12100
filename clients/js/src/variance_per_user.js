/**
 * Gaussian noise with one variance for all values of a person: floor + an exponential one.
 *
 * Reference: Li et al., Towards Differentially Private Truth Discovery for Crowd Sensing Systems, 2018. The
 * variance is a whole number of steps of a public grid of variances, drawn first; then exact discrete Gaussian
 * noise of that variance. It is never sent. Without a floor the promise is weak: an epsilon of 1 at a large delta.
 */

import { discreteGaussian } from './discrete_gaussian.js';
import { discreteLaplace } from './discrete_laplace.js';
import { require } from './errors.js';
import { atMost, ceil, exactly, fraction, over, times, up } from './exact.js';
import { isRate } from './fresh_variance.js';
import { Grid, rangeOf } from './grid.js';
import { checkedFloored, checkedShared } from './variance_cost.js';

/**
 * @typedef {import('./random.js').Words} Words
 * @typedef {import('./promise.js').Promised} Promised
 * @typedef {import('./promise.js').Stated} Stated
 */

const ALWAYS = 4n; // variance, in squared steps, that makes up for the grid
const STEPS_TO_MEAN = 4096;
const CAP = 64 * STEPS_TO_MEAN; // no more steps; one chance in e^64 to get there
const LIMIT = 2n ** 40n;
const SMALLEST_DELTA = 1e-20;
const MOST_CLAIMS = 1e6;
const NAMED = ['rate', 'range', 'resolution', 'floor', 'delta'];
const DELTA = 1e-6;

/** One variance for all values of a person. */
export class VariancePerUser {
  /** @param {Record<string, unknown>} parameters rate, range, and perhaps resolution, floor and delta */
  constructor(parameters) {
    const { rate, range, resolution, floor = 0, delta = DELTA } = parameters;
    this.name = 'gaussian-exponential-per-user';
    require(Object.keys(parameters).every((key) => NAMED.includes(key)), `these are not the parameters of ${this.name}`);
    require(isRate(rate), 'the rate of the variances must be a number above 0');
    require(floor === 0 || isRate(floor), 'the floor under the variance must be a number above 0');
    require(typeof delta === 'number' && delta >= SMALLEST_DELTA && delta < 1, 'delta must lie above 0 and below 1');
    this.grid = new Grid(rangeOf(range), resolution);
    this.delta = delta;
    const step = exactly(this.grid.step);
    const square = times(step, step);
    /** The floor in squared steps, rounded up. */
    this.floor = ceil(over(exactly(/** @type {number} */ (floor)), square));
    const mean = over(fraction(1n), times(exactly(rate), square));
    const perStep = over(mean, fraction(BigInt(STEPS_TO_MEAN)));
    /** Variances are multiples of 1 / parts squared steps: the finest that the sampler takes. */
    this.parts = 1n;
    const fits = (/** @type {bigint} */ parts) =>
      atMost(times(fraction(parts), perStep), fraction(2n ** 21n - 1n)) && parts * (ALWAYS + this.floor) < 2n ** 39n;
    while (fits(2n * this.parts)) this.parts *= 2n;
    /** A step of the variance in these parts, rounded up. */
    this.step = ceil(times(perStep, fraction(this.parts)));
    /** The mean of the exponential law in squared steps of the grid, never below 1 / rate. */
    this.mean = fraction(BigInt(STEPS_TO_MEAN) * this.step, this.parts);
    const [num, den] = this.variance(CAP);
    require(num < LIMIT, 'the resolution is too fine for so much noise');
    this.grid.checkNoise(Math.sqrt(Number(num) / Number(den)));
  }

  /**
   * The variance after that many steps, as a fraction num/den of squared steps of the grid.
   * @param {number} steps
   * @returns {[bigint, bigint]}
   */
  variance(steps) {
    return [(ALWAYS + this.floor) * this.parts + BigInt(steps) * this.step, this.parts];
  }

  /**
   * The noise of one person's values, in steps: a variance first, then noise of that variance.
   * @param {number} count
   * @param {Words} words
   */
  noise(count, words) {
    let drawn = discreteLaplace(words, STEPS_TO_MEAN, 1);
    while (drawn < 0) drawn = discreteLaplace(words, STEPS_TO_MEAN, 1);
    const [num, den] = this.variance(Math.min(drawn + 1, CAP));
    return Array.from({ length: count }, () => discreteGaussian(words, num, den));
  }

  /**
   * The stated numbers, if they hold for the law that is drawn; null where nothing can be promised.
   *
   * With a floor: an epsilon at the parameters' delta; without one: a delta at epsilon = 1. They are not computed
   * to the last bit here, but checked (variance_cost.js says how closely).
   * @param {'claim' | 'user'} unit
   * @param {number} count
   * @param {Stated} stated
   * @returns {Promised | null}
   */
  promise(unit, count, stated) {
    const claims = unit === 'user' ? count : 1;
    require(claims <= MOST_CLAIMS, 'there are too many objects');
    const shift = this.grid.steps * Math.sqrt(claims) * (1 + 2 ** -49);
    const rate = up(over(fraction(1n), this.mean));
    const scope = /** @type {const} */ ({ unit, adjacency: 'replace-one' });
    if (this.floor) {
      return { ...scope, epsilon: checkedFloored(rate, shift, Number(this.floor), this.delta, stated), delta: this.delta };
    }
    const delta = checkedShared(rate, shift, stated);
    return delta === null ? null : { ...scope, epsilon: 1, delta, weak: true };
  }
}
