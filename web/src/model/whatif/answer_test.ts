import assert from 'node:assert/strict';
import {test} from 'node:test';
import {pendingGroups, rulesOf, summaryOf, waysOf} from './answer.ts';

test('pods that wait for one reason are together, with their remedy', () => {
  const pod = (name: string, message: string, of = '') =>
    ({namespace: 'x', name, of, state: 'pending', message}) as const;
  const groups = pendingGroups({
    complete: true,
    pods: [
      pod('w-0', 'full for pod w-0, cpu', 'Deployment x/w'),
      pod('w-1', 'full for pod w-1, cpu', 'Deployment x/w'),
      pod('p', 'tainted'),
      {namespace: 'x', name: 'ok', state: 'placed', node: 'a'},
      {namespace: 'x', name: 'bare', state: 'notRecreated', message: 'no controller'},
      {namespace: 'x', name: 'rest', state: 'notTried'},
    ],
    remedies: [
      {pods: 2, of: 'Deployment x/w', nodes: {count: 1, like: 'a'}},
      {pods: 1, of: '', namespace: 'x', name: 'p', butForOne: [{plugin: 'T', change: 'tolerate'}]},
    ],
  });
  assert.deepEqual(
    groups.map((group) => [group.pods.length, group.why, group.remedies.flatMap(waysOf)]),
    [
      [2, 'full for pod, cpu', ['1 more node like a would do']],
      [1, 'tainted', ['T: tolerate']],
      [1, 'no controller', []],
      [1, 'not tried', []],
    ],
  );
});

test('a remedy names what the nearest node lacks', () => {
  assert.deepEqual(
    waysOf({
      pods: 1,
      nearestMiss: {node: 'n', missing: {cpu: '774', memory: '1Gi'}},
      nodes: {count: 2},
    }),
    ['n lacks 774 cpu, 1Gi memory', '2 more nodes would do'],
  );
  assert.deepEqual(waysOf({pods: 1, nearestMiss: null}), []);
});

test('victims are counted by rule', () => {
  const victim = (plugin = '') => ({namespace: 'x', name: 'v', node: 'a', plugin});
  assert.deepEqual(rulesOf([victim('A'), victim('B'), victim('B'), victim()]), [
    ['B', 2],
    ['A', 1],
    ['unknown', 1],
  ]);
});

test('the summary counts what the user may not see and what was not tried', () => {
  const victim = {namespace: 'x', name: 'v', node: 'a'};
  assert.equal(
    summaryOf({
      complete: false,
      placed: 2,
      pending: 1,
      notTried: 3,
      victims: [victim],
      hiddenVictims: 1,
    }),
    '2 placed, 4 pending, 2 preempted',
  );
});
