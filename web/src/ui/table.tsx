// A table of any length: only the rows in view exist as elements. Arrow keys move the selection,
// Enter opens it, a click on a title sorts. The order is part of the address.
//
// Scrolling costs nothing but the rows that come into view: they take the elements of those that
// leave, and Preact skips rows whose description is the same object as before.

import type {ComponentChildren, RefObject, VNode} from 'preact';
import {useLayoutEffect, useMemo, useRef, useState} from 'preact/hooks';
import {go, param, setQuery} from '../state/route.ts';
import {orderOf} from './order.ts';
import {ROW_HEIGHT, rowsInView, type View} from './rows_in_view.ts';
import {noteScrolling} from './slowly.ts';

export interface Column<T> {
  id: string;
  title: string;
  cell: (row: T) => ComponentChildren;
  sort?: (row: T) => number | string;
  width?: string; // of a CSS grid; "1fr" if absent
  number?: boolean;
  wide?: boolean; // left out on narrow screens
}

// A column of texts, which are what it sorts by.
export function textColumn<T>(
  id: string,
  title: string,
  width: string,
  text: (row: T) => string,
): Column<T> {
  return {id, title, width, sort: text, cell: (row) => text(row) || '–'};
}

export interface TableProps<T> {
  label: string;
  rows: readonly T[];
  columns: readonly Column<T>[];
  linkOf?: (row: T) => string;
  sortBy?: string; // "-age": descending
  empty: ComponentChildren;
  name?: string; // of the order in the address, where a page has several tables
  height?: number; // rows that are visible at most
}

function sorted<T>(rows: readonly T[], columns: readonly Column<T>[], by: string): readonly T[] {
  const value = columns.find((column) => column.id === by.replace('-', ''))?.sort;
  if (!value) return rows;
  return orderOf(rows.map(value), by.startsWith('-')).map((index) => rows[index]!);
}

// Which rows of the box are drawn. It changes only when other rows come into view.
function useRowsInView(box: RefObject<HTMLDivElement | null>, rows: number) {
  const [top, setTop] = useState(0);
  const [visible, setVisible] = useState(600);
  useLayoutEffect(() => {
    if (!box.current) return undefined;
    const observer = new ResizeObserver(() => setVisible(box.current?.clientHeight ?? 600));
    observer.observe(box.current);
    return () => observer.disconnect();
  }, []);
  const view = rowsInView(rows, ROW_HEIGHT, top, visible);
  const onScroll = (event: {currentTarget: HTMLElement}) => {
    noteScrolling();
    const to = event.currentTarget.scrollTop;
    if (rowsInView(rows, ROW_HEIGHT, to, visible).first !== view.first) setTop(to);
  };
  return {view, visible, onScroll};
}

interface Drawn<T> {
  row: T;
  index: number;
  selected: boolean;
  line: VNode;
}

// The lines of a view, by slot. While a list is only scrolled, a line that stays in view is the
// same object. When the page is drawn again, so is each line: cells may show more than their row.
function useLines<T>(props: TableProps<T>, list: readonly T[], view: View, selected: number) {
  const drawn = useRef<{props: TableProps<T>; slots: number; lines: Drawn<T>[]}>(null);
  const {columns, linkOf} = props;
  if (drawn.current?.props !== props || drawn.current.slots !== view.slots)
    drawn.current = {props, slots: view.slots, lines: []};
  const {lines} = drawn.current;
  return Array.from({length: view.count}, (_, i) => {
    const index = view.first + i;
    const slot = index % view.slots;
    const row = list[index]!;
    const before = lines[slot];
    const isSelected = index === selected;
    if (before?.row === row && before.index === index && before.selected === isSelected)
      return before.line;
    const line = (
      <Line
        key={slot}
        row={row}
        columns={columns}
        index={index}
        selected={isSelected}
        link={linkOf?.(row)}
      />
    );
    lines[slot] = {row, index, selected: isSelected, line};
    return line;
  });
}

function scrollTo(element: HTMLElement, index: number): void {
  const y = index * ROW_HEIGHT;
  if (y < element.scrollTop) element.scrollTop = y;
  const lowest = y + 2 * ROW_HEIGHT - element.clientHeight;
  if (lowest > element.scrollTop) element.scrollTop = lowest;
}

// The row that a key leads to; null for other keys.
function rowOfKey(key: string, selected: number, rows: number, page: number): number | null {
  const target: Record<string, number> = {
    ArrowDown: selected + 1,
    ArrowUp: selected - 1,
    PageDown: selected + page,
    PageUp: selected - page,
    Home: 0,
    End: rows - 1,
  };
  const next = target[key];
  return next === undefined ? null : Math.max(0, Math.min(rows - 1, next));
}

export function Table<T>(props: TableProps<T>) {
  const {columns, rows, linkOf} = props;
  const order = props.name ?? 'sort';
  const by = param(order, props.sortBy ?? '');
  const list = useMemo(() => sorted(rows, columns, by), [rows, columns, by]);
  const box = useRef<HTMLDivElement>(null);
  const {view, visible, onScroll} = useRowsInView(box, list.length);
  const [selected, setSelected] = useState(0);
  const lines = useLines(props, list, view, selected);
  const onKey = (event: KeyboardEvent) => {
    const page = Math.floor(visible / ROW_HEIGHT) - 2;
    const next = rowOfKey(event.key, selected, list.length, page);
    const row = list[selected];
    if (next !== null) {
      setSelected(next);
      if (box.current) scrollTo(box.current, next);
    } else if (event.key === 'Enter' && row && linkOf) go(linkOf(row));
    else return;
    event.preventDefault();
  };
  const most = (Math.min(props.height ?? 1e6, list.length) + 1) * ROW_HEIGHT + 2;
  return (
    <div class="table" style={templates(columns)}>
      <div
        ref={box}
        class="table-box"
        tabIndex={0}
        role="table"
        aria-label={props.label}
        aria-rowcount={list.length + 1}
        onKeyDown={onKey}
        style={{maxHeight: list.length === 0 ? 'none' : `${most}px`}}
        onScroll={onScroll}
      >
        <Head columns={columns} by={by} order={order} />
        {list.length === 0 && <EmptyRow>{props.empty}</EmptyRow>}
        <div class="table-rows" role="rowgroup" style={{height: `${view.total}px`}}>
          {lines}
        </div>
      </div>
    </div>
  );
}

function EmptyRow({children}: {children: ComponentChildren}) {
  return (
    <div role="row">
      <div role="cell" class="table-empty">
        {children}
      </div>
    </div>
  );
}

// Grid templates for wide and narrow screens; the style sheet chooses.
function templates<T>(columns: readonly Column<T>[]) {
  const of = (list: readonly Column<T>[]) =>
    list.map((column) => column.width ?? 'minmax(0, 1fr)').join(' ');
  return {'--wide': of(columns), '--narrow': of(columns.filter((column) => !column.wide))};
}

function Head<T>({columns, by, order}: {columns: readonly Column<T>[]; by: string; order: string}) {
  const classOf = (column: Column<T>) =>
    `${column.number ? 'number' : ''} ${column.wide ? 'wide' : ''}`;
  return (
    <div class="table-head" role="rowgroup">
      <div class="table-row" role="row">
        {columns.map((column) => {
          const way =
            by === column.id ? 'ascending' : by === `-${column.id}` ? 'descending' : 'none';
          const next =
            way === 'none' && column.number
              ? `-${column.id}`
              : way === 'ascending'
                ? `-${column.id}`
                : column.id;
          return (
            <div
              key={column.id}
              role="columnheader"
              class={classOf(column)}
              aria-sort={column.sort ? way : undefined}
            >
              {column.sort ? (
                <button type="button" onClick={() => setQuery({[order]: next})}>
                  {column.title}
                  <span aria-hidden="true" class="arrow">
                    {way === 'none' ? '' : way === 'ascending' ? '↑' : '↓'}
                  </span>
                </button>
              ) : (
                column.title
              )}
            </div>
          );
        })}
      </div>
    </div>
  );
}

function Line<T>(props: {
  row: T;
  columns: readonly Column<T>[];
  index: number;
  selected: boolean;
  link: string | undefined;
}) {
  const classes = `table-row${props.selected ? ' selected' : ''}${props.link ? ' linked' : ''}`;
  return (
    <div
      class={classes}
      role="row"
      aria-rowindex={props.index + 2}
      style={{transform: `translateY(${props.index * ROW_HEIGHT}px)`}}
      onClick={() => props.link && go(props.link)}
    >
      {props.columns.map((column, i) => (
        <div
          key={column.id}
          role="cell"
          class={`${column.number ? 'number' : ''} ${column.wide ? 'wide' : ''}`}
        >
          {i === 0 && props.link ? (
            <a href={props.link} tabIndex={-1}>
              {column.cell(props.row)}
            </a>
          ) : (
            column.cell(props.row)
          )}
        </div>
      ))}
    </div>
  );
}
