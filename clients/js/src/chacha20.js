/**
 * ChaCha20 (RFC 8439) as a stream of words, for choices that are PUBLIC: which objects a device is asked about.
 *
 * Noise never comes from here: its words are those of the operating system (random.js).
 */

/** A stream of words in the order of the RFC's blocks, from block 0 on. */
export class ChaCha20 {
  #input = new Uint32Array(16);
  #block = new Uint32Array(16);
  #used = 16;

  /**
   * @param {ArrayLike<number>} key 8 words
   * @param {ArrayLike<number>} nonce 3 words
   */
  constructor(key, nonce) {
    this.#input.set([0x61707865, 0x3320646e, 0x79622d32, 0x6b206574]);
    this.#input.set(key, 4);
    this.#input.set(nonce, 13);
  }

  /** @returns {number} the next 32 bits */
  next32() {
    if (this.#used === 16) this.#refill();
    this.#used += 1;
    return this.#block[this.#used - 1];
  }

  #refill() {
    const out = this.#block;
    out.set(this.#input);
    for (let round = 0; round < 10; round += 1) {
      for (let k = 0; k < 4; k += 1) quarter(out, k, 4 + k, 8 + k, 12 + k);
      for (let k = 0; k < 4; k += 1) quarter(out, k, 4 + ((k + 1) % 4), 8 + ((k + 2) % 4), 12 + ((k + 3) % 4));
    }
    for (let word = 0; word < 16; word += 1) out[word] += this.#input[word];
    this.#input[12] += 1;
    if (this.#input[12] === 0) this.#input[13] += 1;
    this.#used = 0;
  }
}

/**
 * @param {Uint32Array} x
 * @param {number} a
 * @param {number} b
 * @param {number} c
 * @param {number} d
 */
function quarter(x, a, b, c, d) {
  x[a] += x[b];
  x[d] = rotated(x[d] ^ x[a], 16);
  x[c] += x[d];
  x[b] = rotated(x[b] ^ x[c], 12);
  x[a] += x[b];
  x[d] = rotated(x[d] ^ x[a], 8);
  x[c] += x[d];
  x[b] = rotated(x[b] ^ x[c], 7);
}

/** @param {number} x @param {number} by */
const rotated = (x, by) => (x << by) | (x >>> (32 - by));
