import assert from 'node:assert/strict';
import {test} from 'node:test';
import {orderOf} from './order.ts';

test('whole numbers are in order, negative ones too, and equal ones keep theirs', () => {
  assert.deepEqual(orderOf([3, -1, 2, -1], false), [1, 3, 2, 0]);
  assert.deepEqual(orderOf([3, -1, 2, -1], true), [0, 2, 1, 3]);
});

test('fractions and infinity are in order', () => {
  assert.deepEqual(orderOf([0.5, Infinity, 0.25], false), [2, 0, 1]);
});

test('texts are in natural order', () => {
  assert.deepEqual(orderOf(['n10', 'n2', 'n1'], false), [2, 1, 0]);
  assert.deepEqual(orderOf(['n10', 'n2', 'n1'], true), [0, 1, 2]);
});

test('150,000 numbers are in order', () => {
  const keys = Array.from({length: 150_000}, (_, i) => (i * 7919) % 104_729);
  const order = orderOf(keys, true);
  for (let i = 1; i < order.length; i++) assert.ok(keys[order[i - 1]!]! >= keys[order[i]!]!);
});
