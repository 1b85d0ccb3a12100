/**
 * Exact numbers: fractions of BigInts, and the doubles around them. What is promised is computed here, and is
 * rounded up if at all: a stated guarantee may be weaker than the true one, never stronger.
 */

import { Refusal } from './errors.js';

/**
 * A fraction in lowest terms; `den` is above 0.
 * @typedef {{ num: bigint, den: bigint }} Fraction
 */

const bits = new DataView(new ArrayBuffer(8));

/**
 * num/den in lowest terms.
 * @param {bigint} num
 * @param {bigint} [den]
 * @returns {Fraction}
 */
export function fraction(num, den = 1n) {
  let a = num < 0n ? -num : num;
  let b = den;
  while (b) [a, b] = [b, a % b];
  return a ? { num: num / a, den: den / a } : { num: 0n, den: 1n };
}

/** @param {Fraction} a @param {Fraction} b */
export const times = (a, b) => fraction(a.num * b.num, a.den * b.den);

/** @param {Fraction} a @param {Fraction} b */
export const over = (a, b) => fraction(a.num * b.den, a.den * b.num);

/** @param {Fraction} a @param {Fraction} b */
export const plus = (a, b) => fraction(a.num * b.den + b.num * a.den, a.den * b.den);

/** Whether a <= b. @param {Fraction} a @param {Fraction} b */
export const atMost = (a, b) => a.num * b.den <= b.num * a.den;

/** The least whole number that is not below. @param {Fraction} a */
export const ceil = (a) => (a.num > 0n ? (a.num + a.den - 1n) / a.den : a.num / a.den);

/**
 * The exact value of a double.
 * @param {number} number finite
 * @returns {Fraction}
 */
export function exactly(number) {
  bits.setFloat64(0, number);
  const raw = bits.getBigUint64(0);
  const biased = Number((raw >> 52n) & 0x7ffn);
  const tail = raw & 0xfffffffffffffn;
  const digits = biased === 0 ? tail : tail | 0x10000000000000n;
  const power = Math.max(biased, 1) - 1075;
  const signed = raw >> 63n ? -digits : digits;
  return power >= 0 ? fraction(signed << BigInt(power)) : fraction(signed, 1n << BigInt(-power));
}

/**
 * The fraction of a double's shortest decimal digits: 0.7 is seven tenths.
 * @param {number} number finite, not negative
 * @returns {Fraction}
 */
export function decimalDigits(number) {
  const [, whole, part = '', power = '0'] = /^(\d+)(?:\.(\d+))?(?:e([+-]?\d+))?$/.exec(String(number)) ?? [];
  const exponent = Number(power) - part.length;
  const digits = BigInt(whole + part);
  return exponent >= 0 ? fraction(digits * 10n ** BigInt(exponent)) : fraction(digits, 10n ** BigInt(-exponent));
}

/**
 * The nearest double, ties to even; not for numbers below 2^-1000.
 * @param {Fraction} exact not negative
 * @returns {number}
 */
export function nearest(exact) {
  if (exact.num === 0n) return 0;
  const shift = 64 - (exact.num.toString(2).length - exact.den.toString(2).length);
  const num = shift >= 0 ? exact.num << BigInt(shift) : exact.num;
  const den = shift >= 0 ? exact.den : exact.den << BigInt(-shift);
  const quotient = ((num / den) << 1n) | (num % den ? 1n : 0n); // 65 bits or more, then one that stands for the rest
  return Number(quotient) * 2 ** (-shift - 1); // Number() rounds to the nearest, ties to even
}

/**
 * The least double that is not below.
 * @param {Fraction} exact not negative
 * @returns {number}
 */
export function up(exact) {
  const near = nearest(exact);
  const rounded = near === Infinity || atMost(exact, exactly(near)) ? near : nextUp(near);
  if (!Number.isFinite(rounded)) throw new Refusal('document', 'these costs come to more than a number can hold');
  return rounded;
}

/**
 * As `up`, but at most `asked` if `exact` does not exceed the decimal digits of `asked`.
 * @param {Fraction} exact
 * @param {number} asked
 */
export function upTo(exact, asked) {
  return atMost(exact, decimalDigits(asked)) ? Math.min(up(exact), asked) : up(exact);
}

/** The next double above. @param {number} number not negative */
export function nextUp(number) {
  bits.setFloat64(0, number);
  bits.setBigUint64(0, bits.getBigUint64(0) + 1n);
  return bits.getFloat64(0);
}

/** The next double below. @param {number} number above 0 */
export function nextDown(number) {
  bits.setFloat64(0, number);
  bits.setBigUint64(0, bits.getBigUint64(0) - 1n);
  return bits.getFloat64(0);
}

/**
 * A positive number as the fraction of its decimal digits, rounded down to denominators <= 10^6.
 * @param {unknown} number
 * @param {string} what
 * @returns {Fraction}
 */
export function rational(number, what) {
  const limit = 1000000n;
  if (typeof number !== 'number' || !(number > 0 && number <= Number.MAX_VALUE)) {
    throw new Refusal('document', `${what} must be a number above 0`);
  }
  const digits = decimalDigits(number);
  const rounded = digits.den > limit ? fraction((digits.num * limit) / digits.den, limit) : digits;
  if (rounded.num === 0n || rounded.num > limit * rounded.den) {
    throw new Refusal('document', `${what} must lie between 1e-06 and 1000000`);
  }
  return rounded;
}
