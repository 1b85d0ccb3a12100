/**
 * What a report says, for showing it to whoever sends it: which of all possible answers it names.
 *
 * Noise makes it name wrong ones, too; a report of OUE or OLH names several at once.
 */

import { Records } from './records.js';
import { SlotResponse } from './slot_response.js';

/**
 * @typedef {import('./kinds.js').Asked} Asked
 * @typedef {import('./kinds.js').Kind} Kind
 * @typedef {import('./sparse.js').Sparse} Sparse
 * @typedef {import('./wire.js').Report} Report
 */

/**
 * A part of a possible answer: what it is about (undefined if a report does not tell), and the answer, if there is one.
 * @typedef {{ about: string | undefined, value: string | number | undefined }} Part
 */

/**
 * Possible answers by code. `only` is the code that a report names, where it names one; `names` whether it names a code.
 * @typedef {{ codes: number, parts: (code: number) => Part[], code: (answer: Record<string, unknown>) => number,
 *   only?: (report: Report) => number, names: (report: Report, code: number) => boolean }} Meaning
 */

/**
 * What reports from a place can say; undefined where they hold a number or a symbol for each object (`kind.shown`).
 * @param {Kind} kind
 * @param {Asked} asked
 * @returns {Meaning | undefined}
 */
export function meaningOf(kind, asked) {
  if (kind instanceof Records) return ofQuestion(kind, asked);
  const mechanism = 'mechanism' in kind ? kind.mechanism : undefined;
  return mechanism instanceof SlotResponse ? ofSlots(/** @type {Sparse} */ (kind), mechanism, asked.place) : undefined;
}

/** A code for each combination of values of the columns. @param {Records} kind @param {Asked} asked @returns {Meaning} */
function ofQuestion(kind, asked) {
  const question = kind.checkedQuestion(asked.question);
  const { oracle, columns, sizes } = question;
  const parts = (/** @type {number} */ code) =>
    digits(code, sizes).map((value, at) => {
      const { name, labels } = kind.schema.columns[columns[at]];
      return { about: name, value: labels[value] };
    });
  const meaning = { codes: oracle.cells, parts, code: (/** @type {Record<string, unknown>} */ answer) => question.code(kind.schema.codes(answer)) };
  const { supports } = oracle;
  if (supports !== undefined) return { ...meaning, names: ({ payload }, code) => supports.call(oracle, payload, code) };
  // a joint code, or a code of each column
  const codes = (/** @type {unknown} */ payload) => /** @type {number[]} */ ([payload].flat());
  return naming(meaning, ({ payload }) => codes(payload).reduce((joint, value, at) => joint * sizes[at] + value, 0));
}

/**
 * Lists of objects, of each of which one answer or none is picked; or one answer of all, without its object.
 * @param {Sparse} kind
 * @param {SlotResponse} mechanism
 * @param {number} place
 * @returns {Meaning}
 */
function ofSlots(kind, mechanism, place) {
  const { names, count } = kind.objects;
  const { scale } = mechanism;
  const lists = mechanism.lists(place, count)?.map((list) => list.map((object) => names[object]));
  /** @type {(string | undefined)[][]} */
  const slots = lists ?? [[undefined]];
  const size = slots[0].length * scale.levels + 1; // the last symbol of a slot is none
  const symbolOf = (/** @type {(string | undefined)[]} */ list, /** @type {Record<string, unknown>} */ answer) => {
    const given = list.map((name) => (name === undefined ? Object.values(answer)[0] : answer[name]));
    const at = given.findIndex((value) => value !== undefined && value !== null);
    return at < 0 ? size - 1 : at * scale.levels + scale.nearest(Number(given[at]));
  };
  const partOf = (/** @type {(string | undefined)[]} */ list, /** @type {number} */ symbol) =>
    symbol === size - 1
      ? { about: undefined, value: undefined }
      : { about: list[Math.floor(symbol / scale.levels)], value: scale.answer(symbol % scale.levels) };
  const meaning = {
    codes: size ** slots.length,
    // the first slot runs fastest
    parts: (/** @type {number} */ code) => digits(code, slots.map(() => size)).reverse().map((symbol, at) => partOf(slots[at], symbol)),
    code: (/** @type {Record<string, unknown>} */ answer) =>
      slots.reduceRight((joint, list) => joint * size + symbolOf(list, answer), 0),
  };
  return naming(meaning, ({ payload }) => /** @type {number[]} */ (payload)[0]);
}

/** Reports that name one code. @param {Omit<Meaning, 'names'>} meaning @param {(report: Report) => number} only @returns {Meaning} */
const naming = (meaning, only) => ({ ...meaning, only, names: (report, code) => only(report) === code });

/** The parts of a joint code in which the last one runs fastest. @param {number} code @param {number[]} sizes */
function digits(code, sizes) {
  /** @type {number[]} */
  const parts = [];
  let rest = code;
  for (const size of [...sizes].reverse()) {
    parts.unshift(rest % size);
    rest = Math.floor(rest / size);
  }
  return parts;
}
