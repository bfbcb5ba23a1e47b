import assert from 'node:assert/strict';
import {test} from 'node:test';
import {quantity} from './quantity.ts';
import {
  barsOf,
  isEmpty,
  isTooLarge,
  pendingGroups,
  problemOf,
  questionOf,
  quotaAmount,
  quotaLines,
  requestOf,
  rulesOf,
  waysOf,
} from './whatif.ts';

test('quantities are numbers in base units', () => {
  assert.equal(quantity('250m'), 0.25);
  assert.equal(quantity('4Gi'), 4 * 2 ** 30);
  assert.equal(quantity('1.5'), 1.5);
  assert.equal(quantity('2e3'), 2000);
  assert.equal(quantity('3k'), 3000);
  for (const odd of ['', 'x', '4Xi', '1.2.3', '--1', null, 5, '<b>'])
    assert.equal(quantity(odd), 0);
});

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

test('quotas show resources whose use or runtime differs', () => {
  const lines = quotaLines({
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
  assert.equal(lines.length, 1);
  assert.deepEqual(lines[0], {
    quota: 'q',
    resource: 'cpu',
    before: 1,
    after: 3,
    runtimeBefore: 4,
    runtime: 4,
    max: Infinity,
  });
  assert.equal(quotaAmount('cpu', 3), '3');
  assert.equal(quotaAmount('memory', 2 ** 32), '4 GiB');
  assert.equal(quotaAmount('nvidia.com/gpu', 8), '8');
  assert.equal(quotaAmount('cpu', Infinity), '–');
});

test('victims are counted by rule', () => {
  const victim = (plugin = '') => ({namespace: 'x', name: 'v', node: 'a', plugin});
  assert.deepEqual(rulesOf([victim('A'), victim('B'), victim('B'), victim()]), [
    ['B', 2],
    ['A', 1],
    ['unknown', 1],
  ]);
});

test('errors of the scheduler are words', () => {
  const bad = problemOf(
    400,
    'koord-scheduler: spec.objects[1]: spec.containers: expected a list, got 3 (status 400)',
  );
  assert.equal(bad.why, 'spec.objects[1]: spec.containers: expected a list, got 3');
  assert.match(bad.help, /^It is object 2 of the manifest/);
  for (const status of [403, 404, 413, 429, 502, 503, 504])
    assert.notEqual(problemOf(status, 'why').title, problemOf(0, 'why').title);
  for (const status of [404, 502, 503])
    assert.match(problemOf(status, '').help, /koordctl simulate -f FILE/);
});
