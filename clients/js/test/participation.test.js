/** Place, draw, remember, send, note: drawn once, remembered before it is sent, and never the answer itself. */

import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import test from 'node:test';

import { Campaign, Participation, Refusal, VolatileStore, fetchCampaign } from '../src/client.js';
import { IndexedStore } from '../src/indexed_store.js';
import { retryAfter } from '../src/patience.js';
import { SystemWords, secretText } from '../src/random.js';

const documents = JSON.parse(readFileSync(new URL('documents.json', import.meta.url)));
const URL_OF = 'https://example.org/c/abc';
const API = 'https://example.org/api/v1/campaigns/abc';
const SECRET = 7.654321; // an answer that must not show anywhere

/** A server in memory, that fails as often as it is told to. */
class Server {
  constructor(name, more = {}) {
    this.document = { ...documents[name].document, id: 'abc', state: 'open', wave: 1, ...more };
    this.question = documents[name].question;
    this.requests = [];
    this.reports = new Map();
    this.failures = [];
    this.waits = [];
    this.clock = 0;
  }

  get connection() {
    return {
      fetch: (url, init) => this.fetch(String(url), init),
      now: () => this.clock,
      wait: async (milliseconds) => {
        this.waits.push(milliseconds);
        this.clock += milliseconds;
      },
    };
  }

  async fetch(url, init) {
    this.requests.push({ url, ...init });
    const failure = this.failures.shift();
    if (failure instanceof Error) throw failure;
    if (failure?.lost) this.#answer(url, init); // it arrives, its answer does not
    if (failure?.lost) throw new TypeError('connection lost');
    return failure ?? this.#answer(url, init);
  }

  #answer(url, init) {
    if (init.method === 'GET') return reply(200, this.document);
    if (init.method === 'DELETE') return reply(200, { withdrawn: 1 });
    const body = JSON.parse(init.body);
    if (url === `${API}/places`) {
      const reported = this.reports.has(`${body.participant} ${body.wave}`);
      return reply(200, { place: 4, wave: body.wave, round: 0, reported, question: this.question });
    }
    const known = this.reports.get(`${body.participant} ${body.wave}`);
    if (known !== undefined) {
      return known.key === body.key ? reply(200, { status: 'known' }) : reply(409, { type: 'urn:crowdveil:problem:reported' });
    }
    this.reports.set(`${body.participant} ${body.wave}`, body);
    return reply(201, { status: 'accepted' });
  }
}

const reply = (status, body, headers = {}) => new Response(JSON.stringify(body), { status, headers });

async function joined(server, store = new VolatileStore(), more = {}) {
  const campaign = await fetchCampaign(URL_OF, server.connection);
  return Participation.join(campaign, { store, connection: server.connection, ...more });
}

const ANSWERS = {
  sensing: { a: SECRET, b: SECRET },
  sparse: { a: 2 },
  slots: { a: 2, b: 3 },
  records: { job: 'nurse', town: null, age: SECRET },
};

for (const name of Object.keys(ANSWERS)) {
  test(`${name}: one report is drawn, kept and sent`, async () => {
    const server = new Server(name);
    const store = new VolatileStore();
    const participation = await joined(server, store);
    const drawn = await participation.draw(ANSWERS[name]);
    assert.equal(server.reports.size, 0, 'it was sent before it was remembered');
    assert.equal(await participation.send(), 'accepted');
    const [sent] = server.reports.values();
    assert.deepEqual(sent.report, JSON.parse(drawn.report));
    assert.deepEqual([sent.key, sent.participant, sent.wave], [drawn.key, drawn.participant, 1]);
    const seated = ['slots', 'records'].includes(name);
    assert.deepEqual([drawn.place, drawn.round, 'round' in sent], seated ? [4, 0, true] : [null, null, false]);
    assert.equal((await participation.drawn()).outcome, 'accepted');
    const kept = JSON.stringify(await store.list(''));
    for (const text of [kept, JSON.stringify(server.requests)]) {
      assert.ok(!text.includes(String(SECRET)), 'the answer left the device, or was kept');
    }
    assert.ok(!sentOf(server).includes('nurse'), 'the answer left the device');
    assert.deepEqual(Object.keys(drawn).sort(), ['key', 'outcome', 'participant', 'place', 'report', 'round', 'wave']);
  });
}

const sentOf = (server) => server.requests.map(({ body }) => body ?? '').join('\n');

test('what was drawn is not drawn again, whatever the answer is now', async () => {
  const server = new Server('sensing');
  const store = new VolatileStore();
  const first = await (await joined(server, store)).draw(ANSWERS.sensing);
  for (const answer of [ANSWERS.sensing, { a: 0 }, {}, { unknown: 1 }]) {
    assert.deepEqual(await (await joined(server, store)).draw(answer), first);
  }
});

test('two tabs that draw at once have one report', async () => {
  for (const make of [() => new VolatileStore(), indexed]) {
    const store = make();
    if (store === null) continue;
    const server = new Server('sensing');
    const tabs = await Promise.all([1, 2, 3, 4].map(() => joined(server, store)));
    const drawn = await Promise.all(tabs.map((tab) => tab.draw(ANSWERS.sensing)));
    assert.equal(new Set(drawn.map(({ key }) => key)).size, 1);
    assert.equal(new Set(drawn.map(({ report }) => report)).size, 1);
    const outcomes = await Promise.all(tabs.map((tab) => tab.send()));
    assert.deepEqual(new Set(outcomes), new Set(['accepted']));
    assert.equal(server.reports.size, 1);
  }
});

test('a draw that fails keeps nothing', async () => {
  for (const make of [() => new VolatileStore(), indexed]) {
    const store = make();
    if (store === null) continue;
    const participation = await joined(new Server('sensing'), store);
    for (const answer of [{}, { a: Infinity }, { a: '5' }, { unknown: 1 }, { a: null }]) {
      await assert.rejects(participation.draw(answer), { name: 'Refusal', code: 'answer' });
    }
    assert.equal(await participation.drawn(), undefined);
    await assert.rejects(participation.send(), Refusal);
  }
});

test('an answer that got lost is asked for again with the same key, and counts once', async () => {
  const server = new Server('sensing');
  const participation = await joined(server);
  await participation.draw(ANSWERS.sensing);
  server.failures = [new TypeError('no network'), { lost: true }, reply(503, {}), reply(429, {}, { 'Retry-After': '7' })];
  server.requests = [];
  assert.equal(await participation.send(), 'accepted');
  assert.equal(server.requests.length, 5);
  assert.equal(new Set(server.requests.map(({ body }) => body)).size, 1);
  assert.equal(server.reports.size, 1);
  assert.ok(server.waits[3] >= 7000 && server.waits[3] <= 8000, 'Retry-After was not obeyed');
  assert.ok(server.waits[0] < server.waits[2], 'no back-off');
});

test('a server that is gone ends patience, and the report is sent on the next visit', async () => {
  const server = new Server('sensing');
  const store = new VolatileStore();
  const participation = await joined(server, store);
  const drawn = await participation.draw(ANSWERS.sensing);
  server.failures = Array.from({ length: 1000 }, () => new TypeError('no network'));
  await assert.rejects(participation.send(), { code: 'unreachable' });
  server.failures = [];
  assert.equal(await (await joined(server, store)).send(), 'accepted');
  assert.equal([...server.reports.values()][0].key, drawn.key);
});

test('what an earlier wave left unsent is sent in the next one', async () => {
  const server = new Server('waves');
  const store = new VolatileStore();
  await (await joined(server, store, { participant: 'invitation' })).draw({ a: 1 });
  server.document.wave = 2;
  const second = await joined(server, store, { participant: 'invitation' });
  await second.draw({ a: 1 });
  assert.equal(await second.send(), 'accepted');
  assert.deepEqual([...server.reports.keys()], ['invitation 1', 'invitation 2']);
  assert.notEqual(server.reports.get('invitation 1').key, server.reports.get('invitation 2').key);
});

test('a refusal of the server is noted and told; paused is no answer', async () => {
  const server = new Server('sensing');
  const participation = await joined(server);
  await participation.draw(ANSWERS.sensing);
  server.failures = [reply(409, { type: 'urn:crowdveil:problem:paused' })];
  assert.equal(await participation.send(), 'paused');
  assert.equal((await participation.drawn()).outcome, null);
  server.failures = [reply(403, { type: 'urn:crowdveil:problem:not-invited' })];
  assert.equal(await participation.send(), 'not-invited');
  assert.equal((await participation.drawn()).outcome, 'not-invited');
});

test('nothing is drawn in a campaign that is not open', async () => {
  for (const state of ['draft', 'paused', 'closed', 'other', 'constructor']) {
    const participation = await joined(new Server('sensing', { state }));
    await assert.rejects(participation.draw(ANSWERS.sensing), { code: 'closed' });
  }
});

test('a campaign that changes under a device that met it is refused', async () => {
  const store = new VolatileStore();
  await joined(new Server('sensing'), store);
  await assert.rejects(joined(new Server('sensing_dearer'), store), { code: 'document' });
});

test('a false promise is refused before anything else', async () => {
  const server = new Server('sensing');
  server.document = structuredClone(server.document);
  server.document.guarantee.epsilon /= 2;
  await assert.rejects(joined(server), { code: 'document' });
});

test('a wave that the promise does not count is refused', async () => {
  for (const wave of [0, 2, 1.5, '1']) await assert.rejects(joined(new Server('sensing', { wave })), { code: 'document' });
  await assert.rejects(joined(new Server('sensing', { id: 'other' })), { code: 'document' });
});

test('limits are compared with the epsilon over all waves', async () => {
  await assert.rejects(joined(new Server('sensing'), undefined, { limits: { epsilon: 0.99 } }), { code: 'limit' });
  await assert.rejects(joined(new Server('sensing'), undefined, { limits: { personEpsilon: 2 } }), { code: 'limit' });
  await joined(new Server('sensing'), undefined, { limits: { epsilon: 1, personEpsilon: 3 } });
  const invited = { participant: 'invitation' };
  await assert.rejects(joined(new Server('waves'), undefined, { ...invited, limits: { epsilon: 2.9 } }), { code: 'limit' });
  await assert.rejects(joined(new Server('weak')), { code: 'limit' });
  await joined(new Server('weak'), undefined, { limits: { delta: 0.9999 } });
});

test('an invitation is needed where there are invitations, and goes as it is', async () => {
  await assert.rejects(joined(new Server('waves')), { code: 'token' });
  for (const participant of ['', 'a b', 'ä', 'x'.repeat(201)]) {
    await assert.rejects(joined(new Server('waves'), undefined, { participant }), { code: 'token' });
  }
});

test('a device that forgot what it sent for an invitation draws nothing again', async () => {
  const server = new Server('waves');
  const first = await joined(server, new VolatileStore(), { participant: 'invitation' });
  await first.draw({ a: 1 });
  assert.equal(await first.send(), 'accepted');
  await first.prepare(); // the one that remembers may go on
  const store = new VolatileStore();
  const cleared = await joined(server, store, { participant: 'invitation' });
  await assert.rejects(cleared.prepare(), { code: 'reported' });
  await assert.rejects(cleared.draw({ a: 1 }), { code: 'reported' });
  assert.deepEqual(await store.list('report'), []);
  assert.equal(server.reports.size, 1);
});

test('an invitation that was used on another device meanwhile is not drawn for', async () => {
  const server = new Server('waves');
  const invited = { participant: 'invitation' };
  const [phone, laptop] = [await joined(server, undefined, invited), await joined(server, undefined, invited)];
  await Promise.all([phone.prepare(), laptop.prepare()]);
  await phone.draw({ a: 1 });
  assert.equal(await phone.send(), 'accepted');
  await assert.rejects(laptop.draw({ a: 1 }), { code: 'reported' });
});

test('without a connection an invitation that was prepared is drawn for', async () => {
  const server = new Server('waves');
  const participation = await joined(server, undefined, { participant: 'invitation' });
  await participation.prepare();
  server.failures = [new TypeError('offline')];
  assert.equal(typeof (await participation.draw({ a: 1 })).key, 'string');
  assert.deepEqual(server.waits, []);
});

test('a server that is busy is asked again before an invitation is drawn for', async () => {
  const server = new Server('waves');
  const invited = { participant: 'invitation' };
  const [phone, laptop] = [await joined(server, undefined, invited), await joined(server, undefined, invited)];
  await Promise.all([phone.prepare(), laptop.prepare()]);
  await phone.draw({ a: 1 });
  await phone.send();
  server.failures = [reply(429, {}, { 'Retry-After': '1' }), reply(503, {})];
  await assert.rejects(laptop.draw({ a: 1 }), { code: 'reported' });
  assert.equal(server.waits.length, 2);
  const third = await joined(server, undefined, { participant: 'another' });
  await third.prepare();
  server.failures = Array.from({ length: 99 }, () => reply(503, {}));
  assert.equal(typeof (await third.draw({ a: 1 })).key, 'string'); // it does not wait for good
});

test('what an earlier wave left unsent can be sent alone', async () => {
  const server = new Server('waves');
  const store = new VolatileStore();
  await (await joined(server, store, { participant: 'invitation' })).draw({ a: 1 });
  server.document.wave = 2;
  await (await joined(server, store, { participant: 'invitation' })).sendLate();
  assert.deepEqual([...server.reports.keys()], ['invitation 1']);
});

test('in an open campaign no link brings another token, and with it fresh noise', async () => {
  await assert.rejects(joined(new Server('sensing'), undefined, { participant: 'invitation' }), { code: 'token' });
});

test('a device makes up one token for each campaign', async () => {
  const store = new VolatileStore();
  const tokens = [];
  for (const _ of [1, 2]) tokens.push((await (await joined(new Server('sensing'), store)).draw(ANSWERS.sensing)).participant);
  assert.equal(tokens[0], tokens[1]);
  assert.match(tokens[0], /^[A-Za-z0-9_-]{32}$/);
  const other = await (await joined(new Server('sensing'))).draw(ANSWERS.sensing);
  assert.notEqual(other.participant, tokens[0]);
});

test('redirects are not followed, credentials not sent', async () => {
  const server = new Server('sensing');
  const participation = await joined(server);
  await participation.draw(ANSWERS.sensing);
  server.failures = [new Response(null, { status: 307, headers: { Location: 'https://elsewhere.example' } })];
  await assert.rejects(participation.send(), { code: 'redirect' });
  assert.ok(server.requests.every(({ redirect, credentials }) => redirect === 'manual' && credentials === 'omit'));
});

test('a place that cannot be, or a question that costs more, is refused before the draw', async () => {
  for (const said of [{ place: -1, round: 0, wave: 1 }, { place: 0.5, round: 0, wave: 1 }, { place: 1, round: 0, wave: 2 }, {}]) {
    const server = new Server('slots');
    const participation = await joined(server);
    server.failures = [reply(200, said)];
    await assert.rejects(participation.draw(ANSWERS.slots), { code: 'question' });
    assert.equal(await participation.drawn(), undefined);
  }
  const server = new Server('records');
  server.question = documents.records_dearer.question;
  await assert.rejects((await joined(server)).draw(ANSWERS.records), { code: 'question' });
});

test('withdrawing names the token', async () => {
  const server = new Server('waves');
  const participation = await joined(server, undefined, { participant: 'a/b?c' });
  await participation.withdraw();
  assert.equal(server.requests.at(-1).url, `${API}/reports/a%2Fb%3Fc`);
});

test('after a withdrawal nothing is drawn or sent, in later waves neither', async () => {
  for (const make of [() => new VolatileStore(), indexed]) {
    const store = make();
    if (store === null) continue;
    const server = new Server('waves');
    const participation = await joined(server, store, { participant: 'guest' });
    await participation.draw(ANSWERS.sensing);
    assert.equal(await participation.reported(), false);
    await participation.send();
    assert.deepEqual([await participation.reported(), await participation.withdrew()], [true, false]);
    await participation.withdraw();
    server.document = { ...server.document, wave: 2 };
    const later = await joined(server, store, { participant: 'guest' });
    server.requests = [];
    assert.equal(await later.withdrew(), true);
    await assert.rejects(later.draw(ANSWERS.sensing), { name: 'Refusal', code: 'withdrawn' });
    assert.equal(await later.drawn(), undefined);
    assert.equal(await participation.send(), 'withdrawn');
    await later.sendLate();
    assert.deepEqual(server.requests.filter(({ url }) => url.endsWith('/reports')), []);
    assert.equal(await (await joined(server, store, { participant: 'another' })).withdrew(), false);
  }
});

test('what was drawn and not sent stays here after a withdrawal', async () => {
  const server = new Server('waves');
  const store = new VolatileStore();
  const first = await joined(server, store, { participant: 'guest' });
  await first.draw(ANSWERS.sensing);
  await first.withdraw();
  server.document = { ...server.document, wave: 2 };
  await (await joined(server, store, { participant: 'guest' })).sendLate();
  assert.equal(server.reports.size, 0);
});

test('a withdrawal that is refused is none, and can be tried again', async () => {
  const server = new Server('sensing');
  const participation = await joined(server);
  await participation.draw(ANSWERS.sensing);
  await participation.send();
  server.failures = [reply(409, { type: 'urn:crowdveil:problem:closed' })];
  await assert.rejects(participation.withdraw(), { name: 'Refusal', code: 'closed' });
  assert.deepEqual([await participation.withdrew(), await participation.withdrawing()], [false, false]);
  assert.equal(await participation.send(), 'accepted');
  server.failures = Array.from({ length: 99 }, () => new TypeError('no network'));
  await assert.rejects(participation.withdraw(), { code: 'unreachable' });
  assert.equal(await participation.withdrawing(), true);
  server.failures = [];
  await participation.withdraw();
  assert.deepEqual([await participation.withdrew(), await participation.withdrawing()], [true, false]);
});

test('nothing is drawn or sent while it is not known whether a withdrawal arrived', async () => {
  for (const make of [() => new VolatileStore(), indexed]) {
    const store = make();
    if (store === null) continue;
    const server = new Server('waves');
    const guest = { participant: 'guest' };
    const participation = await joined(server, store, guest);
    await participation.draw(ANSWERS.sensing); // and not sent
    server.failures = Array.from({ length: 99 }, () => ({ lost: true }));
    await assert.rejects(participation.withdraw(), { code: 'unreachable' });
    server.failures = [];
    server.document = { ...server.document, wave: 2 };
    const later = await joined(server, store, guest);
    assert.deepEqual([await later.withdrew(), await later.withdrawing()], [false, true]);
    await assert.rejects(later.draw(ANSWERS.sensing), { name: 'Refusal', code: 'withdrawing' });
    await later.sendLate();
    assert.equal(await participation.send(), 'withdrawing');
    assert.equal(server.reports.size, 0);
    await later.withdraw();
    assert.deepEqual([await later.withdrew(), await later.withdrawing()], [true, false]);
  }
});

test('a device notes that it withdraws before it asks for it', async () => {
  class Failing extends VolatileStore {
    failing = '';
    async putIfAbsent(key, make) {
      if (this.failing === 'put') throw new Refusal('store', 'the disk is full');
      return super.putIfAbsent(key, make);
    }
    async note(key, outcome) {
      if (this.failing === outcome) throw new Refusal('store', 'the disk is full');
      return super.note(key, outcome);
    }
  }
  const server = new Server('sensing');
  const store = new Failing();
  const participation = await joined(server, store);
  await participation.draw(ANSWERS.sensing);
  await participation.send();
  server.requests = [];
  store.failing = 'put';
  await assert.rejects(participation.withdraw(), { code: 'store' });
  assert.deepEqual(server.requests, [], 'it was withdrawn, and nobody would know');
  store.failing = 'accepted'; // after the server did it
  await participation.withdraw();
  assert.equal(await participation.withdrawing(), true);
  assert.equal(await participation.send(), 'withdrawing');
});

test('examples are drawn from a made-up answer, and nothing of them is kept or sent', async () => {
  for (const name of ['sensing', 'sparse', 'slots', 'records']) {
    const campaign = Campaign.fromDocument(JSON.stringify(documents[name].document));
    assert.equal(campaign.examples.length, 1, 'there must be no way to pass an answer');
    const examples = campaign.examples(50);
    assert.equal(examples.length, 50);
    assert.ok(new Set(examples.map(({ report }) => JSON.stringify(report))).size > 1);
    if (name !== 'sensing') continue;
    assert.ok(examples.every(({ report }) => Number.isFinite(campaign.kind.shown(report).a)));
    assert.ok(examples.every(({ report }) => report.payload.length === 1), 'noise about one thing is enough for a picture');
  }
});

test('addresses', async () => {
  for (const url of ['', 'ftp://example.org/c/abc', 'https://example.org/x/abc', 'https://a:b@example.org/c/abc', '/c/abc']) {
    await assert.rejects(fetchCampaign(url, new Server('sensing').connection), { code: 'address' });
  }
  const server = new Server('sensing');
  await fetchCampaign('https://example.org/under/c/abc/?x=1#y', server.connection);
  assert.equal(server.requests[0].url, 'https://example.org/under/api/v1/campaigns/abc');
});

test('Retry-After is a number of seconds or a date', () => {
  assert.equal(retryAfter('7'), 7000);
  assert.equal(retryAfter('Thu, 01 Jan 1970 00:01:00 GMT', 10_000), 50_000);
  assert.equal(retryAfter('Thu, 01 Jan 1970 00:00:00 GMT', 10_000), 0);
  assert.equal(retryAfter('soon'), null);
  assert.equal(retryAfter(null), null);
});

test('words come from the system, and no two sources agree', () => {
  const [first, second] = [new SystemWords(), new SystemWords()];
  const drawn = Array.from({ length: 3000 }, () => first.next32());
  assert.notDeepEqual(drawn, Array.from({ length: 3000 }, () => second.next32()));
  assert.ok(drawn.every((word) => Number.isInteger(word) && word >= 0 && word < 2 ** 32));
  assert.equal(new Set(Array.from({ length: 1000 }, () => secretText(18))).size, 1000);
});

let factories = null;
try {
  factories = (await import(process.env.FAKE_INDEXEDDB ?? 'fake-indexeddb')).IDBFactory;
} catch {
  // not installed: the store of browsers is tested in browsers
}
let databases = 0;
function indexed() {
  return factories ? new IndexedStore({ name: `test ${(databases += 1)}`, factory: new factories() }) : null;
}

test('the store of browsers writes once, notes outcomes and lists', { skip: factories === null && 'needs fake-indexeddb' }, async () => {
  const store = indexed();
  let made = 0;
  const make = () => ({ outcome: null, number: (made += 1) });
  const values = await Promise.all([1, 2, 3].map(() => store.putIfAbsent('report x 1', make)));
  assert.deepEqual(values.map(({ number }) => number), [1, 1, 1]);
  assert.equal(made, 1);
  await assert.rejects(store.putIfAbsent('other', () => { throw new Refusal('answer', 'no'); }), { code: 'answer' });
  assert.equal(await store.get('other'), undefined);
  await store.note('report x 1', 'accepted');
  await store.note('report x 1', 'conflict');
  assert.deepEqual(await store.list('report x '), [['report x 1', { outcome: 'accepted', number: 1 }]]);
  await assert.rejects(new IndexedStore({ factory: undefined }).get('x'), { code: 'store' });
});
