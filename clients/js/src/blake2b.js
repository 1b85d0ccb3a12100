/** BLAKE2b (RFC 7693) with a key and a personalization: for public seeds, never for secrets. */

const IV = [
  0x6a09e667f3bcc908n, 0xbb67ae8584caa73bn, 0x3c6ef372fe94f82bn, 0xa54ff53a5f1d36f1n,
  0x510e527fade682d1n, 0x9b05688c2b3e6c1fn, 0x1f83d9abfb41bd6bn, 0x5be0cd19137e2179n,
];
/** The order of message words in each round, a hexadecimal digit for each. */
const SIGMA = [
  '0123456789abcdef', 'ea489fd61c02b753', 'b8c052fdae367194', '7931dcbe265a40f8',
  '905724afe1bc683d', '2c6a0b834d75fe19', 'c51fed4a0763928b', 'db7ec13950f4862a',
  '6fe9b308c2d714a5', 'a2847615fb9e3cd0'
].map((row) => [...row].map((digit) => parseInt(digit, 16)));
const BLOCK = 128;
const MASK = (1n << 64n) - 1n;

/**
 * The digest of a message.
 * @param {Uint8Array} message
 * @param {{ size: number, key?: Uint8Array, person?: Uint8Array }} options size in bytes, at most 64; key at most
 *   64 bytes; person at most 16
 * @returns {Uint8Array}
 */
export function blake2b(message, { size, key = new Uint8Array(0), person = new Uint8Array(0) }) {
  const parameters = new Uint8Array(64);
  parameters.set([size, key.length, 1, 1]);
  parameters.set(person, 48);
  const h = wordsOf(parameters).map((word, at) => word ^ IV[at]);
  const padded = key.length ? BLOCK : 0;
  const data = new Uint8Array(padded + message.length);
  data.set(key);
  data.set(message, padded);
  const blocks = Math.max(1, Math.ceil(data.length / BLOCK));
  for (let block = 0; block < blocks; block += 1) {
    const piece = new Uint8Array(BLOCK);
    piece.set(data.subarray(block * BLOCK, (block + 1) * BLOCK));
    const last = block === blocks - 1;
    compress(h, wordsOf(piece), last ? data.length : (block + 1) * BLOCK, last);
  }
  const out = new DataView(new ArrayBuffer(64));
  h.forEach((word, at) => out.setBigUint64(8 * at, word, true));
  return new Uint8Array(out.buffer.slice(0, size));
}

/** Little-endian words of 64 bits. @param {Uint8Array} bytes */
function wordsOf(bytes) {
  const view = new DataView(bytes.buffer, bytes.byteOffset, bytes.byteLength);
  return Array.from({ length: bytes.length / 8 }, (_, at) => view.getBigUint64(8 * at, true));
}

/**
 * @param {bigint[]} h
 * @param {bigint[]} m
 * @param {number} counted bytes so far
 * @param {boolean} last
 */
function compress(h, m, counted, last) {
  const v = [...h, ...IV];
  v[12] ^= BigInt(counted);
  if (last) v[14] ^= MASK;
  for (let round = 0; round < 12; round += 1) {
    const s = SIGMA[round % 10];
    for (let k = 0; k < 4; k += 1) mixWords(v, k, 4 + k, 8 + k, 12 + k, m[s[2 * k]], m[s[2 * k + 1]]);
    for (let k = 0; k < 4; k += 1) {
      const [b, c, d] = [4 + ((k + 1) % 4), 8 + ((k + 2) % 4), 12 + ((k + 3) % 4)];
      mixWords(v, k, b, c, d, m[s[8 + 2 * k]], m[s[9 + 2 * k]]);
    }
  }
  for (let at = 0; at < 8; at += 1) h[at] ^= v[at] ^ v[at + 8];
}

/**
 * @param {bigint[]} v
 * @param {number} a
 * @param {number} b
 * @param {number} c
 * @param {number} d
 * @param {bigint} x
 * @param {bigint} y
 */
function mixWords(v, a, b, c, d, x, y) {
  v[a] = (v[a] + v[b] + x) & MASK;
  v[d] = rotated(v[d] ^ v[a], 32n);
  v[c] = (v[c] + v[d]) & MASK;
  v[b] = rotated(v[b] ^ v[c], 24n);
  v[a] = (v[a] + v[b] + y) & MASK;
  v[d] = rotated(v[d] ^ v[a], 16n);
  v[c] = (v[c] + v[d]) & MASK;
  v[b] = rotated(v[b] ^ v[c], 63n);
}

/** @param {bigint} x @param {bigint} by */
const rotated = (x, by) => ((x >> by) | (x << (64n - by))) & MASK;
