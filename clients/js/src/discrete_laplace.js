/**
 * Exact discrete Laplace noise: a whole number y with probability proportional to exp(-|y| den/num).
 *
 * It protects a whole number that can move by G steps with epsilon = G den/num, whatever else is known.
 */

import { below, bernoulliExpFraction, bernoulliExpOne, coin } from './random.js';

/** @typedef {import('./random.js').Words} Words */

/**
 * @param {Words} words
 * @param {number} num of the scale num/den; a whole number below 2^40, as is `den`
 * @param {number} den
 * @returns {number}
 */
export function discreteLaplace(words, num, den) {
  for (;;) {
    const fraction = below(words, num);
    if (!bernoulliExpFraction(words, fraction, num)) continue;
    let quotient = 0;
    while (bernoulliExpOne(words)) quotient += 1;
    const size = quotientOf(fraction, num, quotient, den);
    if (!coin(words)) return size;
    if (size !== 0) return -size; // zero must not be counted twice
  }
}

/**
 * floor((fraction + num quotient) / den), exactly.
 * @param {number} fraction
 * @param {number} num
 * @param {number} quotient
 * @param {number} den
 */
function quotientOf(fraction, num, quotient, den) {
  const total = fraction + num * quotient;
  if (den === 1 && total <= Number.MAX_SAFE_INTEGER) return total;
  if (total <= Number.MAX_SAFE_INTEGER) return (total - (total % den)) / den; // % is exact
  return Number((BigInt(fraction) + BigInt(num) * BigInt(quotient)) / BigInt(den));
}
