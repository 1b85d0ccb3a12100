/**
 * Which objects a device is asked about: decks of all objects, shuffled by a public seed, dealt by places.
 *
 * Lists are public and do not look at any answer. A device computes its own from its place.
 */

import { blake2b } from './blake2b.js';
import { ChaCha20 } from './chacha20.js';
import { below } from './random.js';

const text = new TextEncoder();

/** The last deck that was shuffled, as it is public. @type {{ name: string, cards: number[] }} */
let last = { name: '', cards: [] };

/**
 * The objects, by their place in the list of names, of each slot of a device.
 * @param {number} rank the device's place among devices that name objects
 * @param {number} objects
 * @param {{ slots: number, listed: number, seed: number }} parameters
 * @returns {number[][]}
 */
export function slotLists(rank, objects, { slots, listed, seed }) {
  const hand = slots * listed;
  const hands = Math.floor(objects / hand); // of a deck
  const deck = Math.floor(rank / hands);
  const cards = dealt(deck, hands * hand, objects, seed).slice((rank % hands) * hand);
  return Array.from({ length: slots }, (_, slot) => cards.slice(slot * listed, (slot + 1) * listed));
}

/**
 * The first cards of a deck (Fisher and Yates).
 * @param {number} deck
 * @param {number} count
 * @param {number} objects
 * @param {number} seed
 */
function dealt(deck, count, objects, seed) {
  const name = [deck, count, objects, seed].join(' ');
  if (last.name !== name) last = { name, cards: shuffled(deck, count, objects, seed) };
  return last.cards;
}

/**
 * @param {number} deck
 * @param {number} count
 * @param {number} objects
 * @param {number} seed
 */
function shuffled(deck, count, objects, seed) {
  const key = blake2b(text.encode(`crowdveil seed ${seed}`), { size: 32 });
  const nonce = blake2b(text.encode(`i${deck}`), { size: 12, key, person: text.encode('slot lists') });
  const words = new ChaCha20(littleEndian(key), littleEndian(nonce));
  const cards = Array.from({ length: objects }, (_, object) => object);
  for (let at = 0; at < count; at += 1) {
    const other = at + below(words, objects - at);
    [cards[at], cards[other]] = [cards[other], cards[at]];
  }
  return cards.slice(0, count);
}

/** @param {Uint8Array} bytes */
function littleEndian(bytes) {
  const view = new DataView(bytes.buffer, bytes.byteOffset, bytes.byteLength);
  return Array.from({ length: bytes.length / 4 }, (_, at) => view.getUint32(4 * at, true));
}
