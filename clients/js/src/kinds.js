/** The kinds of campaigns by name, and what they have in common. */

import { Records } from './records.js';
import { Sensing } from './sensing.js';
import { Sparse } from './sparse.js';

/**
 * The place that a participant has in a wave, and what is asked there.
 * @typedef {{ place: number, round: number, question?: unknown }} Asked
 */

/**
 * The public document of a campaign, of which only the mechanism's form is checked yet.
 * @typedef {Record<string, unknown> & { mechanism: { name: string, parameters: Record<string, unknown>, wire: unknown } }} Document
 */

/** @typedef {Sensing | Sparse | Records} Kind */

/** @type {Record<string, (document: Document) => Kind>} */
export const KINDS = {
  sensing: (document) => new Sensing(document),
  sparse: (document) => new Sparse(document),
  records: (document) => new Records(document),
};
