import assert from 'node:assert/strict';
import {test} from 'node:test';
import {Store} from '../feed/store.ts';
import {queueOf, summaryOf} from './queue.ts';

const row = (name: string, node: string, created: number, bound: number, priority: number) => [
  'ns',
  name,
  node,
  node ? 'Running' : 'Pending',
  'LS',
  'prod',
  1,
  1,
  0,
  created,
  bound,
  0,
  0,
  'team',
  '',
  '',
  '',
  '',
  '',
  priority,
];

test('a pod queues behind higher priorities and older pods of its quota', () => {
  const store = new Store();
  store.apply({
    t: 'pods',
    rows: [row('late', '', 900, 0, 5), row('early', '', 800, 0, 5), row('urgent', '', 950, 0, 9)],
  });
  const place = queueOf(store, store.pods.get('ns/late')!, 1000);
  assert.equal(place.position, 3);
  assert.equal(place.waiting, 3);
  assert.equal(place.estimate, null);
});

test('the estimate is the position over the rate of the last ten minutes', () => {
  const store = new Store();
  store.apply({
    t: 'pods',
    rows: [
      row('p', '', 900, 0, 5),
      row('a', 'n', 1, 700, 5),
      row('b', 'n', 1, 800, 5),
      row('long-ago', 'n', 1, 100, 5),
    ],
  });
  assert.equal(queueOf(store, store.pods.get('ns/p')!, 1000).estimate, 300);
});

test('messages of the scheduler have one summary in clusters of any size', () => {
  assert.equal(
    summaryOf(
      '0/12 nodes are available: 3 Insufficient cpu, 9 node(s) had untolerated ' +
        'taint(s). preemption: 0/12 nodes are available: 12 Preemption is not helpful.',
    ),
    'Insufficient cpu; node(s) had untolerated taint(s)',
  );
  const quoted =
    '0/4 nodes are available: GangGroup "a/b" gets rejected due to member Pod "a/c" is ' +
    'unschedulable with reason "0/4 nodes are available: 1 node(s) were unschedulable, 3 ' +
    'Insufficient cpu.", 2 members failed.';
  assert.equal(summaryOf(quoted), 'its gang: node(s) were unschedulable; Insufficient cpu');
  assert.equal(summaryOf(''), 'not tried yet');
  assert.equal(summaryOf('Insufficient quotas, quotaName: a'), 'Insufficient quotas, quotaName: a');
});

test('there is no estimate for a pod that requests more than any that got a node', () => {
  const store = new Store();
  const large = row('large', '', 900, 0, 5);
  large[6] = 90_000;
  store.apply({t: 'pods', rows: [large, row('a', 'n', 1, 990, 5)]});
  assert.equal(queueOf(store, store.pods.get('ns/large')!, 1000).estimate, null);
});
