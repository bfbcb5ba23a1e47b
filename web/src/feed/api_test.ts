import assert from 'node:assert/strict';
import {test} from 'node:test';

import {ask, AskError} from './api.ts';

const stored = {getItem: () => null, setItem: () => undefined, removeItem: () => undefined};
Object.assign(globalThis, {sessionStorage: stored, localStorage: stored});

function answerWith(text: string, status = 200) {
  globalThis.fetch = async () => new Response(text, {status});
}

test('an answer is its content', async () => {
  answerWith('{"cpus": []}');
  assert.deepEqual(await ask('node', {name: 'a'}), {cpus: []});
});

test('an answer that is cut off is a problem, and not an empty answer', async () => {
  answerWith('{"cpus": [');
  await assert.rejects(ask('node', {name: 'a'}), (error: AskError) => {
    assert.equal(error.message, 'The answer of the console was cut off.');
    return error instanceof AskError;
  });
});

test('a refusal says why', async () => {
  answerWith('{"message": "forbidden"}', 403);
  await assert.rejects(ask('node', {name: 'a'}), {message: 'forbidden', status: 403});
  answerWith('<html>', 502);
  await assert.rejects(ask('node', {name: 'a'}), {message: 'The console answers 502.'});
});
