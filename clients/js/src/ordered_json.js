/**
 * JSON whose objects keep the order of their keys, and in which no key stands twice.
 *
 * A question names columns by their place in the schema. JavaScript puts keys like "2024" before all others, so
 * that an object alone does not tell the order any more.
 */

import { Refusal } from './errors.js';

/** @type {WeakMap<object, string[]>} */
const orders = new WeakMap();
const PIECE = /\s*(?:([{}[\],:])|("(?:[^"\\\u0000-\u001f]|\\.)*")|(-?\d+(?:\.\d+)?(?:[eE][+-]?\d+)?)|(true|false|null))\s*/y;
const DEEPEST = 100;

/**
 * The keys of an object in their order; undefined if the order is not known.
 * @param {object} object
 * @returns {string[] | undefined}
 */
export function keysInOrder(object) {
  const keys = Object.keys(object);
  return orders.get(object) ?? (keys.some((key) => /^\d+$/.test(key)) && keys.length > 1 ? undefined : keys);
}

/**
 * The value of a JSON text; refuses anything else.
 * @param {string} text
 * @returns {unknown}
 */
export function parse(text) {
  const reader = new Reader(text);
  const value = reader.value(0);
  if (!reader.done) throw notJson();
  return value;
}

const notJson = () => new Refusal('document', 'this is not JSON, or not in a form that all readers agree about');

class Reader {
  #at = 0;

  /** @param {string} text */
  constructor(text) {
    this.text = text;
  }

  get done() {
    return this.#at === this.text.length;
  }

  /** The next piece of the text: a sign, or a text, number or constant as it is written. */
  #piece() {
    PIECE.lastIndex = this.#at;
    const found = PIECE.exec(this.text);
    if (found === null) throw notJson();
    this.#at = PIECE.lastIndex;
    return found[0].trim();
  }

  /**
   * @param {number} depth
   * @returns {unknown}
   */
  value(depth) {
    const piece = this.#piece();
    if (depth > DEEPEST) throw notJson();
    if (piece === '{') return this.#object(depth + 1);
    if (piece === '[') return this.#list(depth + 1);
    return plain(piece);
  }

  /** @param {number} depth */
  #list(depth) {
    /** @type {unknown[]} */
    const list = [];
    if (this.#skip(']')) return list;
    for (;;) {
      list.push(this.value(depth));
      const sign = this.#piece();
      if (sign === ']') return list;
      if (sign !== ',') throw notJson();
    }
  }

  /** @param {number} depth */
  #object(depth) {
    /** @type {Record<string, unknown>} */
    const object = Object.create(null);
    /** @type {string[]} */
    const keys = [];
    orders.set(object, keys);
    if (this.#skip('}')) return object;
    for (;;) {
      const key = plain(this.#piece());
      if (typeof key !== 'string' || Object.hasOwn(object, key) || this.#piece() !== ':') throw notJson();
      keys.push(key);
      object[key] = this.value(depth);
      const sign = this.#piece();
      if (sign === '}') return object;
      if (sign !== ',') throw notJson();
    }
  }

  /** Whether the next sign is this one, which is then read. @param {string} sign */
  #skip(sign) {
    const before = this.#at;
    if (this.#piece() === sign) return true;
    this.#at = before;
    return false;
  }
}

/** A text, number or constant. @param {string} piece @returns {unknown} */
function plain(piece) {
  try {
    const value = JSON.parse(piece);
    if (typeof value === 'number' && !Number.isFinite(value)) throw notJson();
    return value;
  } catch {
    throw notJson();
  }
}
