// The question and the answer of a simulation (koordctl/console/console_simulate.h), and what the
// page draws of the answer.

import {bytes, cores, count} from './format.ts';
import {quantity} from './quantity.ts';

export interface Question {
  manifest: string;
  drain: string[];
  add: number;
  like: string; // the node whose shape added nodes have
}

export const MOST_NEW_NODES = 5000;
const LARGEST_REQUEST = 1 << 20; // bytes; console.cc

export const isEmpty = (question: Question): boolean =>
  question.manifest.trim() === '' && question.drain.length === 0 && !addsNodes(question);
export const addsNodes = (question: Question): boolean => question.add > 0 && question.like !== '';

// The body of the request.
export function requestOf(question: Question): string {
  const spec: Record<string, unknown> = {};
  if (question.drain.length > 0) spec.drainNodes = question.drain;
  if (addsNodes(question)) spec.addNodes = [{count: question.add, like: question.like}];
  return JSON.stringify({manifest: question.manifest, spec});
}

export const isTooLarge = (request: string): boolean =>
  new TextEncoder().encode(request).length > LARGEST_REQUEST;

// The address has the nodes of a question. The manifest is not in it: it may be long and secret.
export function questionOf(query: URLSearchParams, manifest: string): Question {
  const add = Number(query.get('add') ?? '0');
  const whole = Number.isInteger(add) ? Math.max(0, Math.min(MOST_NEW_NODES, add)) : 0;
  const names = (query.get('drain') ?? '').split(',').filter((name) => name !== '');
  return {manifest, drain: [...new Set(names)], add: whole, like: query.get('like') ?? ''};
}

export type Amounts = Record<string, string>;

export interface AnsweredPod {
  namespace: string;
  name: string;
  of?: string; // "Deployment shop/web"
  from?: string;
  state: 'placed' | 'pending' | 'notTried' | 'notRecreated';
  node?: string;
  nominatedNode?: string;
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
type QuotaAmounts = Partial<Record<'min' | 'max' | 'runtime' | 'used', Amounts>>;

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
  hiddenRemedies?: number;
}

export const keyOf = (object: {namespace?: string; name?: string}): string =>
  object.namespace ? `${object.namespace}/${object.name ?? ''}` : (object.name ?? '');

export function summaryOf(status: Status): string {
  const victims = (status.victims?.length ?? 0) + (status.hiddenVictims ?? 0);
  return `${status.placed ?? 0} placed, ${status.pending ?? 0} pending, ${victims} preempted`;
}

// A resource of a node before and after, in one unit.
export interface Bar {
  label: string;
  capacity: number;
  before: number;
  after: number;
  text: string; // "2 → 5 of 32 cores"
}

const gibibytes = (amount: number): string => (amount === 0 ? '0' : bytes(amount / 2 ** 20));
const wholeCores = (amount: number): string => cores(1000 * amount);

// koordinator.sh/gpu and its parts count hundredths of a device, vendors count devices.
function gpus(amounts: Amounts | undefined): number {
  const of = (name: string) => quantity(amounts?.[`koordinator.sh/${name}`]) / 100;
  const shares = Math.max(of('gpu'), of('gpu-core'), of('gpu-memory-ratio'));
  if (shares > 0) return shares;
  return Object.entries(amounts ?? {})
    .filter(([name]) => name.endsWith('.com/gpu'))
    .reduce((sum, [, amount]) => sum + quantity(amount), 0);
}

const plain =
  (name: string, unit = 1) =>
  (amounts: Amounts | undefined): number =>
    quantity(amounts?.[name]) / unit;

const drawn: {
  label: string;
  of: (amounts: Amounts | undefined) => number;
  text: (value: number) => string;
  unit: string;
}[] = [
  {label: 'CPU', of: plain('cpu'), text: wholeCores, unit: ' cores'},
  {label: 'Memory', of: plain('memory'), text: gibibytes, unit: ''},
  {label: 'GPUs', of: gpus, text: (value) => String(Number(value.toFixed(2))), unit: ''},
  {
    label: 'Batch CPU',
    of: plain('kubernetes.io/batch-cpu', 1000),
    text: wholeCores,
    unit: ' cores',
  },
  {
    label: 'Batch memory',
    of: plain('kubernetes.io/batch-memory'),
    text: gibibytes,
    unit: '',
  },
  {label: 'Pods', of: plain('pods'), text: count, unit: ''},
];

// What differs on the node. Nodes that only come or go, without pods, show their CPU and memory.
export function barsOf(node: ChangedNode): Bar[] {
  const bars = drawn.map(({label, of, text, unit}): Bar => {
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

export interface PendingGroup {
  key: string; // the workload or the pod
  pods: AnsweredPod[];
  why: string;
  remedies: Remedy[];
}

const wordsOf: Record<string, string> = {
  notTried: 'not tried',
  notRecreated: 'not created again',
};

// Pods that have no node for the same reason, with what would help them.
export function pendingGroups(status: Status): PendingGroup[] {
  const groups = new Map<string, PendingGroup>();
  for (const pod of status.pods ?? []) {
    if (pod.state === 'placed') continue;
    const message = pod.message || wordsOf[pod.state] || 'no reason is known';
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
      `${nodes.count} more ${nodes.count === 1 ? 'node' : 'nodes'}` +
        `${nodes.like ? ` like ${nodes.like}` : ''} would do`,
    );
  return ways;
}

export interface QuotaLine {
  quota: string;
  resource: string;
  before: number;
  after: number;
  runtimeBefore: number; // 0 = none
  runtime: number;
  max: number; // Infinity without a limit
}

const LIMITLESS = 1e15; // the default quota's max is the largest integer of thousandths

// The resources of quotas whose use or runtime differs.
export function quotaLines(status: Status): QuotaLine[] {
  const lines: QuotaLine[] = [];
  for (const {name, before, after} of status.quotas ?? []) {
    const resources = new Set([
      ...Object.keys(after?.used ?? {}),
      ...Object.keys(after?.runtime ?? {}),
    ]);
    for (const resource of resources) {
      const of = (amounts: QuotaAmounts | null, what: keyof QuotaAmounts) =>
        quantity(amounts?.[what]?.[resource]);
      const given = after?.max?.[resource] === undefined ? Infinity : of(after, 'max');
      const line = {
        quota: name,
        resource,
        before: of(before, 'used'),
        after: of(after, 'used'),
        runtimeBefore: of(before, 'runtime'),
        runtime: of(after, 'runtime'),
        max: given < LIMITLESS ? given : Infinity,
      };
      if (line.before !== line.after || line.runtimeBefore !== line.runtime) lines.push(line);
    }
  }
  return lines;
}

// An amount of a quota: its unit follows from the resource.
export function quotaAmount(resource: string, value: number): string {
  if (!Number.isFinite(value)) return '–';
  if (resource === 'cpu') return wholeCores(value);
  return /memory|storage/.test(resource) && value >= 1024 ? gibibytes(value) : count(value);
}

// How many victims each plugin's rules chose, most first.
export function rulesOf(victims: Victim[]): [string, number][] {
  const counts = new Map<string, number>();
  for (const {plugin} of victims)
    counts.set(plugin || 'unknown', (counts.get(plugin || 'unknown') ?? 0) + 1);
  return [...counts].sort((a, b) => b[1] - a[1]);
}

export interface Problem {
  title: string;
  why: string;
  help: string;
}

const COMMAND = 'koordctl simulate -f FILE asks from a host that reaches it.';
const problems: Record<number, [string, string]> = {
  400: ['The question is not valid', 'Correct it and ask again.'],
  403: [
    'You lack a right',
    'A simulation needs the rights to do what it supposes. The ClusterRole ' +
      'koord-scheduler-simulate allows to ask.',
  ],
  404: [
    'No koord-scheduler that simulates is reached',
    `Is it running? koordctl console takes its address with --scheduler. ${COMMAND}`,
  ],
  413: [
    'The question is too large',
    'The console takes 1 MiB. koordctl simulate -f FILE takes 3 MiB.',
  ],
  429: ['Too many simulations run now', 'Ask again in a moment.'],
  502: ['koord-scheduler does not answer', `Is it running? ${COMMAND}`],
  503: ['koord-scheduler cannot simulate now', `Ask again in a moment. ${COMMAND}`],
  504: ['There is no answer in time', 'Ask about less: fewer pods or fewer nodes.'],
};

// What went wrong, in words. status: of HTTP; 0 = the console did not answer.
export function problemOf(status: number, message: string): Problem {
  const why = message.replace(/^koord-scheduler: /, '').replace(/ \(status \d+\)$/, '');
  const [title, help] = problems[status] ?? ['There is no answer', 'Ask again.'];
  const object = /^spec\.objects\[(\d+)\]/.exec(why);
  const place = object ? `It is object ${Number(object[1]) + 1} of the manifest. ` : '';
  return {title, why, help: place + help};
}
