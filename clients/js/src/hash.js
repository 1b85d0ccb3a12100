/**
 * The hash of OLH and of Bloom filters: 32-bit whole numbers only, the same on every machine.
 *
 * `mix` is a bijection (triple32 of Wellons, hash-prospector).
 */

/** @param {number} x @returns {number} 32 bits */
export function mix(x) {
  let h = x ^ (x >>> 17);
  h = Math.imul(h, 0xed5ad4bb);
  h ^= h >>> 11;
  h = Math.imul(h, 0xac4c1b51);
  h ^= h >>> 15;
  h = Math.imul(h, 0x31848bab);
  h ^= h >>> 14;
  return h >>> 0;
}

/** The part of a code's hash that does not depend on the seed. @param {number} code */
export const keyOf = (code) => mix((code + 0x9e3779b9) >>> 0);

/**
 * The value in 0 ... values - 1 that a seed gives to the code with this key.
 * @param {number} seed
 * @param {number} key
 * @param {number} values at most 2^16, so that the product stays below 2^53
 */
export function valueOf(seed, key, values) {
  return Math.floor((mix((seed ^ key) >>> 0) * values) / 0x100000000);
}
