/** The address of a campaign: the page for participants, or the API. */

import { Refusal } from './errors.js';

const PATH = /^((?:\/[^/]+)*)\/(?:c|api\/v1\/campaigns)\/([A-Za-z0-9._~-]{1,200})\/?$/;

/**
 * The campaign's id and its address in the API.
 * @param {string} url http://HOST/c/ID, or http://HOST/api/v1/campaigns/ID
 * @returns {{ id: string, api: string }}
 */
export function addressOf(url) {
  const refused = new Refusal('address', 'this is not the address of a campaign: http://HOST/c/ID');
  const { protocol, origin, pathname, username, password } = parsed(url, refused);
  const found = PATH.exec(pathname);
  if (!['http:', 'https:'].includes(protocol) || found === null || username || password) throw refused;
  return { id: found[2], api: `${origin}${found[1]}/api/v1/campaigns/${found[2]}` };
}

/** @param {string} url @param {Refusal} refused */
function parsed(url, refused) {
  try {
    return new URL(url);
  } catch {
    throw refused;
  }
}
