// What the console answers about one node, and who has its CPUs and devices.

import type {Node, Pod} from '../feed/rows.ts';
import {cpusOf} from './places.ts';

export interface Cpu {
  id: number;
  core: number;
  numa: number;
  socket: number;
}
export interface Device {
  type: string;
  minor: number;
  numa: number;
  healthy: boolean;
  message?: string;
  model?: string;
  memory?: number; // MiB
}
export interface Zone {
  name: string;
  resources: {name: string; allocatable: number; available: number}[];
}
export interface NodeDetail {
  labels?: Record<string, string>;
  taints?: string[];
  cpus?: Cpu[];
  zones?: Zone[];
  devices?: Device[];
  slo?: {
    suppressPercent: number;
    memoryEvictPercent: number;
    cpuEvictPercent: number;
    suppress: boolean;
  } | null;
  usage?: Record<string, [number, number]>; // by pod: thousandths of a core, MiB
  koordlet?: string[]; // what koordlet does to BE pods now, where the console reaches it
}

// The pods that have a CPU for themselves, by its number.
export function ownersOfCpus(pods: Iterable<Pod>): Map<number, Pod[]> {
  const owners = new Map<number, Pod[]>();
  for (const pod of pods) {
    if (pod.ended) continue;
    for (const cpu of cpusOf(pod.cpus)) {
      const list = owners.get(cpu);
      if (list) list.push(pod);
      else owners.set(cpu, [pod]);
    }
  }
  return owners;
}

// What pods have of each device, in hundredths: "gpu:0" as 100 for a whole GPU.
export function ownersOfDevices(pods: Iterable<Pod>): Map<string, {pod: Pod; share: number}[]> {
  const owners = new Map<string, {pod: Pod; share: number}[]>();
  for (const pod of pods) {
    if (pod.ended || pod.devices === '') continue;
    for (const part of pod.devices.split(',')) {
      const [type = '', minor = '', share = '100'] = part.split(':');
      const key = `${type}:${minor}`;
      const entry = {pod, share: Number(share)};
      const list = owners.get(key);
      if (list) list.push(entry);
      else owners.set(key, [entry]);
    }
  }
  return owners;
}

// The CPU that BE pods may use now, in thousandths: koordlet keeps the node below the threshold.
// null without a strategy or a measurement.
export function suppression(
  node: Node,
  detail: NodeDetail,
  used: number,
  batchUsed: number,
): {allowed: number; threshold: number; others: number} | null {
  if (!detail.slo?.suppress) return null;
  const threshold = (node.cpu * detail.slo.suppressPercent) / 100;
  const others = used - batchUsed;
  return {allowed: Math.max(0, threshold - others), threshold, others};
}

// "gpu:0:100,gpu:1:50" as "gpu 0, gpu 1 50 %".
export function devicesText(devices: string): string {
  if (devices === '') return 'none';
  return devices
    .split(',')
    .map((part) => {
      const [type = '', minor = '', share = '100'] = part.split(':');
      return `${type} ${minor}${share === '100' ? '' : ` ${share} %`}`;
    })
    .join(', ');
}
