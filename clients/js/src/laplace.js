/**
 * Laplace noise on every value, in whole steps of a public grid.
 *
 * A value is clamped to the public range and rounded to the grid; it moves by at most G steps, and exact discrete
 * Laplace noise of scale G / epsilon makes it pure epsilon-private, whoever sees the noisy value.
 */

import { discreteLaplace } from './discrete_laplace.js';
import { require } from './errors.js';
import { atMost, ceil, fraction, nearest, over, rational, times, up, upTo } from './exact.js';
import { Grid, rangeOf } from './grid.js';

/**
 * @typedef {import('./random.js').Words} Words
 * @typedef {import('./exact.js').Fraction} Fraction
 * @typedef {import('./promise.js').Promised} Promised
 */

const LIMIT = 2n ** 40n;
const NAMED = ['epsilon', 'range', 'resolution'];

/** Discrete Laplace noise of a public scale. */
export class Laplace {
  /**
   * @param {Record<string, unknown>} parameters epsilon for each value, range, and perhaps resolution
   * @param {string} [name] on the wire
   */
  constructor(parameters, name = 'laplace') {
    require(Object.keys(parameters).every((key) => NAMED.includes(key)), 'these are not the parameters of laplace');
    const { epsilon, range, resolution } = parameters;
    this.name = name;
    this.grid = new Grid(rangeOf(range), resolution);
    const strength = rational(epsilon, 'epsilon');
    this.epsilon = /** @type {number} */ (epsilon);
    /** The scale of the noise in steps: steps / epsilon, or slightly more if that has too many digits. */
    this.scale = supported(over(fraction(BigInt(this.grid.steps)), strength));
    this.grid.checkNoise(Math.SQRT2 * nearest(this.scale));
    this.num = Number(this.scale.num);
    this.den = Number(this.scale.den);
  }

  /**
   * The noise of one person's values, in steps.
   * @param {number} count
   * @param {Words} words
   */
  noise(count, words) {
    return Array.from({ length: count }, () => discreteLaplace(words, this.num, this.den));
  }

  /**
   * Pure epsilon for each claim; for a user the sum over all `count` of them.
   * @param {'claim' | 'user'} unit
   * @param {number} count
   * @returns {Promised}
   */
  promise(unit, count) {
    const exact = over(fraction(BigInt(this.grid.steps)), this.scale);
    const epsilon = unit === 'claim' ? upTo(exact, this.epsilon) : up(times(fraction(BigInt(count)), exact));
    return { epsilon, delta: 0, unit, adjacency: 'replace-one' };
  }
}

/**
 * A scale that the sampler takes, or slightly more: more noise, never less.
 * @param {Fraction} wanted
 * @returns {Fraction}
 */
export function supported(wanted) {
  let scale = wanted;
  for (const digits of [20n, 10n, 0n]) {
    if (scale.num < LIMIT && scale.den < LIMIT) return scale;
    const unit = fraction(1n << digits);
    scale = over(fraction(ceil(times(scale, unit))), unit);
  }
  require(atMost(scale, fraction(LIMIT - 1n)), 'the resolution is too fine for this range and epsilon');
  return scale;
}
