import assert from 'node:assert/strict';
import {test} from 'node:test';
import {barsOf, quotaAmount, quotaChanges} from './difference.ts';

test('bars show what differs, GPUs as devices', () => {
  const bars = barsOf({
    name: 'a',
    allocatable: {cpu: '32', memory: '128Gi', pods: '110', 'koordinator.sh/gpu': '800'},
    before: {cpu: '2', memory: '4Gi', pods: '1'},
    after: {cpu: '2', memory: '8Gi', pods: '2', 'koordinator.sh/gpu-core': '150'},
  });
  assert.deepEqual(
    bars.map((bar) => `${bar.label}: ${bar.text}`),
    ['Memory: 4 GiB → 8 GiB of 128 GiB', 'GPUs: 0 → 1.5 of 8', 'Pods: 1 → 2 of 110'],
  );
  const vendor = barsOf({
    name: 'b',
    allocatable: {'nvidia.com/gpu': '4'},
    before: {'nvidia.com/gpu': '1'},
    after: {},
  });
  assert.deepEqual(
    vendor.map((bar) => bar.text),
    ['1 → 0 of 4'],
  );
});

test('a node that is added without pods shows its capacity', () => {
  const node = {name: 'a', change: 'added' as const, allocatable: {cpu: '8', memory: '16Gi'}};
  assert.deepEqual(
    barsOf(node).map((bar) => bar.text),
    ['0 → 0 of 8 cores', '0 → 0 of 16 GiB'],
  );
});

test('quotas show resources whose use or runtime differs', () => {
  const changes = quotaChanges({
    complete: true,
    quotas: [
      {
        name: 'q',
        before: {used: {cpu: '1'}, runtime: {cpu: '4', memory: '4Gi'}},
        after: {
          used: {cpu: '3', memory: '0'},
          runtime: {cpu: '4', memory: '4Gi'},
          max: {cpu: '1844674407370955161'},
        },
      },
      {name: 'gone', before: {used: {cpu: '1'}}, after: null},
    ],
  });
  assert.equal(changes.length, 1);
  assert.deepEqual(changes[0], {
    quota: 'q',
    resource: 'cpu',
    before: 1000,
    after: 3000,
    runtimeBefore: 4000,
    runtime: 4000,
    max: Infinity,
  });
  assert.equal(quotaAmount('cpu', 3000), '3');
  assert.equal(quotaAmount('memory', 4096), '4 GiB');
  assert.equal(quotaAmount('kubernetes.io/batch-cpu', 1500), '1.5');
  assert.equal(quotaAmount('ephemeral-storage', 2 ** 32), '4 GiB');
  assert.equal(quotaAmount('nvidia.com/gpu', 8), '8');
  assert.equal(quotaAmount('cpu', Infinity), '–');
});
