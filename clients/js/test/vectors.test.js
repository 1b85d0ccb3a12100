/** The vectors that the Python side keeps for clients: equal words give equal reports, to the last bit. */

import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import test from 'node:test';

import { ChaCha20 } from '../src/chacha20.js';
import { Grid } from '../src/grid.js';
import { keyOf, valueOf } from '../src/hash.js';
import { byCodePoints } from '../src/names.js';
import { Question } from '../src/question.js';
import { Response } from '../src/response.js';
import { Scale } from '../src/scale.js';
import { Sensing } from '../src/sensing.js';
import { SlotResponse } from '../src/slot_response.js';
import { Sparse } from '../src/sparse.js';
import { SplitKRR } from '../src/split_krr.js';

const kept = (name) => JSON.parse(readFileSync(new URL(`../../../tests/local/${name}.json`, import.meta.url)));
const wire = kept('wire_vectors');
const oracles = kept('oracle_vectors');
const CLAIMS = ['laplace', 'gaussian-exponential', 'gaussian-exponential-per-user'];

/** Words in a given order. */
const wordsOf = (list) => {
  let at = 0;
  return { next32: () => list[at++] };
};

test('names are in normal form C and ascend by code points', () => {
  for (const { given, ascending } of wire.objects) {
    assert.deepEqual(given.map((name) => name.normalize('NFC')).sort(byCodePoints), ascending);
  }
  const utf16 = [...wire.objects[0].ascending].sort();
  assert.notDeepEqual(utf16, wire.objects[0].ascending, 'the vector does not tell the two orders apart');
});

test('grids have the same places', () => {
  for (const { range, resolution, step, steps, places } of wire.grids) {
    const grid = new Grid(range, resolution ?? undefined);
    assert.deepEqual([grid.step, grid.steps], [step, steps]);
    for (const [value, place] of places) assert.equal(grid.place(value), place);
  }
});

test('scales have the same answers and levels', () => {
  for (const { range, codes } of wire.scales) {
    for (const [value, code] of codes) assert.equal(new Scale(range).code(value), code);
  }
  for (const { answers, levels, rounded } of wire.levels) {
    const scale = new Scale([0, answers - 1], levels);
    for (const [code, lower, rest] of rounded) {
      assert.equal(scale.level(code, wordsOf([0])), rest > 0 ? lower + 1 : lower);
      if (rest > 0) assert.equal(scale.level(code, wordsOf([rest])), lower);
    }
  }
});

test('randomized response has the same weights', () => {
  for (const { symbols, epsilon, keep, other } of wire.responses) {
    assert.deepEqual(Response.of(symbols, epsilon).published(), { symbols, keep, other });
  }
});

test('devices are asked about the same objects', () => {
  for (const { slots, listed, unnamed, objects, seed, lists } of wire.slot_lists) {
    const named = unnamed === null ? {} : { unnamed };
    const mechanism = new SlotResponse({ epsilon: 1, range: [0, 4], slots, listed, levels: 2, seed, ...named });
    for (const [place, own] of lists) assert.deepEqual(mechanism.lists(place, objects), own);
  }
});

test('devices that draw the same words send the same reports', () => {
  const [{ ascending }] = wire.objects;
  const seen = new Set();
  for (const { mechanism, parameters, said, place, key, nonce, wire: report } of wire.reports) {
    const words = new ChaCha20(key, nonce);
    const form = { name: mechanism, parameters, wire: 1 };
    const objects = ascending.map((name) => ({ name }));
    if (CLAIMS.includes(mechanism)) {
      const ranged = objects.map(({ name }) => ({ name, range: parameters.range }));
      const kind = new Sensing({ mechanism: form, objects: ranged, scaled: false });
      assert.deepEqual(kind.report(said, { place, round: 0 }, words), report);
    } else if (['cell-response', 'slots'].includes(mechanism)) {
      const unit = mechanism === 'slots' ? 'person' : 'cell';
      const kind = new Sparse({ mechanism: form, objects, unit, range: parameters.range });
      assert.deepEqual(kind.report(said, { place, round: 0 }, words), report);
    } else {
      continue; // no campaign has it
    }
    seen.add(mechanism);
  }
  assert.equal(seen.size, 5);
});

test('the hash is the same', () => {
  for (const { seed, code, values, value } of oracles.hashes) assert.equal(valueOf(seed, keyOf(code), values), value);
});

test('oracles have the same weights and, from the same words, the same reports', () => {
  for (const { oracle, weights, code, words, report } of oracles.reports) {
    const cells = oracle.parameters.cells ?? oracle.parameters.sizes.reduce((a, b) => a * b);
    const sizes = oracle.parameters.sizes ?? [cells];
    const columns = sizes.map((_, at) => at);
    const { oracle: built } = Question.fromDocument({ columns, sizes, oracle, weights });
    if (built instanceof SplitKRR) {
      const codes = sizes.map((size, at) => Math.floor(code / sizes.slice(at + 1).reduce((a, b) => a * b, 1)) % size);
      assert.deepEqual(codes.map((each, at) => built.columns[at].payload(each, wordsOf(words[at]))), report.payload);
    } else {
      assert.deepEqual({ v: 1, mechanism: built.name, payload: built.payload(code, wordsOf(words[0])) }, report);
    }
  }
});

test('joint codes are the same', () => {
  for (const { question, record, code } of oracles.joint_codes) {
    assert.equal(Question.fromDocument(question).code(record), code);
  }
});
