import assert from 'node:assert/strict';
import {test} from 'node:test';
import {amountOf, quantity} from './quantity.ts';

test('quantities are numbers in base units', () => {
  assert.equal(quantity('250m'), 0.25);
  assert.equal(quantity('4Gi'), 4 * 2 ** 30);
  assert.equal(quantity('1.5'), 1.5);
  assert.equal(quantity('2e3'), 2000);
  assert.equal(quantity('3k'), 3000);
  for (const odd of ['', 'x', '4Xi', '1.2.3', '--1', null, 5, '<b>'])
    assert.equal(quantity(odd), 0);
});

test('amounts are in the units of the feed', () => {
  assert.equal(amountOf('cpu', '1500m'), 1500);
  assert.equal(amountOf('memory', '4Gi'), 4096);
  assert.equal(amountOf('kubernetes.io/batch-cpu', '1500'), 1500);
  assert.equal(amountOf('kubernetes.io/batch-memory', '4Gi'), 4096);
  assert.equal(amountOf('nvidia.com/gpu', '8'), 8);
});
