/**
 * Gaussian noise of a fresh exponential variance for each value: Laplace noise under another name, and drawn
 * as such. Its parameter is the rate of variances, or the epsilon that they give a value.
 */

import { require } from './errors.js';
import { Grid, rangeOf } from './grid.js';
import { Laplace } from './laplace.js';

const NAMED = ['rate', 'epsilon', 'range', 'resolution'];

/**
 * Laplace noise of scale 1/sqrt(2 rate).
 * @param {Record<string, unknown>} parameters
 * @returns {Laplace}
 */
export function freshVariance(parameters) {
  const name = 'gaussian-exponential';
  require(Object.keys(parameters).every((key) => NAMED.includes(key)), `these are not the parameters of ${name}`);
  const { rate, epsilon, ...rest } = parameters;
  require((rate === undefined) !== (epsilon === undefined), `${name} takes either a rate or an epsilon`);
  if (rate === undefined) return new Laplace({ epsilon, ...rest }, name);
  require(isRate(rate), 'the rate of the variances must be a number above 0');
  const grid = new Grid(rangeOf(rest.range), rest.resolution);
  return new Laplace({ epsilon: grid.steps * grid.step * Math.sqrt(2 * rate), ...rest }, name);
}

/** @param {unknown} rate @returns {rate is number} */
export const isRate = (rate) => typeof rate === 'number' && rate >= 1e-100 && rate <= 1e100;
