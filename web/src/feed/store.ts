// The cluster as the page knows it: tables of rows, and pods by node, gang and quota. Pages read
// the maps directly and depend on `revision` of a table, which changes at most a few times a
// second, no matter how many rows arrive.

import {signal, type Signal} from '@preact/signals';
import {Gang, keyOf, Metric, Move, Node, Pod, Quota, Reservation} from './rows.ts';
import type {Row, TableName} from './rows.ts';
import {Index, NodeSums} from './sums.ts';

const kinds = {
  pods: Pod,
  nodes: Node,
  metrics: Metric,
  quotas: Quota,
  gangs: Gang,
  moves: Move,
  reservations: Reservation,
};
type Objects = {[name in TableName]: InstanceType<(typeof kinds)[name]>};

export interface RowsEvent {
  t: TableName;
  reset?: boolean; // forget the rows so far
  rows?: Row[];
  gone?: string[];
}

// At most so often do pages see changes.
const PERIOD_MS = 250;

export class Store {
  readonly pods = new Map<string, Pod>();
  readonly nodes = new Map<string, Node>();
  readonly metrics = new Map<string, Metric>();
  readonly quotas = new Map<string, Quota>();
  readonly gangs = new Map<string, Gang>();
  readonly moves = new Map<string, Move>();
  readonly reservations = new Map<string, Reservation>();
  readonly revision = Object.fromEntries(
    Object.keys(kinds).map((name) => [name, signal(0)]),
  ) as Record<TableName, Signal<number>>;

  readonly byNode = new Index();
  readonly byGang = new Index();
  readonly byQuota = new Index();
  readonly waiting = new Set<Pod>();
  private readonly sums = new Map<string, NodeSums>();
  private readonly changed = new Set<TableName>();
  private timer: ReturnType<typeof setTimeout> | undefined;

  apply(event: RowsEvent): void {
    const table = this[event.t] as Map<string, Objects[TableName]> | undefined;
    if (!table) return; // of a newer program
    const pods = event.t === 'pods';
    if (event.reset) {
      if (pods) for (const pod of this.pods.values()) this.forget(pod);
      table.clear();
    }
    const Kind = kinds[event.t];
    for (const row of event.rows ?? []) {
      const key = keyOf(event.t, row);
      const object = new Kind(key, row);
      if (pods) this.replace(key, object as Pod);
      table.set(key, object);
    }
    for (const key of event.gone ?? []) {
      if (pods) this.replace(key, undefined);
      table.delete(key);
    }
    this.changed.add(event.t);
    this.timer ??= setTimeout(() => this.publish(), PERIOD_MS);
  }

  // Shows all changes now.
  publish(): void {
    clearTimeout(this.timer);
    this.timer = undefined;
    for (const name of this.changed) this.revision[name].value++;
    this.changed.clear();
  }

  sumsOf(node: string): NodeSums {
    return this.sums.get(node) ?? new NodeSums();
  }

  private replace(key: string, after: Pod | undefined): void {
    const before = this.pods.get(key);
    if (before) this.forget(before);
    if (after) this.remember(after);
  }

  private remember(pod: Pod): void {
    if (pod.waits) this.waiting.add(pod);
    if (pod.gang) this.byGang.add(pod.gang, pod);
    if (pod.quota) this.byQuota.add(pod.quota, pod);
    if (!pod.node) return;
    this.byNode.add(pod.node, pod);
    if (pod.ended) return;
    let sums = this.sums.get(pod.node);
    if (!sums) this.sums.set(pod.node, (sums = new NodeSums()));
    sums.add(pod, 1);
  }

  private forget(pod: Pod): void {
    this.waiting.delete(pod);
    if (pod.gang) this.byGang.remove(pod.gang, pod);
    if (pod.quota) this.byQuota.remove(pod.quota, pod);
    if (!pod.node) return;
    this.byNode.remove(pod.node, pod);
    if (!pod.ended) this.sums.get(pod.node)?.add(pod, -1);
  }
}
