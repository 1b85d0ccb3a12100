/** What a report says: it names the true answer as often as its mechanism says, and other ones as often as that says. */

import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import test from 'node:test';

import { Campaign } from '../src/client.js';
import { meaningOf } from '../src/meaning.js';
import { KRR } from '../src/krr.js';
import { OLH } from '../src/olh.js';
import { OUE } from '../src/oue.js';
import { SlotResponse } from '../src/slot_response.js';
import { SplitKRR } from '../src/split_krr.js';

const documents = JSON.parse(readFileSync(new URL('documents.json', import.meta.url)));
const campaignOf = (name) => Campaign.fromDocument(JSON.stringify(documents[name].document));
const DRAWS = 4000;

/** A share of draws, within 6.5 standard deviations: the hundred comparisons here fail by chance less than once in a million. */
function assertShare(count, chance) {
  const spread = Math.sqrt(chance * (1 - chance) * DRAWS);
  assert.ok(Math.abs(count - chance * DRAWS) <= 6.5 * spread + 3, `${count} of ${DRAWS}, expected ${chance * DRAWS}`);
}

/** How often reports of a made-up answer name each code. */
function tally(campaign, asked) {
  const meaning = meaningOf(campaign.kind, asked);
  const examples = campaign.examples(DRAWS, asked);
  const own = meaning.code(examples[0].answer);
  const counts = Array.from({ length: meaning.codes }, (_, code) => examples.filter(({ report }) => meaning.names(report, code)).length);
  return { meaning, own, counts };
}

const questionOf = (oracle, columns, sizes, parameters) => ({
  columns,
  sizes,
  oracle: { mechanism: oracle.name, parameters },
  weights: oracle.weights(),
});

test('reports about columns', () => {
  const campaign = campaignOf('records');
  const { sizes, columns } = campaign.kind.schema;
  const [first, second] = [1, 0];
  const cells = sizes[first] * sizes[second];
  const epsilon = campaign.kind.epsilon * 0.9;
  for (const oracle of [new KRR(epsilon, cells), new OUE(epsilon, cells), new OLH(epsilon, cells)]) {
    const question = questionOf(oracle, [first, second], [sizes[first], sizes[second]], { epsilon: oracle.epsilon, cells });
    const { meaning, own, counts } = tally(campaign, { place: 0, round: 0, question });
    counts.forEach((count, code) => assertShare(count, oracle.chances[code === own ? 0 : 1]));
    const labelled = [first, second].map((at) => ({ about: columns[at].name, value: columns[at].labels[Math.floor(sizes[at] / 2)] }));
    assert.deepEqual(meaning.parts(own), labelled);
    assert.equal(meaning.only === undefined, oracle.name !== 'krr');
  }
  const split = SplitKRR.of(epsilon, [sizes[first], sizes[second]]);
  const parameters = { epsilons: split.columns.map((column) => column.epsilon), sizes: split.sizes };
  const question = questionOf(split, [first, second], split.sizes, parameters);
  const { own, counts } = tally(campaign, { place: 0, round: 0, question });
  const [[keep, other], [kept, others]] = split.columns.map(({ chances }) => chances);
  counts.forEach((count, code) => {
    const [a, b] = [Math.floor(code / sizes[second]), code % sizes[second]];
    const [ownA, ownB] = [Math.floor(own / sizes[second]), own % sizes[second]];
    assertShare(count, (a === ownA ? keep : other) * (b === ownB ? kept : others));
  });
});

test('reports about lists of objects', () => {
  for (const parameters of [{ slots: 1, listed: 2 }, { slots: 2, listed: 1 }, { slots: 1, listed: 1, unnamed: 2 }]) {
    const campaign = campaignOf('slots');
    campaign.kind.mechanism = new SlotResponse({ epsilon: 1.5, range: [1, 3], seed: 3, ...parameters });
    const place = 1; // with one in two unnamed, this one names nothing
    const { response, unnamedResponse } = campaign.kind.mechanism;
    const { keep, other, total } = parameters.unnamed ? unnamedResponse : response;
    const { meaning, own, counts } = tally(campaign, { place, round: 0 });
    assert.equal(counts.reduce((sum, count) => sum + count, 0), DRAWS);
    counts.forEach((count, code) => assertShare(count, Number(code === own ? keep : other) / Number(total)));
    const [[name, value]] = Object.entries(campaign.kind.madeUp({ place }));
    assert.deepEqual(meaning.parts(own)[0], { about: parameters.unnamed ? undefined : name, value });
    assert.equal(new Set(Array.from({ length: meaning.codes }, (_, code) => JSON.stringify(meaning.parts(code)))).size, meaning.codes);
  }
});

test('reports with a symbol for each object say something about each', () => {
  const { kind } = campaignOf('sparse');
  const { levels, low, high } = kind.mechanism.scale;
  const symbols = kind.objects.names.map((_, at) => (at === 0 ? levels : at === 1 ? 0 : levels - 1));
  const [first, second, ...rest] = kind.objects.names;
  const shown = kind.shown({ payload: symbols });
  assert.equal(shown[first], undefined);
  assert.equal(shown[second], low);
  for (const name of rest) assert.equal(shown[name], high);
  assert.equal(campaignOf('slots').kind.shown({ payload: [0] }), undefined);
});
