/**
 * Why something was not done, in words that can be shown. No message holds a value, a token or a name.
 *
 * `code` is for programs: "document" (the campaign's document is false or cannot be read), "limit" (it costs
 * more than its participant accepts), "answer" (the answer does not fit the campaign), "question" (what this
 * place is asked does not fit the campaign), "closed", "paused", "unreachable", "token", "store", "entropy", or
 * the code of a problem that the server names.
 */
export class Refusal extends Error {
  /**
   * @param {string} code
   * @param {string} message
   */
  constructor(code, message) {
    super(message);
    this.name = 'Refusal';
    this.code = code;
  }
}

/**
 * Refuses a document that no campaign has.
 * @param {boolean} holds
 * @param {string} message
 * @returns {asserts holds}
 */
export function require(holds, message) {
  if (!holds) throw new Refusal('document', message);
}
