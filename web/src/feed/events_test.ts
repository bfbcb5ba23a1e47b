import assert from 'node:assert/strict';
import {test} from 'node:test';
import {EventParser} from './events.ts';

test('events arrive in pieces of any size', () => {
  const text = 'event: rows\nid: a-1\ndata: {"t":"pods"}\n\nevent: synced\ndata: {}\n\n';
  for (let size = 1; size < text.length; size++) {
    const parser = new EventParser();
    const events = [];
    for (let i = 0; i < text.length; i += size)
      events.push(...parser.push(text.slice(i, i + size)));
    assert.deepEqual(events, [
      {name: 'rows', id: 'a-1', data: '{"t":"pods"}'},
      {name: 'synced', id: '', data: '{}'},
    ]);
  }
});

test('a block without data is a comment', () => {
  assert.deepEqual(new EventParser().push(': still here\n\n'), []);
});
