// What the pods of a node request, kept up to date with every change of a pod, so that 150,000
// pods are never added up at once.

import type {Pod} from './rows.ts';

export class NodeSums {
  pods = 0;
  cpu = 0; // requests of native resources: prod and others
  memory = 0;
  batchCpu = 0;
  batchMemory = 0;
  midCpu = 0;
  midMemory = 0;
  gpu = 0;

  add(pod: Pod, sign: 1 | -1): void {
    this.pods += sign;
    this.gpu += sign * pod.gpu;
    if (pod.priorityClass === 'batch' || pod.priorityClass === 'free') {
      this.batchCpu += sign * pod.cpu;
      this.batchMemory += sign * pod.memory;
    } else if (pod.priorityClass === 'mid') {
      this.midCpu += sign * pod.cpu;
      this.midMemory += sign * pod.memory;
    } else {
      this.cpu += sign * pod.cpu;
      this.memory += sign * pod.memory;
    }
  }
}

// Pods by a property, as sets.
export class Index {
  private readonly sets = new Map<string, Set<Pod>>();
  private static readonly none: ReadonlySet<Pod> = new Set();

  get(key: string): ReadonlySet<Pod> {
    return this.sets.get(key) ?? Index.none;
  }
  keys(): Iterable<string> {
    return this.sets.keys();
  }
  add(key: string, pod: Pod): void {
    const set = this.sets.get(key);
    if (set) set.add(pod);
    else this.sets.set(key, new Set([pod]));
  }
  remove(key: string, pod: Pod): void {
    const set = this.sets.get(key);
    if (!set) return;
    set.delete(pod);
    if (set.size === 0) this.sets.delete(key);
  }
}
