/** What a participant accepts: a campaign that promises less is refused before anything is drawn. */

import { Refusal } from './errors.js';
import { level, overWaves, roundedUp } from './promise.js';

/**
 * The largest epsilons and the largest delta, each over all waves of a campaign. `epsilon` is for the campaign's
 * unit, `personEpsilon` for a person with everything that they say; without one there is no limit. `delta` is
 * 0.01 unless it is given.
 * @typedef {{ epsilon?: number, personEpsilon?: number, delta?: number }} Limits
 */

const LARGE_DELTA = 0.01;

/**
 * @param {import('./campaign.js').Guarantee} guarantee
 * @param {Limits} limits
 */
export function checkLimits(guarantee, limits) {
  const often = guarantee.waves > 1 ? ` over all ${guarantee.waves} waves` : '';
  const most = limits.delta ?? LARGE_DELTA;
  checkLevel(`each ${guarantee.unit}${often}`, overWaves(level('', guarantee), guarantee.waves), limits.epsilon, most);
  if (limits.personEpsilon !== undefined) {
    // The last level is the widest; a record is all that a person says.
    const person = guarantee.all_waves[guarantee.all_waves.length - 1];
    checkLevel(`a person${often}`, person, limits.personEpsilon, most);
  }
}

/**
 * @param {string} whom
 * @param {import('./promise.js').Level} own
 * @param {number | undefined} limit
 * @param {number} most
 */
function checkLevel(whom, own, limit, most) {
  const refuse = (/** @type {string} */ why) => new Refusal('limit', `this campaign ${why}: nothing was drawn`);
  if (own.epsilon === null || own.delta === null) throw refuse(`promises nothing to ${whom}`);
  if (limit !== undefined && !(own.epsilon <= limit)) {
    throw refuse(`takes an epsilon of ${roundedUp(own.epsilon)} for ${whom}, above ${limit}`);
  }
  if (!(own.delta <= most)) throw refuse(`has a delta of ${roundedUp(own.delta)} for ${whom}, above ${most}`);
}
