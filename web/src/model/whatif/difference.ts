// What differs after a simulation, in numbers: what pods request of each node and quota.

import {amount} from '../format.ts';
import {amountOf, quantity} from '../quantity.ts';
import {limitOf} from '../quota_tree.ts';
import type {Amounts, ChangedNode, QuotaAmounts, Status} from './answer.ts';

// A resource of a node before and after, in one unit.
export interface Bar {
  label: string;
  capacity: number;
  before: number;
  after: number;
  text: string; // "2 → 5 of 32 cores"
}

// koordinator.sh/gpu and its parts count hundredths of a device, vendors count devices.
function gpus(amounts: Amounts | undefined): number {
  const of = (name: string) => quantity(amounts?.[`koordinator.sh/${name}`]) / 100;
  const shares = Math.max(of('gpu'), of('gpu-core'), of('gpu-memory-ratio'));
  if (shares > 0) return shares;
  return Object.entries(amounts ?? {})
    .filter(([name]) => name.endsWith('.com/gpu'))
    .reduce((sum, [, amount]) => sum + quantity(amount), 0);
}

interface Drawn {
  label: string;
  of: (amounts: Amounts | undefined) => number;
  text: (value: number) => string;
  unit: string;
}

const drawn = (label: string, resource: string, unit = ''): Drawn => ({
  label,
  of: (amounts) => amountOf(resource, amounts?.[resource]),
  text: (value) => (value === 0 ? '0' : amount(resource, value)),
  unit,
});

const resources: Drawn[] = [
  drawn('CPU', 'cpu', ' cores'),
  drawn('Memory', 'memory'),
  {label: 'GPUs', of: gpus, text: (value) => String(Number(value.toFixed(2))), unit: ''},
  drawn('Batch CPU', 'kubernetes.io/batch-cpu', ' cores'),
  drawn('Batch memory', 'kubernetes.io/batch-memory'),
  drawn('Pods', 'pods'),
];

// What differs on the node. Nodes that only come or go, without pods, show their CPU and memory.
export function barsOf(node: ChangedNode): Bar[] {
  const bars = resources.map(({label, of, text, unit}): Bar => {
    const [capacity, before, after] = [of(node.allocatable), of(node.before), of(node.after)];
    return {
      label,
      capacity,
      before,
      after,
      text: `${text(before)} → ${text(after)} of ${text(capacity)}${unit}`,
    };
  });
  const differing = bars.filter((bar) => bar.before !== bar.after);
  return differing.length > 0 ? differing : bars.slice(0, 2).filter((bar) => bar.capacity > 0);
}

// A resource of a quota before and after, in the units of the feed.
export interface QuotaChange {
  quota: string;
  resource: string;
  before: number;
  after: number;
  runtimeBefore: number; // 0 = none
  runtime: number;
  max: number; // Infinity without a limit
}

// The resources of quotas whose use or runtime differs.
export function quotaChanges(status: Status): QuotaChange[] {
  const changes: QuotaChange[] = [];
  for (const {name, before, after} of status.quotas ?? []) {
    const resources = new Set([
      ...Object.keys(after?.used ?? {}),
      ...Object.keys(after?.runtime ?? {}),
    ]);
    for (const resource of resources) {
      const of = (amounts: QuotaAmounts | null, what: keyof QuotaAmounts) =>
        amountOf(resource, amounts?.[what]?.[resource]);
      const change = {
        quota: name,
        resource,
        before: of(before, 'used'),
        after: of(after, 'used'),
        runtimeBefore: of(before, 'runtime'),
        runtime: of(after, 'runtime'),
        max: after?.max?.[resource] === undefined ? Infinity : limitOf(of(after, 'max')),
      };
      if (change.before !== change.after || change.runtimeBefore !== change.runtime)
        changes.push(change);
    }
  }
  return changes;
}

export const quotaAmount = (resource: string, value: number): string =>
  value === Infinity ? '–' : amount(resource, value);
