// Follows tables of the store, at most once per period: for what costs more than a few
// milliseconds to compute. While a list is scrolled it waits, so that scrolling stays smooth and
// rows do not move under the pointer.

import {effect} from '@preact/signals';
import {useEffect, useState} from 'preact/hooks';
import {store} from '../feed/api.ts';
import {complete} from '../feed/connection.ts';
import type {TableName} from '../feed/rows.ts';

const SCROLL_PAUSE_MS = 400;
let scrolledAt = -Infinity;

export function noteScrolling(): void {
  scrolledAt = performance.now();
}

// A number that differs after changes of the tables.
export function useSlowly(tables: TableName[], periodMs: number): number {
  const [revision, setRevision] = useState(0);
  useEffect(() => {
    let last = -Infinity;
    let timer: ReturnType<typeof setTimeout> | undefined;
    const show = () => {
      const still = performance.now() - scrolledAt;
      if (still < SCROLL_PAUSE_MS) {
        timer = setTimeout(show, SCROLL_PAUSE_MS - still);
        return;
      }
      timer = undefined;
      last = performance.now();
      setRevision((before) => before + 1);
    };
    const stop = effect(() => {
      for (const table of tables) void store.revision[table].value;
      void complete.value;
      timer ??= setTimeout(show, Math.max(0, last + periodMs - performance.now()));
    });
    return () => {
      stop();
      clearTimeout(timer);
    };
  }, [tables.join(), periodMs]);
  return revision;
}
