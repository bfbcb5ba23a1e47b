// Sums over all nodes, and the questions of the usage page.

import type {Metric, Node} from '../feed/rows.ts';
import type {Store} from '../feed/store.ts';

export interface Totals {
  nodes: number;
  ready: number;
  measured: number; // nodes with a NodeMetric
  pods: number;
  waiting: number;
  cpu: Use;
  memory: Use;
  gpus: number;
  gpusRequested: number; // in hundredths
}

// Of cpu in thousandths of a core, of memory in MiB.
export interface Use {
  capacity: number; // allocatable, without batch and mid resources
  requested: number; // of native resources
  used: number; // by all pods and the system
  batch: number; // reclaimed for batch pods
  batchRequested: number;
  batchUsed: number;
}

const none = (): Use => ({
  capacity: 0,
  requested: 0,
  used: 0,
  batch: 0,
  batchRequested: 0,
  batchUsed: 0,
});

export function totalsOf(store: Store): Totals {
  const totals: Totals = {
    nodes: store.nodes.size,
    ready: 0,
    measured: 0,
    pods: 0,
    waiting: store.waiting.size,
    cpu: none(),
    memory: none(),
    gpus: 0,
    gpusRequested: 0,
  };
  for (const node of store.nodes.values()) {
    const metric = store.metrics.get(node.name);
    const {cpu, memory} = useOf(store, node, metric);
    addTo(totals.cpu, cpu);
    addTo(totals.memory, memory);
    const sums = store.sumsOf(node.name);
    totals.pods += sums.pods;
    totals.gpus += node.gpus;
    totals.gpusRequested += sums.gpu;
    if (node.ready) totals.ready++;
    if (metric) totals.measured++;
  }
  return totals;
}

export function useOf(
  store: Store,
  node: Node,
  metric: Metric | undefined,
): {cpu: Use; memory: Use} {
  const sums = store.sumsOf(node.name);
  const of = (native: 'cpu' | 'memory', batch: 'batchCpu' | 'batchMemory'): Use => ({
    capacity: node[native],
    requested: sums[native],
    used: metric?.[native] ?? 0,
    batch: node[batch],
    batchRequested: sums[batch],
    batchUsed: metric?.[batch] ?? 0,
  });
  return {cpu: of('cpu', 'batchCpu'), memory: of('memory', 'batchMemory')};
}

function addTo(sum: Use, more: Use): void {
  sum.capacity += more.capacity;
  sum.requested += more.requested;
  sum.used += more.used;
  sum.batch += more.batch;
  sum.batchRequested += more.batchRequested;
  sum.batchUsed += more.batchUsed;
}

// How many nodes use 0 to 10 %, 10 to 20 %, ... of their CPU.
export function usageHistogram(store: Store): number[] {
  const bins = new Array<number>(10).fill(0);
  for (const node of store.nodes.values()) {
    const metric = store.metrics.get(node.name);
    if (!metric || node.cpu <= 0) continue;
    const bin = Math.max(0, Math.min(9, Math.floor((10 * metric.cpu) / node.cpu)));
    bins[bin] = (bins[bin] ?? 0) + 1;
  }
  return bins;
}

export interface Share {
  name: string;
  value: number;
  children?: Share[];
}

// What namespaces request of a resource, and within them which workloads; small ones together.
export function sharesOf(store: Store, resource: 'cpu' | 'memory'): Share[] {
  const spaces = new Map<string, Map<string, number>>();
  for (const pod of store.pods.values()) {
    if (pod.ended || !pod.node) continue;
    let owners = spaces.get(pod.namespace);
    if (!owners) spaces.set(pod.namespace, (owners = new Map()));
    // Without its kind: "ReplicaSet/web-5d".
    const owner = pod.owner.slice(pod.owner.indexOf('/') + 1) || pod.name;
    owners.set(owner, (owners.get(owner) ?? 0) + pod[resource]);
  }
  return [...spaces]
    .map(([name, owners]) => {
      const sorted = [...owners]
        .map(([owner, value]) => ({name: owner, value}))
        .sort((a, b) => b.value - a.value);
      const rest = sorted.slice(12).reduce((sum, share) => sum + share.value, 0);
      const children = sorted.slice(0, 12);
      if (rest > 0) children.push({name: `${sorted.length - 12} others`, value: rest});
      return {name, value: children.reduce((sum, share) => sum + share.value, 0), children};
    })
    .filter((share) => share.value > 0)
    .sort((a, b) => b.value - a.value)
    .slice(0, 24);
}
