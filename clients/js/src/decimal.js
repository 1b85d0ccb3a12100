/**
 * Decimal numbers of 60 digits, rounded as Python's `decimal` rounds them, with e^x and ln x.
 *
 * The integer weights of a mechanism follow from e^epsilon. Both sides compute it in the same 60 digits, so that
 * they get the same integers; no floating-point exponential is involved.
 */

import { exactly } from './exact.js';

/**
 * digits 10^exponent, not negative.
 * @typedef {{ digits: bigint, exponent: number }} Decimal
 * @typedef {import('./exact.js').Fraction} Fraction
 * @typedef {'floor' | 'ceiling' | 'half-even'} Rounding
 */

const DIGITS = 60;
const GUARD = 30; // digits that are computed beyond, of e^x and ln x
const PRECISION = 640n; // bits after the point: 2^-640 is 1e-192, and results are at least 1e-19 or 0
const ONE = 1n << PRECISION;

/** @param {bigint} digits @returns {Decimal} */
export const whole = (digits) => ({ digits, exponent: 0 });

/** The exact value of a double. @param {number} number @returns {Decimal} */
export function ofDouble(number) {
  const { num, den } = exactly(number);
  const places = den.toString(2).length - 1; // den is a power of 2
  return { digits: num * 5n ** BigInt(places), exponent: -places };
}

/** @param {Decimal} decimal @returns {Fraction} */
export function asFraction({ digits, exponent }) {
  return exponent >= 0
    ? { num: digits * 10n ** BigInt(exponent), den: 1n }
    : { num: digits, den: 10n ** BigInt(-exponent) };
}

/** The whole part. @param {Decimal} decimal */
export function truncated(decimal) {
  const { num, den } = asFraction(decimal);
  return num / den;
}

/**
 * 60 digits of a number.
 * @param {Decimal} decimal
 * @param {Rounding} rounding
 * @returns {Decimal}
 */
function rounded({ digits, exponent }, rounding) {
  const surplus = digits.toString().length - DIGITS;
  if (surplus <= 0) return { digits, exponent };
  const unit = 10n ** BigInt(surplus);
  let kept = digits / unit;
  const twice = 2n * (digits % unit);
  const halfEven = twice > unit || (twice === unit && kept % 2n === 1n);
  if ((rounding === 'ceiling' && twice > 0n) || (rounding === 'half-even' && halfEven)) kept += 1n;
  return { digits: kept, exponent: exponent + surplus };
}

/** @param {Decimal} a @param {Decimal} b @param {Rounding} rounding */
export function product(a, b, rounding) {
  return rounded({ digits: a.digits * b.digits, exponent: a.exponent + b.exponent }, rounding);
}

/** @param {Decimal} a @param {Decimal} b @param {Rounding} rounding */
export function sum(a, b, rounding) {
  const exponent = Math.min(a.exponent, b.exponent);
  const [first, second] = [a, b].map((each) => each.digits * 10n ** BigInt(each.exponent - exponent));
  return rounded({ digits: first + second, exponent }, rounding);
}

/** @param {Decimal} a @param {Decimal} b @param {Rounding} rounding */
export function quotient(a, b, rounding) {
  const more = Math.max(0, DIGITS + 2 + b.digits.toString().length - a.digits.toString().length);
  const scaled = a.digits * 10n ** BigInt(more);
  const rest = scaled % b.digits ? 1n : 0n; // a last digit that stands for all further ones
  const digits = (scaled / b.digits) * 10n + rest;
  return rounded({ digits, exponent: a.exponent - b.exponent - more - 1 }, rounding);
}

/** Whether a < b. @param {Decimal} a @param {Decimal} b */
export function isBelow(a, b) {
  const [x, y] = [asFraction(a), asFraction(b)];
  return x.num * y.den < y.num * x.den;
}

/** e^x to 60 digits, for 0 <= x <= 42. @param {Decimal} x @returns {Decimal} */
export function exp(x) {
  return ofFixedPoint(expFixed(asFraction(x)));
}

/** ln x to 60 digits, for 1 <= x. @param {Decimal} x @returns {Decimal} */
export function ln(x) {
  const { num, den } = asFraction(x);
  let power = num.toString(2).length - den.toString(2).length;
  if (num < den << BigInt(power)) power -= 1;
  // x = 2^power f with 1 <= f < 2
  const mantissa = atanhDoubled(num - (den << BigInt(power)), num + (den << BigInt(power)));
  return ofFixedPoint(BigInt(power) * LN2() + mantissa);
}

/**
 * e^x in units of 2^-640, by its series; off by less than 2^80 of them.
 * @param {Fraction} x
 */
function expFixed(x) {
  const along = (x.num << PRECISION) / x.den;
  let [total, term] = [ONE, ONE];
  for (let n = 1n; term > 0n; n += 1n) {
    term = ((term * along) >> PRECISION) / n;
    total += term;
  }
  return total;
}

/**
 * 2 atanh(num/den), the logarithm of (den + num)/(den - num), in units of 2^-640; for num/den <= 1/3.
 * @param {bigint} num
 * @param {bigint} den
 */
function atanhDoubled(num, den) {
  const ratio = (num << PRECISION) / den;
  const square = (ratio * ratio) >> PRECISION;
  let [total, power] = [0n, ratio];
  for (let n = 1n; power > 0n; n += 2n) {
    total += power / n;
    power = (power * square) >> PRECISION;
  }
  return 2n * total;
}

/** @type {bigint | undefined} */
let ln2;
const LN2 = () => (ln2 ??= atanhDoubled(1n, 3n));

/**
 * The nearest 60 digits of a number in units of 2^-640, of which many more are known.
 * @param {bigint} fixed
 * @returns {Decimal}
 */
function ofFixedPoint(fixed) {
  if (fixed === 0n) return whole(0n);
  const leading = Math.floor((fixed.toString(2).length - Number(PRECISION)) * Math.log10(2));
  const places = DIGITS + GUARD - leading;
  const digits = (fixed * 10n ** BigInt(places)) >> PRECISION;
  return rounded({ digits, exponent: -places }, 'half-even');
}
