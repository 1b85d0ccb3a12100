/**
 * Randomness for noise: words of 32 bits from the operating system, and exact draws from them.
 *
 * The draws are on whole numbers and follow their law exactly; nothing here is a floating-point approximation.
 * They take the words in the same order as the Python side, so that equal words give equal draws: tests
 * put a stream with a known key in place of the system. Nothing else should, as whoever knows the words can
 * remove the noise.
 *
 * Reference: Canonne, Kamath and Steinke, The Discrete Gaussian for Differential Privacy, 2020,
 * arXiv:2004.00010, section 5.
 */

import { Refusal } from './errors.js';

/**
 * A source of independent, uniform words: whole numbers in 0 ... 2^32 - 1.
 * @typedef {{ next32: () => number }} Words
 */

const BLOCK = 1024;
const WORD = 0x100000000;
const SAFE = 2n ** 53n;

/** Words from `crypto.getRandomValues`, fetched in blocks; a word that was used is erased. */
export class SystemWords {
  #block = new Uint32Array(BLOCK);
  #used = BLOCK;

  /** @returns {number} 32 random bits */
  next32() {
    if (this.#used === BLOCK) {
      const source = globalThis.crypto;
      if (!source?.getRandomValues) throw new Refusal('entropy', 'this device has no source of random numbers');
      source.getRandomValues(this.#block);
      this.#used = 0;
    }
    const word = this.#block[this.#used];
    this.#block[this.#used] = 0;
    this.#used += 1;
    return word;
  }
}

/** The randomness of this device. @type {Words} */
export const systemWords = new SystemWords();

/**
 * Exact: a whole number that is uniform in 0 ... limit - 1, by rejection under a bit mask.
 * @param {Words} words
 * @param {number} limit from 1 to 2^53
 * @returns {number}
 */
export function below(words, limit) {
  if (limit <= WORD) {
    const mask = maskOf(limit - 1);
    for (;;) {
      const drawn = (words.next32() & mask) >>> 0;
      if (drawn < limit) return drawn;
    }
  }
  const mask = maskOf(Math.floor((limit - 1) / WORD));
  for (;;) {
    const high = (words.next32() & mask) >>> 0;
    const drawn = high * WORD + words.next32();
    if (drawn < limit) return drawn;
  }
}

/**
 * The same for limits up to 2^64.
 * @param {Words} words
 * @param {bigint} limit
 * @returns {bigint}
 */
export function belowBig(words, limit) {
  if (limit <= SAFE) return BigInt(below(words, Number(limit)));
  const mask = maskOf(Number((limit - 1n) >> 32n));
  for (;;) {
    const high = (words.next32() & mask) >>> 0;
    const drawn = (BigInt(high) << 32n) | BigInt(words.next32());
    if (drawn < limit) return drawn;
  }
}

/**
 * All bits up to the highest one of a number of 32 bits.
 * @param {number} number
 */
function maskOf(number) {
  const leading = Math.clz32(number);
  return leading === 32 ? 0 : 0xffffffff >>> leading;
}

/**
 * Exact: a fair coin.
 * @param {Words} words
 */
export function coin(words) {
  return (words.next32() & 1) === 1;
}

/**
 * Exact: true with probability exp(-num/den), for num <= den.
 * @param {Words} words
 * @param {number} num
 * @param {number} den
 */
export function bernoulliExpFraction(words, num, den) {
  let k = 1;
  // A coin of num / (den k) is a coin of num / den and one of 1 / k.
  while (below(words, den) < num && below(words, k) === 0) k += 1;
  return k % 2 === 1;
}

/**
 * Exact: true with probability exp(-1).
 * @param {Words} words
 */
export function bernoulliExpOne(words) {
  return bernoulliExpFraction(words, 1, 1);
}

/**
 * Exact: true with probability exp(-num/den).
 * @param {Words} words
 * @param {bigint} num
 * @param {bigint} den
 */
export function bernoulliExp(words, num, den) {
  let left = num;
  while (left > den) {
    if (!bernoulliExpOne(words)) return false;
    left -= den;
  }
  let k = 1;
  while (belowBig(words, den) < left && below(words, k) === 0) k += 1;
  return k % 2 === 1;
}

/**
 * Text that nobody can guess, for tokens and keys: so many random bytes in base64 for addresses.
 * @param {number} bytes a multiple of 3
 * @param {Words} [words]
 * @returns {string}
 */
export function secretText(bytes, words = systemWords) {
  const alphabet = 'ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_';
  let text = '';
  for (let at = 0; at < (bytes / 3) * 4; at += 1) text += alphabet[below(words, 64)];
  return text;
}
