// The answer of a simulation (a SimulationResult of koord-scheduler), and what the page says of its
// pods.

import {plural} from '../format.ts';

export type Amounts = Record<string, string>;

export interface AnsweredPod {
  namespace: string;
  name: string;
  of?: string; // "Deployment shop/web"
  from?: string;
  state: 'placed' | 'pending' | 'notTried' | 'notRecreated';
  node?: string;
  message?: string;
}
export interface Victim {
  namespace: string;
  name: string;
  node: string;
  priority?: number;
  preemptor?: string;
  preemptorPriority?: number;
  plugin?: string;
}
export interface Remedy {
  pods: number;
  of?: string;
  namespace?: string;
  name?: string;
  nearestMiss?: {node: string; missing?: Amounts} | null;
  butForOne?: {plugin: string; change?: string}[];
  nodes?: {count: number; like?: string};
}
export interface ChangedNode {
  name: string;
  change?: 'added' | 'drained' | 'lost';
  allocatable: Amounts;
  before?: Amounts;
  after?: Amounts;
}
export interface ChangedQuota {
  name: string;
  before: QuotaAmounts | null;
  after: QuotaAmounts | null;
}
export type QuotaAmounts = Partial<Record<'max' | 'runtime' | 'used', Amounts>>;

export interface Status {
  complete: boolean;
  state?: {time: string};
  placed?: number;
  pending?: number;
  notTried?: number;
  pods?: AnsweredPod[];
  victims?: Victim[];
  others?: {namespace: string; name: string; node: string}[];
  remedies?: Remedy[];
  quotas?: ChangedQuota[];
  nodes?: ChangedNode[];
  notes?: string[];
  hiddenPods?: number;
  hiddenVictims?: number;
  hiddenOthers?: number;
}

export const keyOf = (object: {namespace?: string; name?: string}): string =>
  object.namespace ? `${object.namespace}/${object.name ?? ''}` : (object.name ?? '');

// The figures of an answer, with pods that the user may not see.
export function countsOf(status: Status) {
  return {
    placed: status.placed ?? 0,
    pending: (status.pending ?? 0) + (status.notTried ?? 0),
    victims: (status.victims?.length ?? 0) + (status.hiddenVictims ?? 0),
    others: (status.others?.length ?? 0) + (status.hiddenOthers ?? 0),
  };
}

export function summaryOf(status: Status): string {
  const {placed, pending, victims} = countsOf(status);
  return `${placed} placed, ${pending} pending, ${victims} preempted`;
}

export interface PendingGroup {
  key: string; // the workload or the pod
  pods: AnsweredPod[];
  why: string;
  remedies: Remedy[];
}

export const stateTexts: Record<AnsweredPod['state'], string> = {
  placed: 'placed',
  pending: 'pending',
  notTried: 'not tried',
  notRecreated: 'not created again',
};

// Pods that have no node for the same reason, with what would help them.
export function pendingGroups(status: Status): PendingGroup[] {
  const groups = new Map<string, PendingGroup>();
  for (const pod of status.pods ?? []) {
    if (pod.state === 'placed') continue;
    const message =
      pod.message || (pod.state === 'pending' ? 'no reason is known' : stateTexts[pod.state]);
    // Messages of preemption name the pod: "No victims found for preemptor pod web-0".
    const why = pod.of ? message.replaceAll(` ${pod.name}`, '') : message;
    const key = pod.of || keyOf(pod);
    const id = JSON.stringify([pod.state === 'notRecreated' ? '' : key, why]);
    const group = groups.get(id);
    if (group) group.pods.push(pod);
    else groups.set(id, {key, pods: [pod], why, remedies: []});
  }
  const all = [...groups.values()];
  for (const remedy of status.remedies ?? []) {
    const key = remedy.of || keyOf(remedy);
    all.find((group) => group.key === key)?.remedies.push(remedy);
  }
  return all;
}

// The ways of a remedy, as koordctl simulate writes them.
export function waysOf(remedy: Remedy): string[] {
  const ways: string[] = [];
  const {nearestMiss, butForOne = [], nodes} = remedy;
  const missing = Object.entries(nearestMiss?.missing ?? {}).map(
    ([name, amount]) => `${amount} ${name}`,
  );
  if (nearestMiss && missing.length > 0)
    ways.push(`${nearestMiss.node} lacks ${missing.join(', ')}`);
  for (const one of butForOne) if (one.change) ways.push(`${one.plugin}: ${one.change}`);
  if (nodes)
    ways.push(
      `${plural(nodes.count, 'more node')}${nodes.like ? ` like ${nodes.like}` : ''} would do`,
    );
  return ways;
}

// How many victims each plugin's rules chose, most first.
export function rulesOf(victims: Victim[]): [string, number][] {
  const counts = new Map<string, number>();
  for (const {plugin} of victims)
    counts.set(plugin || 'unknown', (counts.get(plugin || 'unknown') ?? 0) + 1);
  return [...counts].sort((a, b) => b[1] - a[1]);
}
