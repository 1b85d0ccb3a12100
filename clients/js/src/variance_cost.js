/**
 * What Gaussian noise of an exponential variance costs: checks of numbers that a campaign states.
 *
 * Without a floor the formula is closed: 1 - exp(-(sqrt(epsilon^2 + 2 rate s^2) - epsilon)/2). A stated delta must
 * equal it to one part in 2^45, and must not lie below the true value.
 *
 * With a floor the delta is an integral over the variance. The Python side bounds it from above by a sum that is
 * too large by less than one part in a thousand, and searches the least epsilon for it. Here the integral is
 * computed by Simpson's rule in doubles, to about one part in 10^6: a stated epsilon whose delta is larger
 * than promised by more than that is refused, and so is one whose delta is below 99 % of it, which no campaign
 * states. This is a numerical check, not a proof; the proof is the Python side's.
 */

import { Refusal } from './errors.js';

/** @typedef {import('./promise.js').Stated} Stated */

const LEAST_DELTA = 1e-3; // without a floor none below is stated, though it may be true
const MOST_DELTA = 0.999; // a promise that fails more often is none
const LOST = 1e-27;
const SLACK = 5 * 2 ** -50;

const mismatch = () => new Refusal('document', 'the campaign says something else than its mechanism holds');

/**
 * The stated delta at epsilon = 1 of a variance without a floor, if it is true; null if nothing can be promised.
 * @param {number} rate
 * @param {number} shift
 * @param {Stated} stated
 * @returns {number | null}
 */
export function checkedShared(rate, shift, stated) {
  const square = 2 * rate * shift * shift;
  const exponent = (0.5 * square) / (Math.sqrt(1 + square) + 1);
  const own = Math.max(LEAST_DELTA, Math.min(1, -Math.expm1(-exponent) * (1 + SLACK) + LOST));
  const nothing = stated.epsilon === null && stated.delta === null;
  if (nothing || own > MOST_DELTA) {
    if (nothing && own > MOST_DELTA) return null;
    throw mismatch();
  }
  const { epsilon, delta } = stated;
  if (epsilon !== 1 || typeof delta !== 'number') throw mismatch();
  if (!(delta >= own * (1 - 2 ** -51) && delta <= own * (1 + 2 ** -45))) throw mismatch();
  return delta;
}

/**
 * The stated epsilon at `delta` of a variance with a floor, if it is true.
 * @param {number} rate
 * @param {number} shift
 * @param {number} floor
 * @param {number} delta
 * @param {Stated} stated
 * @returns {number}
 */
export function checkedFloored(rate, shift, floor, delta, stated) {
  const { epsilon } = stated;
  if (typeof epsilon !== 'number' || !(epsilon >= 0 && Number.isFinite(epsilon))) throw mismatch();
  const own = flooredDelta(rate, shift, floor, epsilon) + LOST;
  if (!(own <= delta * (1 + 1e-6)) || (epsilon > 0 && own < 0.99 * delta)) throw mismatch();
  return epsilon;
}

/**
 * The mean of `gaussianDelta` over a variance floor + Exp(rate).
 * @param {number} rate
 * @param {number} shift
 * @param {number} floor
 * @param {number} epsilon
 */
export function flooredDelta(rate, shift, floor, epsilon) {
  const [first, last, pieces] = [Math.log(1e-12), Math.log(60), 2000];
  const width = (last - first) / pieces;
  let total = 0;
  for (let at = 0; at <= pieces; at += 1) {
    const extra = Math.exp(first + at * width); // in units of 1 / rate
    const weight = at === 0 || at === pieces ? 1 : at % 2 ? 4 : 2;
    total += weight * extra * Math.exp(-extra) * gaussianDelta(shift / Math.sqrt(floor + extra / rate), epsilon);
  }
  return (total * width) / 3 + 1e-12 * gaussianDelta(shift / Math.sqrt(floor), epsilon);
}

/**
 * Phi(mu/2 - epsilon/mu) - e^epsilon Phi(-mu/2 - epsilon/mu): the delta of Gaussian noise, mu = shift / deviation.
 * @param {number} mu
 * @param {number} epsilon
 */
export function gaussianDelta(mu, epsilon) {
  const x = (epsilon / mu - mu / 2) / Math.SQRT2;
  const y = (epsilon / mu + mu / 2) / Math.SQRT2;
  const peak = Math.exp(-x * x); // also e^epsilon exp(-y^2)
  return x >= 0 ? 0.5 * peak * (erfcx(x) - erfcx(y)) : 1 - 0.5 * peak * (erfcx(-x) + erfcx(y));
}

/** exp(x^2) erfc(x) for x >= 0, to about 12 digits. @param {number} x */
export function erfcx(x) {
  if (x < 2) {
    let [total, term] = [x, x];
    for (let n = 1; Math.abs(term) > 1e-18 * total; n += 1) {
      term *= (2 * x * x) / (2 * n + 1);
      total += term;
    }
    return Math.exp(x * x) - (2 / Math.sqrt(Math.PI)) * total;
  }
  let tail = 0;
  for (let n = Math.ceil(400 / (x * x)) + 40; n >= 1; n -= 1) tail = n / 2 / (x + tail);
  return 1 / ((x + tail) * Math.sqrt(Math.PI));
}
