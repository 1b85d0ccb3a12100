/** The memory of a browser: IndexedDB, which all tabs of a site share. */

import { Refusal } from './errors.js';
import { noted } from './store.js';

/**
 * @typedef {import('./store.js').Store} Store
 * @typedef {(request: IDBRequest, handler: (result: any) => void) => void} After called when a request is done
 */

const ENTRIES = 'entries';

/** Entries of one site. A read and the write that follows from it are one transaction. @implements {Store} */
export class IndexedStore {
  /** @type {Promise<IDBDatabase> | undefined} */
  #opened;

  /** @param {{ name?: string, factory?: IDBFactory }} [options] */
  constructor({ name = 'crowdveil', factory = globalThis.indexedDB } = {}) {
    this.name = name;
    this.factory = factory;
  }

  /** @param {string} key */
  async get(key) {
    return this.#transaction('readonly', (entries, after, done) => after(entries.get(key), done));
  }

  /** @param {string} key @param {() => any} make */
  async putIfAbsent(key, make) {
    return this.#transaction('readwrite', (entries, after, done) => {
      after(entries.get(key), (there) => {
        if (there !== undefined) return done(there);
        const made = make();
        after(entries.add(made, key), () => done(made));
      });
    });
  }

  /** @param {string} key @param {string} outcome */
  async note(key, outcome) {
    await this.#transaction('readwrite', (entries, after) => {
      after(entries.get(key), (kept) => {
        if (kept !== undefined) entries.put(noted(kept, outcome), key);
      });
    });
  }

  /** @param {string} prefix @returns {Promise<[string, any][]>} */
  async list(prefix) {
    return this.#transaction('readonly', (entries, after, done) => {
      after(entries.getAllKeys(), (keys) => {
        after(entries.getAll(), (values) => {
          const all = /** @type {string[]} */ (keys).map((key, at) => [key, values[at]]);
          done(all.filter(([key]) => key.startsWith(prefix)));
        });
      });
    });
  }

  /**
   * One transaction; its result once it is on the disk. Whatever throws inside undoes it.
   * @param {IDBTransactionMode} mode
   * @param {(entries: IDBObjectStore, after: After, done: (result: any) => void) => void} work
   * @returns {Promise<any>}
   */
  async #transaction(mode, work) {
    const database = await this.#database();
    return new Promise((resolve, reject) => {
      const transaction = database.transaction(ENTRIES, mode, { durability: 'strict' });
      /** @type {any} */
      let result;
      /** @type {unknown} */
      let thrown;
      transaction.oncomplete = () => resolve(result);
      transaction.onabort = () => reject(thrown ?? unusable());
      /** @type {After} */
      const after = (request, handler) => {
        request.onsuccess = () => {
          try {
            handler(request.result);
          } catch (error) {
            thrown = error;
            transaction.abort();
          }
        };
      };
      work(transaction.objectStore(ENTRIES), after, (value) => {
        result = value;
      });
    });
  }

  /** The connection, opened again if the browser closed it. @returns {Promise<IDBDatabase>} */
  async #database() {
    try {
      return await (this.#opened ??= this.#open());
    } catch (error) {
      this.#opened = undefined;
      throw error;
    }
  }

  /** @returns {Promise<IDBDatabase>} */
  #open() {
    return new Promise((resolve, reject) => {
      if (!this.factory) return reject(unusable());
      const request = this.factory.open(this.name, 1);
      request.onupgradeneeded = () => request.result.createObjectStore(ENTRIES);
      request.onsuccess = () => {
        request.result.onclose = () => {
          this.#opened = undefined;
        };
        resolve(request.result);
      };
      request.onerror = () => reject(unusable());
      request.onblocked = () => reject(unusable());
    });
  }
}

const unusable = () => new Refusal('store', 'this browser keeps nothing: without a memory nothing is drawn');
