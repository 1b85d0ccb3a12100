/**
 * The JavaScript side of tests that compare it with the Python one.
 *
 *     node side.js SOURCES < calls.json > answers.json     each call is {do, ...}; answers in their order
 *     node side.js SOURCES draws < call.json > draws.f64   rows of numbers, as little-endian doubles
 *
 * SOURCES is the folder of the modules, which may be a copy with a line broken on purpose. Draws come from a
 * ChaCha20 stream with a given key, so that they can be repeated: that is for tests alone.
 */

import { readFileSync, writeSync } from 'node:fs';
import { resolve } from 'node:path';
import { pathToFileURL } from 'node:url';

const [, , sources, what] = process.argv;
const load = (name) => import(pathToFileURL(resolve(sources, `${name}.js`)).href);
const { ChaCha20 } = await load('chacha20');
const { parse } = await load('ordered_json');

const streamOf = ({ key, nonce = [0, 0, 0] }) => new ChaCha20(key, nonce);

/** What an operation gives, or the code of the refusal. */
async function answered(call) {
  try {
    return await OPERATIONS[call.do](call);
  } catch (error) {
    if (error?.name !== 'Refusal') throw error;
    return { refused: error.code };
  }
}

const OPERATIONS = {
  async places({ range, resolution, values }) {
    const { Grid, rangeOf } = await load('grid');
    const grid = new Grid(rangeOf(range), resolution ?? undefined);
    return { step: grid.step, steps: grid.steps, places: values.map((value) => grid.place(value)) };
  },
  async codes({ range, values }) {
    const { Scale } = await load('scale');
    return values.map((value) => new Scale(range).code(value));
  },
  async response({ symbols, epsilon }) {
    const { Response } = await load('response');
    const response = Response.of(symbols, epsilon);
    return [String(response.keep), String(response.other), response.epsilon];
  },
  async bits({ epsilon, differing }) {
    const { BitChance } = await load('bit_chance');
    const chance = BitChance.of(epsilon, differing);
    return [String(chance.weight), chance.epsilon(differing)];
  },
  async values({ epsilons }) {
    const { valuesOf } = await load('olh');
    return epsilons.map(valuesOf);
  },
  async laplace({ mechanism, parameters, counts }) {
    const { Laplace } = await load('laplace');
    const { freshVariance } = await load('fresh_variance');
    const built = mechanism === 'laplace' ? new Laplace(parameters) : freshVariance(parameters);
    const users = counts.map((count) => built.promise('user', count).epsilon);
    return [String(built.scale.num), String(built.scale.den), built.promise('claim', 1).epsilon, users];
  },
  async variance({ parameters, steps }) {
    const { VariancePerUser } = await load('variance_per_user');
    const built = new VariancePerUser(parameters);
    return steps.map((each) => built.variance(each).map(String));
  },
  async lists({ parameters, objects, places }) {
    const { SlotResponse } = await load('slot_response');
    const built = new SlotResponse(parameters);
    return places.map((place) => built.lists(place, objects));
  },
  async hashes({ seeds, code, values }) {
    const { keyOf, valueOf } = await load('hash');
    return seeds.map((seed) => valueOf(seed, keyOf(code), values));
  },
  async names({ names }) {
    const { byCodePoints } = await load('names');
    return names.map((name) => name.normalize('NFC')).sort(byCodePoints);
  },
  async rounded({ numbers }) {
    const { roundedUp } = await load('promise');
    return numbers.map(roundedUp);
  },
  async oracle({ epsilon, cells }) {
    const { bestOracle } = await load('question_plan');
    const oracle = bestOracle(epsilon, cells);
    return { name: oracle.name, epsilon: oracle.epsilon, weights: oracle.weights(), chances: oracle.chances };
  },
  async schema({ schema, answers }) {
    const { Schema } = await load('schema');
    const built = new Schema(parse(schema));
    return { labels: built.columns.map(({ labels }) => labels), codes: await Promise.all(answers.map((answer) => coded(built, answer))) };
  },
  async campaign({ document }) {
    const { Campaign } = await load('client');
    return { guarantee: Campaign.fromDocument(document).guarantee };
  },
  async report({ document, answer, asked, stream }) {
    const { Campaign } = await load('client');
    return Campaign.fromDocument(document).report(answer, asked, streamOf(stream));
  },
};

function coded(schema, answer) {
  try {
    return schema.codes(answer);
  } catch (error) {
    if (error?.name !== 'Refusal') throw error;
    return null;
  }
}

/** One row of numbers for each draw. */
const DRAWS = {
  async claims({ mechanism, parameters, values }, words) {
    const { Sensing } = await load('sensing');
    const objects = values.map((_, at) => ({ name: String(100 + at), range: parameters.range }));
    const kind = new Sensing({ mechanism: { name: mechanism, parameters }, objects, scaled: false });
    const answer = Object.fromEntries(values.map((value, at) => [String(100 + at), value]));
    return () => kind.report(answer, { place: 0, round: 0 }, words).payload.map(([, step]) => step);
  },
  async cells({ mechanism, parameters, values, place = 0, each = 0 }, words) {
    const { Sparse } = await load('sparse');
    const objects = values.map((_, at) => ({ name: String(100 + at) }));
    const unit = mechanism === 'slots' ? 'person' : 'cell';
    const kind = new Sparse({ mechanism: { name: mechanism, parameters }, objects, unit, range: parameters.range });
    const answer = Object.fromEntries(values.flatMap((value, at) => (value === null ? [] : [[String(100 + at), value]])));
    let next = place - each;
    return () => kind.report(answer, { place: (next += each), round: 0 }, words).payload;
  },
  async record({ question, codes }, words) {
    const { Question } = await load('question');
    const put = Question.fromDocument(question);
    const code = put.code(codes);
    return () => {
      const payload = put.oracle.payload(code, words);
      return typeof payload === 'string' ? [...Buffer.from(payload, 'base64')] : [payload].flat();
    };
  },
  async words(_, words) {
    return () => [words.next32()];
  },
};

const call = JSON.parse(readFileSync(0, 'utf8'));
if (what === 'draws') {
  const draw = await DRAWS[call.draw](call, streamOf(call));
  const first = draw();
  const rows = new Float64Array(call.count * first.length);
  rows.set(first);
  for (let at = 1; at < call.count; at += 1) rows.set(draw(), at * first.length);
  const bytes = Buffer.from(rows.buffer);
  for (let sent = 0; sent < bytes.length; ) sent += writeSync(1, bytes, sent);
} else {
  const answers = [];
  for (const each of call) answers.push(await answered(each));
  writeSync(1, JSON.stringify(answers));
}
