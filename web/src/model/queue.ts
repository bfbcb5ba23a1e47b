// Where a pending pod stands among those of its quota, and how long it may wait.
//
// koord-scheduler takes pods by priority, then by age. The position is the rank in this order. The
// estimate divides it by the rate at which pods of the quota that request at least as much got
// nodes in the last ten minutes; without such pods there is none. It is a guess from the past: the
// words of the scheduler have the reason.

import type {Pod} from '../feed/rows.ts';
import type {Store} from '../feed/store.ts';
import {age} from './format.ts';

const WINDOW = 600;

export interface Place {
  position: number; // from 1
  waiting: number;
  estimate: number | null; // seconds
  text: string;
}

const before = (a: Pod, b: Pod): boolean =>
  a.priority !== b.priority
    ? a.priority > b.priority
    : a.created !== b.created
      ? a.created < b.created
      : a.key < b.key;

// The queues of all quotas, computed once for a list of pods.
export class Queues {
  private readonly positions = new Map<string, number>();
  private readonly lengths = new Map<string, number>();
  private readonly bound = new Map<string, Pod[]>(); // lately, by quota
  private readonly rates = new Map<string, number>(); // by quota and request

  constructor(store: Store, now: number) {
    const queues = new Map<string, Pod[]>();
    for (const pod of store.waiting) {
      const queue = queues.get(pod.quota);
      if (queue) queue.push(pod);
      else queues.set(pod.quota, [pod]);
    }
    for (const [quota, pods] of queues) {
      pods.sort((a, b) => (before(a, b) ? -1 : 1));
      pods.forEach((pod, i) => this.positions.set(pod.key, i + 1));
      this.lengths.set(quota, pods.length);
      const members = quota === '' ? store.pods.values() : store.byQuota.get(quota);
      const lately: Pod[] = [];
      for (const pod of members)
        if (pod.quota === quota && pod.bound > now - WINDOW) lately.push(pod);
      this.bound.set(quota, lately);
    }
  }

  // How many pods of the quota that request at least as much got nodes lately.
  private boundLike(pod: Pod): number {
    const key = `${pod.quota} ${pod.cpu} ${pod.memory} ${pod.gpu}`;
    const known = this.rates.get(key);
    if (known !== undefined) return known;
    const like = (this.bound.get(pod.quota) ?? []).filter(
      (one) => one.cpu >= pod.cpu && one.memory >= pod.memory && one.gpu >= pod.gpu,
    );
    this.rates.set(key, like.length);
    return like.length;
  }

  placeOf(pod: Pod): Place {
    const position = this.positions.get(pod.key) ?? 1;
    const waiting = this.lengths.get(pod.quota) ?? 1;
    const bound = this.boundLike(pod);
    const estimate = bound > 0 ? (position * WINDOW) / bound : null;
    const where = pod.quota ? `of ${waiting} in ${pod.quota}` : `of ${waiting} without a quota`;
    const when = estimate === null ? '' : `; about ${age(estimate)} at the rate of the last 10 min`;
    return {position, waiting, estimate, text: `${position} ${where}${when}`};
  }
}

export const queueOf = (store: Store, pod: Pod, now: number): Place =>
  new Queues(store, now).placeOf(pod);

// "0/12 nodes are available: 3 Insufficient cpu, 9 node(s) had untolerated taint(s)." as
// "Insufficient cpu; node(s) had untolerated taint(s)": the same for clusters of any size, so that
// pods with the same reasons count together. Members of a gang quote the reason of one of them.
export function summaryOf(message: string): string {
  const quoted = /GangGroup .*? with reason "?(.*)$/s.exec(message)?.[1];
  if (quoted) return `its gang: ${summaryOf(quoted)}`;
  const reasons = /nodes are available: (.*?)(?:\.(?:[\s",]|$)|"|$)/s.exec(message)?.[1];
  if (!reasons) return message.split(/\.(?:\s|$)/)[0] || 'not tried yet';
  return reasons
    .split(', ')
    .map((part) => part.replace(/^\d+ /, ''))
    .join('; ');
}
