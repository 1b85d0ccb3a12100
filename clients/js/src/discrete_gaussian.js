/**
 * Exact discrete Gaussian noise, by rejection from discrete Laplace noise.
 *
 * Reference: Canonne, Kamath and Steinke, The Discrete Gaussian for Differential Privacy, 2020,
 * arXiv:2004.00010, algorithm 3. Notation: t = floor(sigma) + 1; y is a discrete Laplace draw of scale t,
 * accepted with probability exp(-(|y| - sigma^2/t)^2 / (2 sigma^2)). In whole numbers the exponent is a^2 / (p r)
 * with a = | |y| den t - num |, p = 2 num, r = den t^2.
 *
 * A proposal of 2^13 scales or more is always rejected, as on the Python side: its acceptance probability
 * would be below exp(-3e7).
 */

import { discreteLaplace } from './discrete_laplace.js';
import { below, belowBig, bernoulliExp } from './random.js';

/** @typedef {import('./random.js').Words} Words */

const FARTHEST = 2 ** 13;

/**
 * A whole number y with probability proportional to exp(-y^2 / (2 num/den)).
 * @param {Words} words
 * @param {bigint} num of the variance num/den; below 2^40, as is `den`
 * @param {bigint} den
 * @returns {number}
 */
export function discreteGaussian(words, num, den) {
  const t = Math.floor(Math.sqrt(Number(num / den))) + 1; // the root of a whole number below 2^52 is exact
  const scale = BigInt(t);
  const p = 2n * num;
  const r = den * scale * scale;
  for (;;) {
    const y = discreteLaplace(words, t, 1);
    if (Math.abs(y) >= FARTHEST * t) continue;
    const along = BigInt(Math.abs(y)) * den * scale - num;
    if (bernoulliExpSquare(words, along < 0n ? -along : along, p, r)) return y;
  }
}

/**
 * Exact: true with probability exp(-a^2/(p r)).
 *
 * With a = q r + s = u p + v the exponent is (q + s/r)(u + v/p) = q u + q v/p + u s/r + (s/r)(v/p).
 * @param {Words} words
 * @param {bigint} a
 * @param {bigint} p
 * @param {bigint} r
 */
function bernoulliExpSquare(words, a, p, r) {
  const q = a / r;
  const s = a % r;
  const u = a / p;
  const v = a % p;
  return (
    (q === 0n || (bernoulliExp(words, q * u, 1n) && bernoulliExp(words, q * v, p))) &&
    (u === 0n || bernoulliExp(words, u * s, r)) &&
    bernoulliExpProduct(words, s, r, v, p)
  );
}

/**
 * Exact: true with probability exp(-(a/b)(c/d)), for a <= b and c <= d.
 * @param {Words} words
 * @param {bigint} a
 * @param {bigint} b
 * @param {bigint} c
 * @param {bigint} d
 */
function bernoulliExpProduct(words, a, b, c, d) {
  let k = 1;
  while (belowBig(words, b) < a && belowBig(words, d) < c && (k === 1 || below(words, k) === 0)) k += 1;
  return k % 2 === 1;
}
