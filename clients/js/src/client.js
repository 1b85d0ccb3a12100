/**
 * The browser client of crowdveil: it checks what a campaign promises, randomizes the answer on the device,
 * remembers what it drew, and sends it once.
 *
 *     const campaign = await fetchCampaign('https://example.org/c/4f1c');
 *     const participation = await Participation.join(campaign, { store: new IndexedStore() });
 *     await participation.draw({ 'Main Street': 61.5 });
 *     await participation.send();
 */

import { addressOf } from './address.js';
import { Campaign } from './campaign.js';
import { Refusal } from './errors.js';
import { exchange, problemOf } from './patience.js';

export { Campaign } from './campaign.js';
export { Refusal } from './errors.js';
export { IndexedStore } from './indexed_store.js';
export { Participation } from './participation.js';
export { VolatileStore } from './store.js';

/**
 * The campaign at an address, its state and the wave that is open; `Refusal` if it promises something else than its
 * mechanism holds.
 * @param {string} url the participants' page, http://HOST/c/ID, or the API, http://HOST/api/v1/campaigns/ID
 * @param {import('./patience.js').Connection} [connection]
 * @returns {Promise<Campaign>}
 */
export async function fetchCampaign(url, connection = {}) {
  const { id, api } = addressOf(url);
  const reply = await exchange(connection, 'GET', api);
  if (reply.status === 404) throw new Refusal('unknown', 'there is no such campaign on this server');
  if (reply.status !== 200) throw new Refusal(problemOf(reply), 'the server refuses to show the campaign');
  const { state, wave } = reply.said;
  if (reply.said.id !== id || typeof state !== 'string' || typeof wave !== 'number' || !Number.isInteger(wave)) {
    throw new Refusal('document', 'the server shows another campaign than it was asked for');
  }
  const campaign = new Campaign(reply.said, { id, api, state, wave });
  if (state === 'open' && !(wave >= 1 && wave <= campaign.waves)) {
    throw new Refusal('document', "the server asks in a wave that the campaign's promise does not count");
  }
  return campaign;
}
