/** What one device sends: a version, the mechanism's name, and whole numbers or packed bits. */

/** The version of this form. */
export const VERSION = 1;

/**
 * @typedef {{ v: number, mechanism: string, payload: unknown }} Report
 */

/**
 * A payload in its envelope.
 * @param {string} mechanism
 * @param {unknown} payload
 * @returns {Report}
 */
export const sealed = (mechanism, payload) => ({ v: VERSION, mechanism, payload });

/** Packed bits in base64. @param {Uint8Array} bytes */
export const textOfBits = (bytes) => btoa(String.fromCharCode(...bytes));

/** Packed bits from base64. @param {unknown} text */
export const bitsOf = (text) => Uint8Array.from(atob(String(text)), (letter) => letter.charCodeAt(0));
