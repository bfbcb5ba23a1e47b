// The order of rows by a column.
//
// Whole numbers are sorted together with the index of their row, packed into one number each:
// arrays of numbers sort without a comparison function in a tenth of the time, which matters for
// 150,000 rows. Texts sort as "node-2" before "node-10" in lists that are short enough for it.

import {byName} from '../model/names.ts';

const INDEX_LIMIT = 2 ** 20;
const NATURAL_LIMIT = 10_000;

// The indexes of the keys, in order. Rows with equal keys keep their order.
export function orderOf(keys: readonly (number | string)[], descending: boolean): number[] {
  const numbers = packed(keys, descending);
  if (numbers) return Array.from(numbers.sort(), (number) => mod(number));
  const sign = descending ? -1 : 1;
  const natural = keys.length <= NATURAL_LIMIT && typeof keys[0] === 'string';
  const indexes = keys.map((_, i) => i);
  const compare = natural
    ? (a: number, b: number) => byName(String(keys[a]), String(keys[b]))
    : (a: number, b: number) => (keys[a]! < keys[b]! ? -1 : keys[a]! > keys[b]! ? 1 : 0);
  return indexes.sort((a, b) => sign * compare(a, b));
}

const mod = (number: number): number => ((number % INDEX_LIMIT) + INDEX_LIMIT) % INDEX_LIMIT;

// null if a key is not a whole number, or too large.
function packed(keys: readonly (number | string)[], descending: boolean): Float64Array | null {
  if (keys.length > INDEX_LIMIT) return null;
  const numbers = new Float64Array(keys.length);
  for (let i = 0; i < keys.length; i++) {
    const key = keys[i];
    if (typeof key !== 'number') return null;
    const number = (descending ? -key : key) * INDEX_LIMIT + i;
    if (!Number.isSafeInteger(number)) return null;
    numbers[i] = number;
  }
  return numbers;
}
