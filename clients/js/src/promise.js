/**
 * What is promised, in numbers and in the words that a campaign's document states it with.
 *
 * The words are those of the Python side: a document that says anything else is refused, so that no other
 * sentence is shown to anybody as a promise.
 */

import { ceil, decimalDigits, exactly, fraction, times, up } from './exact.js';

/**
 * A guarantee in the local model: no outcome becomes more than e^epsilon times as likely, up to delta.
 * @typedef {{ epsilon: number, delta: number, unit: 'claim' | 'cell' | 'user' | 'record',
 *   adjacency: 'replace-one' | 'replace-or-none', weak?: boolean }} Promised
 */

/**
 * Numbers as a document states them.
 * @typedef {{ epsilon: unknown, delta: unknown }} Stated
 */

/**
 * What is hidden, and how well; null: nothing is promised.
 * @typedef {{ hidden: string, epsilon: number | null, delta: number | null, times: null, sentence: string }} Level
 */

const TRUST = "Where this runs on people's own devices, nobody has to be trusted.";

/** A guarantee in words. @param {Promised} promised */
export function sentence(promised) {
  const { epsilon, delta, unit } = promised;
  const strength = `epsilon = ${roundedUp(epsilon)}${delta ? `, delta = ${roundedUp(delta)}` : ''}`;
  const said =
    `Differential privacy for each ${unit} with ${strength}: no outcome becomes more than e^epsilon times as likely` +
    `${delta ? ' (up to delta)' : ''} ${neighbours(promised)}. ${TRUST}`;
  if (!promised.weak) return said;
  const often = Math.ceil(1000 * delta);
  return (
    `${said} This is weak: at epsilon = ${plain(epsilon)} it may fail in up to ${often} of 1,000 cases, because the ` +
    'variance that was drawn may be too small to hide anything. Only a floor under the variance makes delta small.'
  );
}

/** @param {Promised} promised */
function neighbours({ unit, adjacency }) {
  if (adjacency === 'replace-or-none') {
    const change = unit === 'cell' ? 'one answer of a user becomes another' : 'answers of a user become any others';
    return `when ${change}, or none (who takes part counts as public)`;
  }
  if (unit === 'record') return 'when one record is replaced by any other (who takes part counts as public)';
  const whose = unit === 'user' ? 'all values of one user are' : `the value of one ${unit} is`;
  return `when ${whose} replaced (who made claims about what counts as public)`;
}

/**
 * A level of a promise.
 * @param {string} hidden
 * @param {{ epsilon: number | null, delta: number | null } | null} promised
 * @returns {Level}
 */
export function level(hidden, promised) {
  const { epsilon, delta } = promised ?? { epsilon: null, delta: null };
  if (epsilon === null) return { hidden, epsilon: null, delta: null, times: null, sentence: `${hidden}: nothing is promised` };
  const more = delta ? `, delta ${roundedUp(delta)}` : '';
  return { hidden, epsilon, delta, times: null, sentence: `${hidden}: epsilon ${roundedUp(epsilon)}${more}` };
}

/**
 * A level after so many waves: epsilons and deltas add up.
 * @param {Level} one
 * @param {number} waves
 * @returns {Level}
 */
export function overWaves(one, waves) {
  if (waves === 1 || one.epsilon === null || one.delta === null) return one;
  const hidden = `${ofOneWave(one.hidden)}, over all ${waves} waves`;
  const often = fraction(BigInt(waves));
  const delta = up(times(often, exactly(one.delta)));
  return level(hidden, delta >= 1 ? null : { epsilon: up(times(often, exactly(one.epsilon))), delta });
}

/** @param {string} hidden */
function ofOneWave(hidden) {
  return hidden
    .replace('each claim', 'all that a person claims about one object')
    .replace('each answer, given or not', 'all that a person answers about one object, or not')
    .replace('each record', 'all that a person reports')
    .replace(', and nobody has more', ' in each wave');
}

/**
 * A number rounded up to six digits, so that a guarantee never looks stronger than it is.
 * @param {number} number not negative
 */
export function roundedUp(number) {
  if (number === 0) return '0';
  const exact = decimalDigits(number);
  let exponent = Math.floor(Math.log10(number)) - 5;
  const unit = () => (exponent >= 0 ? fraction(10n ** BigInt(exponent)) : fraction(1n, 10n ** BigInt(-exponent)));
  const digits = () => ceil(fraction(exact.num * unit().den, exact.den * unit().num));
  while (digits() > 10n ** 6n) exponent += 1;
  while (digits() <= 10n ** 5n && exponent > -330) exponent -= 1;
  return plain(Number(`${digits()}e${exponent}`));
}

/** A number in up to six digits, as C writes %g. @param {number} number */
export function plain(number) {
  if (number === 0) return '0';
  const [digits, power] = number.toExponential(5).split('e');
  const exponent = Number(power);
  if (exponent >= -4 && exponent < 6) return String(Number(number.toPrecision(6)));
  const short = digits.includes('.') ? digits.replace(/\.?0+$/, '') : digits;
  return `${short}e${exponent < 0 ? '-' : '+'}${String(Math.abs(exponent)).padStart(2, '0')}`;
}
