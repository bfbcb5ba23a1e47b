import assert from 'node:assert/strict';
import {test} from 'node:test';
import {rowsInView} from './rows_in_view.ts';

test('every row in view is drawn, in a slot of its own, at every place of every list', () => {
  for (const rows of [0, 1, 7, 30, 31, 33, 1000])
    for (let top = 0; top <= rows * 32; top += 17) {
      const {first, count, slots} = rowsInView(rows, 32, top, 600);
      const visible = Math.min(rows, Math.ceil((Math.min(top, rows * 32 - 600) + 600) / 32));
      assert.ok(first <= Math.max(0, Math.floor(Math.min(top, rows * 32 - 600) / 32)), `${top}`);
      assert.ok(first + count >= visible, `${rows} rows, ${top}: ${first} + ${count}`);
      assert.ok(first >= 0 && count >= 0 && first + count <= rows);
      const taken = new Set(Array.from({length: count}, (_, i) => (first + i) % slots));
      assert.equal(taken.size, count);
    }
});

test('a list that is scrolled a little keeps its rows, and a step replaces few of them', () => {
  const at = (top: number) => rowsInView(150_000, 32, top, 600).first;
  const firsts = Array.from({length: 400}, (_, i) => at(100_000 + i));
  assert.ok(new Set(firsts).size <= 5);
  for (let top = 0; top < 10_000; top += 40) assert.ok(at(top + 40) - at(top) <= 4);
});

test('only rows in view are drawn, no matter how many there are', () => {
  const view = rowsInView(150_000, 32, 32 * 1000, 640);
  assert.ok(view.count <= 40);
  assert.equal(view.total, 150_000 * 32);
});
