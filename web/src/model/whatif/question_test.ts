import assert from 'node:assert/strict';
import {test} from 'node:test';
import {isEmpty, isTooLarge, questionOf, requestOf} from './question.ts';

test('the address has the question but for the manifest', () => {
  const query = new URLSearchParams('drain=a%2Cb,,a&add=3&like=c');
  const question = questionOf(query, 'kind: Pod');
  assert.deepEqual(question, {manifest: 'kind: Pod', drain: ['a', 'b'], add: 3, like: 'c'});
  assert.deepEqual(JSON.parse(requestOf(question)), {
    manifest: 'kind: Pod',
    spec: {drainNodes: ['a', 'b'], addNodes: [{count: 3, like: 'c'}]},
  });
});

test('numbers of nodes in the address that are not possible are none or the most', () => {
  const add = (text: string) => questionOf(new URLSearchParams({add: text, like: 'a'}), '').add;
  assert.deepEqual(['-3', '1.5', 'x', '', '1e9'].map(add), [0, 0, 0, 0, 5000]);
});

test('nothing is asked without a manifest, a node to drain or nodes of a shape', () => {
  const of = (query: string, manifest = '') =>
    isEmpty(questionOf(new URLSearchParams(query), manifest));
  assert.ok(of(''));
  assert.ok(of('', ' \n'));
  assert.ok(of('add=3'));
  assert.ok(of('like=a'));
  assert.ok(!of('add=3&like=a'));
  assert.ok(!of('drain=a'));
  assert.ok(!of('', 'kind: Pod'));
});

test('a request is too large by its bytes, not its letters', () => {
  assert.ok(!isTooLarge('a'.repeat(1 << 20)));
  assert.ok(isTooLarge('ä'.repeat((1 << 19) + 1)));
});
