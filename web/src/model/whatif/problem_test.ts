import assert from 'node:assert/strict';
import {test} from 'node:test';
import {problemOf} from './problem.ts';

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
test('a scheduler that cannot simulate now is not one that does not answer', () => {
  const why = 'the scheduler has not read the whole cluster yet';
  assert.deepEqual(problemOf(502, `koord-scheduler: ${why} (status 503)`), problemOf(503, why));
  assert.notDeepEqual(problemOf(502, why), problemOf(503, why));
});
