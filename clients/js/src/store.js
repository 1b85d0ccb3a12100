/**
 * What a device remembers. It holds drawn reports, their keys and the participant's token, the text of what a
 * campaign asks; never an answer.
 */

/**
 * What was drawn, and what became of it: null as long as nobody answered.
 * @typedef {{ participant: string, key: string, wave: number, place: number | null, round: number | null,
 *   report: string, outcome: string | null }} Kept
 */

/**
 * That somebody withdraws: "withdrawing" until the server answers, then "accepted", or why it did not.
 * @typedef {{ outcome: string }} Mark
 */

/**
 * Entries that are written once. `putIfAbsent` calls `make` only if there is no entry, and while nobody else can
 * write one, not even another tab; it is done when the entry is on the disk. If `make` throws, there is no entry.
 * `note` changes the outcome of a report or a mark, unless that is "accepted"; nothing else of an entry ever changes.
 * @typedef {{
 *   get: (key: string) => Promise<any>,
 *   putIfAbsent: (key: string, make: () => any) => Promise<any>,
 *   note: (key: string, outcome: string) => Promise<void>,
 *   list: (prefix: string) => Promise<[string, any][]>,
 * }} Store
 */

export const ACCEPTED = 'accepted';

/**
 * An entry with another outcome; one that was accepted stays accepted.
 * @template {Kept | Mark} Entry
 * @param {Entry} kept
 * @param {string} outcome
 * @returns {Entry}
 */
export const noted = (kept, outcome) => (kept.outcome === ACCEPTED ? kept : { ...kept, outcome });

/** A memory that ends with the program: for tests, and for devices that send at once. @implements {Store} */
export class VolatileStore {
  /** @type {Map<string, string>} */
  #entries = new Map();

  /** @param {string} key */
  async get(key) {
    const text = this.#entries.get(key);
    return text === undefined ? undefined : JSON.parse(text);
  }

  /** @param {string} key @param {() => any} make */
  async putIfAbsent(key, make) {
    if (!this.#entries.has(key)) this.#entries.set(key, JSON.stringify(make()));
    return this.get(key);
  }

  /** @param {string} key @param {string} outcome */
  async note(key, outcome) {
    const kept = await this.get(key);
    if (kept !== undefined) this.#entries.set(key, JSON.stringify(noted(kept, outcome)));
  }

  /** @param {string} prefix @returns {Promise<[string, any][]>} */
  async list(prefix) {
    return [...this.#entries].filter(([key]) => key.startsWith(prefix)).map(([key, text]) => [key, JSON.parse(text)]);
  }
}
