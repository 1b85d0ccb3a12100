/**
 * Taking part in one wave of a campaign: place, draw, remember, send, note, in this order.
 *
 * A report is drawn once, is in the store before it is sent, and is never drawn again: whoever draws again, or
 * refuses after looking at the noise, has no epsilon. Whatever breaks off, the next visit finds what was drawn and sends
 * it under the same key. The answer itself is neither stored nor sent.
 */

import { Refusal } from './errors.js';
import { exchange, problemOf } from './patience.js';
import { secretText } from './random.js';
import { Records } from './records.js';
import { isWhole } from './scale.js';
import { ACCEPTED } from './store.js';

/**
 * @typedef {import('./campaign.js').Campaign} Campaign
 * @typedef {import('./campaign.js').Published} Published
 * @typedef {import('./kinds.js').Asked} Asked
 * @typedef {import('./limits.js').Limits} Limits
 * @typedef {import('./patience.js').Connection} Connection
 * @typedef {import('./store.js').Kept} Kept
 * @typedef {import('./store.js').Store} Store
 */

const TOKEN = /^[\x21-\x7e]{1,200}$/;
const MOST_PLACES = 1e8;
const LARGEST_ROUND = 1e6;
const PAUSED = 'paused';
const WITHDRAWN = 'withdrawn';
const WITHDRAWING = 'withdrawing';
const BUSY = 5000; // milliseconds for a server that is busy, before a draw
const CLOSED = { draft: 'this campaign is not open yet', paused: 'this campaign is paused', closed: 'this campaign is closed' };

/** One participant in the wave of a campaign that is open. */
export class Participation {
  #campaign;
  #published;
  #store;
  #connection;
  #participant;
  /** @type {Asked | undefined} */
  #asked;

  /**
   * @param {Campaign} campaign
   * @param {Published} published
   * @param {string} participant
   * @param {Store} store
   * @param {Connection} connection
   */
  constructor(campaign, published, participant, store, connection) {
    this.#campaign = campaign;
    this.#published = published;
    this.#participant = participant;
    this.#store = store;
    this.#connection = connection;
  }

  /**
   * Begins to take part; nothing is sent yet. `Refusal` if the campaign costs more than `limits`, or if it is not
   * what it was when this device first met it.
   * @param {Campaign} campaign as `fetchCampaign` gives it
   * @param {{ store: Store, participant?: string, limits?: Limits, connection?: Connection }} options
   *   `participant` is an invitation; in an open campaign the device makes up a token, and keeps it
   * @returns {Promise<Participation>}
   */
  static async join(campaign, { store, participant, limits = {}, connection = {} }) {
    const { published } = campaign;
    if (published === undefined) throw new Refusal('document', 'this campaign was not fetched from a server');
    campaign.check(limits);
    const { asks } = await store.putIfAbsent(`campaign ${published.api}`, () => ({ asks: campaign.asks }));
    if (asks !== campaign.asks) {
      throw new Refusal('document', 'the campaign is not what it was when this device met it: nothing is sent');
    }
    const token = await tokenOf(campaign, published, store, participant);
    if (!TOKEN.test(token)) throw new Refusal('token', 'this is no invitation');
    return new Participation(campaign, published, token, store, connection);
  }

  /** What was drawn in this wave; undefined if nothing was. @returns {Promise<Kept | undefined>} */
  async drawn() {
    return this.#store.get(this.#key);
  }

  /**
   * Asks for the place in this wave where what is asked depends on it, and of whoever was invited; checks it.
   * `Refusal` if a report came from there, which this device has forgotten: another one would be fresh noise.
   *
   * Call it when a page loads: then `draw` needs no network.
   * @param {Connection} [connection]
   * @returns {Promise<Asked>}
   */
  async prepare(connection = this.#connection) {
    if (this.#asked !== undefined && connection === this.#connection) return this.#asked;
    const { asksByPlace, admission } = this.#campaign;
    if (!asksByPlace && admission !== 'invited') return (this.#asked = { place: 0, round: 0 });
    const { api, wave } = this.#published;
    const reply = await exchange(connection, 'POST', `${api}/places`, { participant: this.#participant, wave });
    if (reply.status !== 200) throw new Refusal(problemOf(reply), 'the server gives no place');
    const { place, round, wave: given, question, reported } = reply.said;
    if (!isWhole(place, 0, MOST_PLACES) || !isWhole(round, 0, LARGEST_ROUND) || given !== wave) {
      throw new Refusal('question', 'the server gave a place that cannot be');
    }
    if (reported === true && (await this.drawn()) === undefined) {
      throw new Refusal('reported', 'this invitation was used already: nothing is drawn again');
    }
    if (this.#campaign.kind instanceof Records) this.#campaign.kind.checkedQuestion(question);
    return (this.#asked = { place, round, question });
  }

  /**
   * Draws the report of an answer, once in each wave, and remembers it; gives what was drawn before if there is
   * something, whatever the answer is now.
   * @param {Record<string, unknown>} answer by object, or by column of a records campaign
   * @returns {Promise<Kept>}
   */
  async draw(answer) {
    const earlier = await this.drawn();
    if (earlier !== undefined) return earlier;
    const stopped = await this.#stopped();
    if (stopped) throw new Refusal(stopped, 'this device withdrew, or tried to: nothing is drawn again');
    const { state, wave } = this.#published;
    if (state !== 'open') {
      throw new Refusal('closed', Object.hasOwn(CLOSED, state) ? CLOSED[/** @type {'closed'} */ (state)] : 'this campaign is not open');
    }
    const asked = await this.#asNow();
    const seated = this.#campaign.asksByPlace;
    return this.#store.putIfAbsent(this.#key, () => ({
      participant: this.#participant,
      key: secretText(18),
      wave,
      place: seated ? asked.place : null,
      round: seated ? asked.round : null,
      report: JSON.stringify(this.#campaign.report(answer, asked)),
      outcome: null,
    }));
  }

  /**
   * Sends what was drawn, in this wave and in earlier ones, until there is an answer; what became of this wave's.
   *
   * "accepted", or the code of the problem for which it was refused. Sent again it is not counted again. After a
   * withdrawal nothing is sent: "withdrawn", or "withdrawing" as long as it is not known whether it arrived.
   * @returns {Promise<string>}
   */
  async send() {
    const own = await this.drawn();
    if (own === undefined) throw new Refusal('answer', 'nothing was drawn yet');
    await this.sendLate();
    return this.#deliver(this.#key, own);
  }

  /** Sends what was drawn in earlier waves and never answered. */
  async sendLate() {
    for (const [key, kept] of await this.#late()) await this.#deliver(key, kept);
  }

  /** Whether a report of this participant arrived from this device, in any wave. @returns {Promise<boolean>} */
  async reported() {
    const entries = /** @type {[string, Kept][]} */ (await this.#store.list(`${this.#prefix}${this.#participant} `));
    return entries.some(([, { outcome }]) => outcome === ACCEPTED);
  }

  /** Whether this participant withdrew on this device. @returns {Promise<boolean>} */
  async withdrew() {
    return (await this.#stopped()) === WITHDRAWN;
  }

  /** Whether this participant tried to withdraw on this device, and does not know yet what came of it. @returns {Promise<boolean>} */
  async withdrawing() {
    return (await this.#stopped()) === WITHDRAWING;
  }

  /**
   * Deletes what this participant reported, in all waves, as long as the campaign is not closed. From the moment
   * before it is asked for, this device draws and sends nothing, in later waves neither; only a refusal of the server
   * ends that. `Refusal` unless the server did it; while `withdrawing`, try again.
   */
  async withdraw() {
    const mark = this.#withdrawal;
    await this.#store.putIfAbsent(mark, () => ({ outcome: WITHDRAWING }));
    await this.#store.note(mark, WITHDRAWING); // of one that was refused before
    const url = `${this.#published.api}/reports/${encodeURIComponent(this.#participant)}`;
    const reply = await exchange(this.#connection, 'DELETE', url);
    if (reply.status !== 200) {
      await this.#store.note(mark, problemOf(reply));
      throw new Refusal(problemOf(reply), 'the server did not withdraw it');
    }
    // it is withdrawn, whether or not that can be written down: the mark stands, and asking again gives the same
    await this.#store.note(mark, ACCEPTED).catch(() => undefined);
  }

  /** Why nothing is drawn or sent any more, if that is so. @returns {Promise<string | undefined>} */
  async #stopped() {
    const mark = await this.#store.get(this.#withdrawal);
    if (mark?.outcome === ACCEPTED) return WITHDRAWN;
    return mark?.outcome === WITHDRAWING ? WITHDRAWING : undefined;
  }

  /**
   * What is asked. An invitation may have been used on another device since the page was loaded: if there is a
   * connection, the server is asked once more, some time long if it is busy, and whoever has reported draws nothing.
   */
  async #asNow() {
    const asked = await this.prepare();
    if (this.#campaign.admission !== 'invited') return asked;
    try {
      return await this.prepare({ ...this.#connection, patience: 0, busy: BUSY });
    } catch (error) {
      if (error instanceof Refusal && error.code === 'unreachable') return asked;
      throw error;
    }
  }

  get #key() {
    return `${this.#prefix}${this.#participant} ${this.#published.wave}`;
  }

  get #withdrawal() {
    return `withdrawal ${this.#published.api} ${this.#participant}`;
  }

  get #prefix() {
    return `report ${this.#published.api} `;
  }

  /** What was drawn in earlier waves, and never answered. @returns {Promise<[string, Kept][]>} */
  async #late() {
    const entries = /** @type {[string, Kept][]} */ (await this.#store.list(`${this.#prefix}${this.#participant} `));
    return entries.filter(([, kept]) => kept.wave < this.#published.wave && kept.outcome === null);
  }

  /**
   * @param {string} key
   * @param {Kept} kept
   * @returns {Promise<string>}
   */
  async #deliver(key, kept) {
    const stopped = await this.#stopped();
    if (stopped) return stopped;
    if (kept.outcome === ACCEPTED) return ACCEPTED;
    const round = kept.round === null ? {} : { round: kept.round };
    const body = { participant: kept.participant, key: kept.key, wave: kept.wave, ...round, report: JSON.parse(kept.report) };
    const reply = await exchange(this.#connection, 'POST', `${this.#published.api}/reports`, body);
    const outcome = reply.status === 200 || reply.status === 201 ? ACCEPTED : problemOf(reply);
    if (outcome !== PAUSED) await this.#store.note(key, outcome); // paused is no answer: it is sent again
    return outcome;
  }
}

/**
 * An invitation or, in an open campaign, the token of this device, made up once. There no other one is taken: a link
 * could bring a new one each time, and with it fresh noise for the same answer.
 * @param {Campaign} campaign
 * @param {Published} published
 * @param {Store} store
 * @param {string | undefined} invitation
 * @returns {Promise<string>}
 */
async function tokenOf(campaign, published, store, invitation) {
  if (campaign.admission === 'invited') {
    if (invitation === undefined) throw new Refusal('token', 'this campaign is by invitation: open your own link');
    return invitation;
  }
  if (invitation !== undefined) throw new Refusal('token', 'an open campaign takes no invitation');
  const { token } = await store.putIfAbsent(`token ${published.api}`, () => ({ token: secretText(24) }));
  return token;
}
