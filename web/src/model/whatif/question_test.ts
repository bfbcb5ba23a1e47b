import assert from 'node:assert/strict';
import {test} from 'node:test';
import {isEmpty, isTooLarge, questionOf, requestOf} from './question.ts';

const of = (query: string, manifest = '', configuration = '') =>
  questionOf(new URLSearchParams(query), {manifest, configuration});
const specOf = (query: string) => JSON.parse(requestOf(of(query))).spec;

test('the address has the question but for the texts', () => {
  const question = of('drain=a%2Cb,,a&lose=d&add=3&like=c', 'kind: Pod', 'profiles: []');
  assert.deepEqual([question.drain, question.lose], [['a', 'b'], ['d']]);
  assert.deepEqual(JSON.parse(requestOf(question)), {
    manifest: 'kind: Pod',
    spec: {drainNodes: ['a', 'b'], loseNodes: ['d'], addNodes: [{count: 3, like: 'c'}]},
    configuration: 'profiles: []',
  });
});

test('added nodes have given amounts, or the shape of a node, not both', () => {
  assert.deepEqual(specOf('add=2&by=amounts&like=c&cpu=64&memory=256.5&gpus=8'), {
    addNodes: [
      {
        count: 2,
        node: {
          apiVersion: 'v1',
          kind: 'Node',
          metadata: {},
          status: {
            capacity: {cpu: '64', memory: '256.5Gi', pods: '110', 'nvidia.com/gpu': '8'},
            allocatable: {cpu: '64', memory: '256.5Gi', pods: '110', 'nvidia.com/gpu': '8'},
          },
        },
      },
    ],
  });
  assert.deepEqual(specOf('add=2&like=c&cpu=64&memory=256'), {addNodes: [{count: 2, like: 'c'}]});
  for (const query of ['add=2&by=amounts&like=c', 'add=2&by=amounts&cpu=4', 'by=amounts&cpu=4'])
    assert.deepEqual(specOf(query), {}, query);
});

test('numbers in the address that are not possible are none or the most', () => {
  const add = (text: string) => of(`like=a&add=${text}`).add;
  assert.deepEqual(['-3', '1.5', 'x', '', '1e9'].map(add), [0, 0, 0, 0, 5000]);
  const {shape} = of('cpu=-1&memory=Infinity&gpus=0.5');
  assert.deepEqual(shape, {cpu: 0, memory: 0, gpus: 0});
});

test('nothing is asked without a text or a change of nodes', () => {
  const empty = (query: string, manifest = '', configuration = '') =>
    isEmpty(of(query, manifest, configuration));
  assert.ok(empty(''));
  assert.ok(empty('', ' \n', ' '));
  assert.ok(empty('add=3'));
  assert.ok(empty('like=a'));
  assert.ok(!empty('add=3&like=a'));
  assert.ok(!empty('drain=a'));
  assert.ok(!empty('lose=a'));
  assert.ok(!empty('', 'kind: Pod'));
  assert.ok(!empty('', '', 'profiles: []'));
});

test('an empty configuration is not sent', () => {
  assert.ok(!('configuration' in JSON.parse(requestOf(of('drain=a', '', '\n')))));
});

test('a request is too large by its bytes, not its letters', () => {
  assert.ok(!isTooLarge('a'.repeat(1 << 20)));
  assert.ok(isTooLarge('ä'.repeat((1 << 19) + 1)));
});
