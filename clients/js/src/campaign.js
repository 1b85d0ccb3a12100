/**
 * A campaign as a device sees it: built from its public document, which must say what the campaign says itself.
 *
 * Every number and every sentence of the promise is computed here from the mechanism's parameters, for the unit and
 * for a person, for one wave and for all of them; a document that says something else is refused. Two numbers
 * cannot be computed to the last bit and are checked instead: those of gaussian-exponential-per-user
 * (variance_cost.js). Assumptions and what is not promised are shown as the server words them.
 */

import { Refusal, require } from './errors.js';
import { KINDS } from './kinds.js';
import { checkLimits } from './limits.js';
import { checkedText } from './names.js';
import { parse } from './ordered_json.js';
import { overWaves, sentence } from './promise.js';
import { canonical } from './question.js';
import { systemWords } from './random.js';
import { Records } from './records.js';
import { isWhole } from './scale.js';
import { VERSION } from './wire.js';

/**
 * @typedef {import('./kinds.js').Asked} Asked
 * @typedef {import('./kinds.js').Document} Document
 * @typedef {import('./kinds.js').Kind} Kind
 * @typedef {import('./limits.js').Limits} Limits
 * @typedef {import('./promise.js').Level} Level
 * @typedef {import('./random.js').Words} Words
 * @typedef {import('./wire.js').Report} Report
 */

/**
 * What is promised to whoever takes part, in numbers and in words.
 * @typedef {{ unit: string, epsilon: number, delta: number, adjacency: string, trust: 'local', sentence: string,
 *   levels: Level[], waves: number, all_waves: Level[] }} Guarantee
 */

/**
 * Where a campaign was found, and what it is doing now.
 * @typedef {{ id: string, api: string, state: string, wave: number }} Published
 */

const MOST_WAVES = 1000;
const MADE_BY_KIND = ['objects', 'schema', 'scaled', 'range', 'unit'];

/** Everything that is frozen once a campaign opens. */
export class Campaign {
  /**
   * From the public document, as text or as plain data; `Refusal` if no campaign has it, or if it promises
   * something else than its mechanism holds. Further entries, as a server adds them, are not read.
   * @param {unknown} given
   * @returns {Campaign}
   */
  static fromDocument(given) {
    return new Campaign(typeof given === 'string' ? parse(given) : given);
  }

  /** @param {unknown} given @param {Published} [published] */
  constructor(given, published) {
    const document = checkedForm(given);
    this.title = checkedText(document.title, 'the title');
    this.kindName = /** @type {'sensing' | 'sparse' | 'records'} */ (document.kind);
    require(document.admission === 'open' || document.admission === 'invited', 'admission is open or invited');
    require(document.about === 'facts' || document.about === 'opinions', 'about is facts or opinions');
    require(isWhole(document.waves, 1, MOST_WAVES), 'waves is a whole number');
    require(document.mechanism.wire === VERSION, 'this campaign speaks another version than this client');
    this.admission = document.admission;
    this.about = document.about;
    this.waves = document.waves;
    this.published = published;
    /** @type {Kind} */
    this.kind = KINDS[this.kindName](document);
    const stated = /** @type {Record<string, unknown>} */ (document.guarantee);
    /** What is promised; computed here, and equal to what the document states. @type {Guarantee} */
    this.guarantee = guaranteeOf(this.kind, this.waves, stated.levels);
    const { assumptions, not_promised: notPromised, ...numbers } = stated;
    require(
      canonical(numbers) === canonical(this.guarantee),
      'the campaign says something else than its mechanism holds',
    );
    this.assumptions = texts(assumptions);
    /** What is not promised, in the server's words. */
    this.notPromised = texts(notPromised);
    /** What the campaign asks, as one text: a device refuses a campaign whose text changes. */
    this.asks = asksOf(document, this.kind);
  }

  /** Whether a device must know its place before it can answer. */
  get asksByPlace() {
    return this.kind.asksByPlace;
  }

  /**
   * `Refusal` if taking part costs more than somebody accepts, over all waves.
   * @param {Limits} limits
   */
  check(limits) {
    checkLimits(this.guarantee, limits);
  }

  /**
   * The report of one device. It is drawn anew at each call: a participant's report comes from `Participation.draw`.
   * @param {Record<string, unknown>} answer by object, or by column
   * @param {Asked} asked
   * @param {Words} [words] for tests: whoever knows the words can remove the noise
   * @returns {Report}
   */
  report(answer, asked, words = systemWords) {
    return this.kind.report(answer, asked, words);
  }

  /**
   * Reports as they might be sent, of a made-up answer in the middle of what is possible: for a picture of
   * how noisy they are. They are never sent, and never drawn from what somebody answered.
   * @param {number} count
   * @param {Asked} [asked] what this device is asked, if that is known
   * @returns {{ answer: Record<string, unknown>, report: Report }[]}
   */
  examples(count, asked = this.exampleAsked()) {
    const answer = this.kind.madeUp(asked);
    return Array.from({ length: count }, () => ({ answer, report: this.kind.report(answer, asked) }));
  }

  /** What a device might be asked. @returns {Asked} */
  exampleAsked() {
    return { place: 0, round: 0, question: this.kind instanceof Records ? this.kind.exampleQuestion() : undefined };
  }
}

/**
 * A document with a kind, a mechanism and a guarantee.
 * @param {unknown} given
 * @returns {Document}
 */
function checkedForm(given) {
  const notOne = 'this is not the public document of a campaign';
  require(isObject(given) && typeof given.kind === 'string' && Object.hasOwn(KINDS, given.kind), notOne);
  const { mechanism } = given;
  require(isObject(mechanism) && typeof mechanism.name === 'string' && isObject(mechanism.parameters), notOne);
  require(Object.keys(mechanism).length === 3 && 'wire' in mechanism && isObject(given.guarantee), notOne);
  return /** @type {Document} */ (given);
}

/** @param {unknown} value @returns {value is Record<string, unknown>} */
const isObject = (value) => typeof value === 'object' && value !== null && !Array.isArray(value);

/**
 * @param {Kind} kind
 * @param {number} waves
 * @param {unknown} stated levels
 * @returns {Guarantee}
 */
function guaranteeOf(kind, waves, stated) {
  const { own, levels } = kind.promises(stated);
  if (own === null) throw new Refusal('document', 'with these parameters nothing is promised');
  return {
    unit: kind.unit,
    epsilon: own.epsilon,
    delta: own.delta,
    adjacency: own.adjacency,
    trust: 'local',
    sentence: sentence(own),
    levels,
    waves,
    all_waves: levels.map((each) => overWaves(each, waves)),
  };
}

/** @param {unknown} list */
function texts(list) {
  require(Array.isArray(list) && list.every((text) => typeof text === 'string'), 'remarks are texts');
  return /** @type {string[]} */ (list);
}

/** @param {Document} document @param {Kind} kind */
function asksOf(document, kind) {
  const names = ['title', 'kind', 'about', 'admission', 'waves', 'mechanism', ...MADE_BY_KIND];
  const order = kind instanceof Records ? kind.schema.columns.map(({ name }) => name) : [];
  return canonical([names.map((name) => document[name] ?? null), order]);
}
