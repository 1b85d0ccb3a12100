/** Exact numbers: nothing is rounded down that is promised, and laws are drawn from the weights that are stated. */

import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import test from 'node:test';

import { atMost, decimalDigits, exactly, fraction, nearest, nextDown, nextUp, up } from '../src/exact.js';
import { keysInOrder, parse } from '../src/ordered_json.js';
import { Question } from '../src/question.js';
import { below, belowBig } from '../src/random.js';

test('a fraction is rounded up to the least double that is not below', () => {
  for (const [num, den] of [[1n, 3n], [2n, 3n], [1n, 10n], [7n, 10n], [10n ** 30n + 1n, 7n], [1n, 10n ** 40n], [5n, 1n]]) {
    const exact = fraction(num, den);
    const rounded = up(exact);
    assert.ok(atMost(exact, exactly(rounded)));
    assert.ok(!atMost(exact, exactly(nextDown(rounded))));
    assert.ok([rounded, nextDown(rounded)].includes(nearest(exact)));
  }
});

test('the digits of a double are those that are printed', () => {
  assert.deepEqual(decimalDigits(0.7), { num: 7n, den: 10n });
  assert.deepEqual(decimalDigits(1e-7), { num: 1n, den: 10n ** 7n });
  assert.deepEqual(decimalDigits(1.5e21), { num: 15n * 10n ** 20n, den: 1n });
  assert.deepEqual(exactly(-0.75), { num: -3n, den: 4n });
  assert.equal(nextUp(1), 1 + 2 ** -52);
});

test('uniform numbers need no more words than the Python side takes, and reject what is too large', () => {
  const words = (list) => ({ next32: () => list.shift() });
  assert.equal(below(words([7, 5]), 6), 5);
  assert.equal(below(words([123]), 1), 0);
  assert.equal(below(words([2 ** 32 - 1]), 2 ** 32), 2 ** 32 - 1);
  assert.equal(below(words([3, 0, 1, 9]), 2 ** 33 + 1), 2 ** 32 + 9);
  assert.equal(belowBig(words([2 ** 31, 1, 0, 5]), 2n ** 62n), 1n);
  assert.equal(belowBig(words([2 ** 30 - 1, 2 ** 32 - 1]), 2n ** 62n), 2n ** 62n - 1n);
});

test('a question whose weights do not follow from its epsilon is refused', () => {
  const { question } = JSON.parse(readFileSync(new URL('documents.json', import.meta.url))).records;
  assert.ok(Question.fromDocument(question));
  for (const key of Object.keys(question.weights)) {
    const weights = { ...question.weights, [key]: String(BigInt(question.weights[key]) + 1n) };
    assert.throws(() => Question.fromDocument({ ...question, weights }), { code: 'question' });
  }
  assert.throws(() => Question.fromDocument({ ...question, weights: undefined }), { code: 'question' });
});

test('JSON keeps the order of keys, also of numbers, and refuses a key twice', () => {
  const text = '{"b": {"10": [1, -2.5e3, true, null], "2": "\\u00e9\\n", "a": {}, "__proto__": []}}';
  const parsed = parse(text);
  assert.deepEqual(keysInOrder(parsed.b), ['10', '2', 'a', '__proto__']);
  assert.equal(JSON.stringify(parsed.b['10']), '[1,-2500,true,null]');
  assert.equal(parsed.b['2'], 'é\n');
  assert.equal(keysInOrder({ 10: 1, 2: 1 }), undefined);
  for (const bad of ['', '{', '[1,]', '{"a":1,}', '{"a" 1}', "{'a': 1}", '{"a":1,"a":1}', '01', 'NaN', '1e999', '[1] 2', '"\n"', '[1 2]', '{1:2}', '['.repeat(500)]) {
    assert.throws(() => parse(bad), { code: 'document' }, bad);
  }
});
