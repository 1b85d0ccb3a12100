/**
 * Records campaigns: many categorical questions, of which each device answers the few that it is asked.
 *
 * The whole questionnaire stays on the device; one report about the columns of the question is sent. A question
 * that costs more than the campaign promises is not answered.
 */

import { Refusal, require } from './errors.js';
import { level } from './promise.js';
import { Question } from './question.js';
import { QuestionPlan, splitPairs } from './question_plan.js';
import { systemWords } from './random.js';
import { checkEpsilon } from './response.js';
import { isWhole } from './scale.js';
import { Schema } from './schema.js';
import { sealed } from './wire.js';

/**
 * @typedef {import('./random.js').Words} Words
 * @typedef {import('./kinds.js').Asked} Asked
 * @typedef {import('./kinds.js').Document} Document
 * @typedef {import('./promise.js').Promised} Promised
 */

const MOST_COLUMNS = 200;
const MOST_TABLE_CELLS = 2000000;
const MOST_ROUNDS = 200;

/** The parameters of each design besides epsilon, with a check of each. @type {Record<string, Record<string, (value: unknown) => boolean>>} */
const PARAMETERS = {
  crowdveil: {
    label: (value) => value === null || typeof value === 'string',
    rounds: (value) => isWhole(value, 1, 100),
  },
  samprivsyn: { batch: (value) => isWhole(value, 1) },
  calm: { columns: (value) => isWhole(value, 2, 5) },
  independent: {},
};
const COMMON = {
  seed: (/** @type {unknown} */ value) => isWhole(value, 0, 2 ** 32 - 1),
  people: (/** @type {unknown} */ value) => isWhole(value, 1, 1e7),
};

/** Public domains, and what is asked about them. */
export class Records {
  asksByPlace = true;

  /** @param {Document} document */
  constructor(document) {
    const { mechanism, unit = 'record' } = document;
    require(unit === 'record' || unit === 'person', 'this kind of campaign protects record or person');
    require(Object.hasOwn(PARAMETERS, mechanism.name), 'a records campaign has another mechanism');
    this.unit = /** @type {string} */ (unit);
    this.schema = new Schema(document.schema);
    const { sizes } = this.schema;
    require(sizes.length <= MOST_COLUMNS, `a records campaign has at most ${MOST_COLUMNS} columns`);
    const all = sizes.reduce((sum, size) => sum + size, 0);
    const pairs = (all * all - sizes.reduce((sum, size) => sum + size * size, 0)) / 2;
    require(all + pairs <= MOST_TABLE_CELLS, 'all pairs of columns have too many cells together');
    const { epsilon, ...others } = mechanism.parameters;
    checkEpsilon(epsilon);
    const expected = { ...PARAMETERS[mechanism.name], ...COMMON };
    for (const [name, check] of Object.entries(expected)) require(check(others[name]), `${name} is not what belongs there`);
    require(Object.keys(others).length === Object.keys(expected).length, 'the mechanism has another parameter');
    const { label, batch, people } = /** @type {Record<string, any>} */ (others);
    require(!label || this.schema.columns.some(({ name }) => name === label.normalize('NFC')), 'the label is no column');
    require(batch === undefined || people / batch <= MOST_ROUNDS, 'there would be too many rounds');
    /** What each record is promised: the largest epsilon among all questions. */
    this.epsilon = QuestionPlan.epsilon(questionsOf(mechanism.name, epsilon, sizes, others.columns));
  }

  /** What one wave promises for each record, which is all that a person says. */
  promises() {
    /** @type {Promised} */
    const own = { epsilon: this.epsilon, delta: 0, unit: 'record', adjacency: 'replace-one' };
    return { own, levels: [level('each record', own)] };
  }

  /**
   * The report of one device about the columns of its question.
   * @param {Record<string, unknown>} answer by column
   * @param {Asked} asked
   * @param {Words} [words]
   */
  report(answer, asked, words = systemWords) {
    const question = this.checkedQuestion(asked.question);
    const code = question.code(this.schema.codes(answer));
    return sealed(question.oracle.name, question.oracle.payload(code, words));
  }

  /**
   * A question, if it is about this schema and costs no more than is promised.
   * @param {unknown} published
   * @returns {Question}
   */
  checkedQuestion(published) {
    if (published === undefined || published === null) throw new Refusal('question', 'this place was not asked anything');
    const question = Question.fromDocument(published);
    if (!question.columns.every((column, at) => this.schema.sizes[column] === question.sizes[at])) {
      throw new Refusal('question', "the question is not about columns of this campaign's schema");
    }
    if (question.oracle.epsilon > this.epsilon) {
      throw new Refusal('question', 'the question costs more than the campaign promises: it is not answered');
    }
    return question;
  }

  /** A made-up answer, of nobody: the middle value of each column. */
  madeUp() {
    return Object.fromEntries(this.schema.columns.map(({ name, labels }) => [name, labels[Math.floor(labels.length / 2)]]));
  }

  /** A question as it might be asked, about the first column: for a picture. */
  exampleQuestion() {
    const { oracle } = new QuestionPlan(this.epsilon, this.schema.sizes).singles()[0];
    const parameters = { epsilon: oracle.epsilon, cells: oracle.cells };
    const described = { mechanism: oracle.name, parameters };
    return { columns: [0], sizes: [this.schema.sizes[0]], oracle: described, weights: oracle.weights() };
  }
}

/**
 * All questions that a design may ask.
 * @param {string} design
 * @param {number} epsilon
 * @param {number[]} sizes
 * @param {unknown} columns of a question of calm
 */
function questionsOf(design, epsilon, sizes, columns) {
  if (design === 'samprivsyn') return splitPairs(epsilon, sizes);
  const plan = new QuestionPlan(epsilon, sizes);
  if (design === 'calm') return plan.sets(/** @type {number} */ (columns));
  return design === 'independent' ? plan.singles() : [...plan.singles(), ...plan.joints()];
}
