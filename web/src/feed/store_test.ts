import assert from 'node:assert/strict';
import {test} from 'node:test';
import {SharedTexts} from './rows.ts';
import {Store} from './store.ts';

const pod = (name: string, node: string, more: unknown[] = []) => [
  'shop',
  name,
  node,
  node ? 'Running' : 'Pending',
  'LS',
  'prod',
  1000,
  512,
  0,
  100,
  ...more,
];

test('a node has the sums of its pods after additions, changes and deletions', () => {
  const store = new Store();
  store.apply({t: 'pods', rows: [pod('a', 'n1'), pod('b', 'n1')]});
  assert.equal(store.sumsOf('n1').cpu, 2000);
  store.apply({t: 'pods', rows: [pod('a', 'n2')]});
  assert.equal(store.sumsOf('n1').cpu, 1000);
  assert.equal(store.sumsOf('n2').memory, 512);
  store.apply({t: 'pods', gone: ['shop/b']});
  assert.deepEqual(store.sumsOf('n1'), store.sumsOf('none'));
  assert.equal(store.pods.size, 1);
});

test('requests of batch pods count apart from native ones', () => {
  const store = new Store();
  const row = pod('spark', 'n1');
  row[5] = 'batch';
  store.apply({t: 'pods', rows: [row]});
  assert.equal(store.sumsOf('n1').cpu, 0);
  assert.equal(store.sumsOf('n1').batchCpu, 1000);
});

test('a pod that has ended uses nothing and does not wait', () => {
  const store = new Store();
  const done = pod('done', 'n1');
  done[3] = 'Succeeded';
  const failed = pod('failed', '');
  failed[3] = 'Failed';
  store.apply({t: 'pods', rows: [done, failed, pod('new', '')]});
  assert.equal(store.sumsOf('n1').pods, 0);
  assert.deepEqual(
    [...store.waiting].map((one) => one.key),
    ['shop/new'],
  );
});

test('a reset forgets all rows and their sums', () => {
  const store = new Store();
  store.apply({t: 'pods', rows: [pod('a', 'n1'), pod('b', '')]});
  store.apply({t: 'pods', reset: true, rows: [pod('c', 'n1')]});
  assert.deepEqual([...store.pods.keys()], ['shop/c']);
  assert.equal(store.sumsOf('n1').pods, 1);
  assert.equal(store.waiting.size, 0);
  assert.equal(store.byNode.get('n1').size, 1);
});

test('a table of a newer program is ignored', () => {
  const store = new Store();
  store.apply({t: 'comets' as 'pods', rows: [['x']]});
  assert.equal(store.pods.size, 0);
});

test('texts that many rows share are not kept without a bound', () => {
  const texts = new SharedTexts(100);
  for (let i = 0; i < 1000; i++) {
    assert.equal(texts.of(`reason ${i}`), `reason ${i}`);
    assert.ok(texts.size <= 100);
  }
  assert.equal(texts.of('reason 999'), 'reason 999');
});
