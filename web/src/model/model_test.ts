import assert from 'node:assert/strict';
import {test} from 'node:test';
import {Node, Pod, Quota} from '../feed/rows.ts';
import {Store} from '../feed/store.ts';
import {age, bytes, cores, percent, tickTexts} from './format.ts';
import {jobOf, stretchesOf} from './job.ts';
import {devicesText, ownersOfCpus, ownersOfDevices, suppression} from './node_detail.ts';
import {cpusOf, placesOf} from './places.ts';
import {balanceOf, quotaLines} from './quota_tree.ts';
import {search} from './search.ts';

const quota = (name: string, parent: string, amounts: Record<string, number>[] = []) =>
  new Quota(`q/${name}`, ['q', name, parent, '', ...amounts, 1]);

const pod = (name: string, more: Partial<Record<number, unknown>>) => {
  const row: unknown[] = ['ns', name, 'n', 'Running', 'LS', 'prod', 1000, 512, 0, 100];
  for (const [i, value] of Object.entries(more)) row[Number(i)] = value;
  return new Pod(`ns/${name}`, row);
};

test('amounts have the units of the field and few digits', () => {
  assert.deepEqual([0, 250, 1500, 12340, 1234567].map(cores), [
    '0',
    '0.25',
    '1.5',
    '12.3',
    '1,235',
  ]);
  assert.deepEqual([512, 3584, 2 ** 21].map(bytes), ['512 MiB', '3.5 GiB', '2 TiB']);
  assert.deepEqual([5, 300, 7200, 400000].map(age), ['5 s', '5 min', '2 h', '5 d']);
  assert.equal(percent(1, 0), '–');
});

test('quotas are listed below their parents, cycles last', () => {
  const lines = quotaLines([
    quota('b', 'root'),
    quota('root', ''),
    quota('a', 'root'),
    quota('x', 'y'),
    quota('y', 'x'),
  ]);
  assert.deepEqual(
    lines.map(({quota: {name}, depth}) => `${depth} ${name}`),
    ['0 root', '1 a', '1 b', '0 x', '1 y'],
  );
});

test('a quota lends what it neither uses nor requests, and borrows beyond its min', () => {
  const of = (used: number, request: number) =>
    balanceOf(
      quota('q', '', [{cpu: 100}, {cpu: 200}, {cpu: used}, {cpu: 150}, {cpu: request}]),
      'cpu',
    );
  assert.equal(of(30, 40).lent, 60);
  assert.equal(of(130, 130).borrowed, 30);
  assert.equal(of(130, 130).lent, 0);
});

test('a job waits until the required members have nodes', () => {
  const waits = pod('a', {2: '', 3: 'Pending'});
  const runs = pod('b', {10: 110, 12: 130});
  const job = jobOf('ns/j', undefined, [waits, runs]);
  assert.deepEqual([job.pending, job.running, job.state], [1, 1, 'runs']);
  assert.equal(job.allBound, 110);
  assert.deepEqual(
    stretchesOf(runs, 100, 200).map(({kind, from, to}) => [kind, from, to]),
    [
      ['queued', 0, 0.1],
      ['starting', 0.1, 0.3],
      ['running', 0.3, 1],
    ],
  );
});

test('CPUs and devices have the pods that got them as owners', () => {
  assert.deepEqual(cpusOf('0-2,8'), [0, 1, 2, 8]);
  assert.deepEqual(cpusOf('nonsense,3'), [3]);
  const pods = [
    pod('a', {17: '0-1'}),
    pod('b', {18: 'gpu:0:100,rdma:1:100'}),
    pod('c', {18: 'gpu:0:50'}),
  ];
  assert.deepEqual([...ownersOfCpus(pods).keys()], [0, 1]);
  assert.deepEqual(
    ownersOfDevices(pods)
      .get('gpu:0')
      ?.map(({share}) => share),
    [100, 50],
  );
  assert.equal(devicesText('gpu:0:100,gpu:1:50'), 'gpu 0, gpu 1 50 %');
});

test('BE pods may use what others leave below the threshold', () => {
  const node = new Node('n', ['n', 1, 0, 10000]);
  const slo = {suppress: true, suppressPercent: 65, memoryEvictPercent: 0, cpuEvictPercent: 0};
  assert.equal(suppression(node, {slo}, 5000, 1000)?.allowed, 2500);
  assert.equal(suppression(node, {slo}, 9000, 1000)?.allowed, 0);
  assert.equal(suppression(node, {slo: {...slo, suppress: false}}, 5000, 1000), null);
});

test('places and their nodes are in natural order', () => {
  const node = (name: string, rack: string) =>
    new Node(name, [name, 1, 0, 1, 1, 0, 0, 0, 0, 0, [rack]]);
  const places = placesOf([node('n10', 'rack-10'), node('n2', 'rack-2'), node('n1', 'rack-2')]);
  assert.deepEqual(
    places.map((place) => [place.name, place.nodes.map((one) => one.name)]),
    [
      ['rack-2', ['n1', 'n2']],
      ['rack-10', ['n10']],
    ],
  );
});

test('search finds the exact name before prefixes and parts', () => {
  const store = new Store();
  store.apply({t: 'nodes', rows: [['web-1'], ['my-web'], ['web']]});
  store.apply({t: 'pods', rows: [['web', 'frontend', '', 'Pending']]});
  assert.deepEqual(
    search(store, 'WEB').map(({kind, name}) => `${kind} ${name}`),
    ['node web', 'node web-1', 'pod web/frontend', 'node my-web'],
  );
  assert.deepEqual(search(store, ' '), []);
  const many = Array.from({length: 2000}, (_, i) => ['other', `x-web-${i}`]);
  store.apply({t: 'pods', reset: true, rows: [...many, ['other', 'web']]});
  const [best] = search(store, 'web').filter(({kind}) => kind === 'pod');
  assert.equal(best?.name, 'other/web');
});

test('no two ticks of an axis have the same text', () => {
  const late = new Date(2026, 0, 31, 23, 58).getTime() / 1000;
  const ticks = (seconds: number, count: number) =>
    tickTexts(Array.from({length: count}, (_, i) => late + i * seconds));
  assert.deepEqual(ticks(30, 3), ['23:58:00', '23:58:30', '23:59:00']);
  assert.deepEqual(ticks(60, 3), ['23:58', '23:59', '1.2. 00:00']);
  assert.deepEqual(ticks(60, 1), ['23:58']);
});
