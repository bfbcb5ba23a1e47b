// A gang as users see it: how many members are where on their way, and a scale for the timeline.

import type {Gang, Pod} from '../feed/rows.ts';

export interface Job {
  key: string;
  minMember: number;
  total: number;
  pending: number;
  bound: number; // have a node, do not run
  running: number;
  ended: number;
  created: number;
  allBound: number; // when the last of the required members got its node; 0 = not yet
  state: 'waits' | 'starts' | 'runs' | 'done';
}

export function jobOf(key: string, gang: Gang | undefined, pods: Iterable<Pod>): Job {
  const job: Job = {
    key,
    minMember: gang?.minMember ?? 0,
    total: 0,
    pending: 0,
    bound: 0,
    running: 0,
    ended: 0,
    created: gang?.created ?? 0,
    allBound: 0,
    state: 'waits',
  };
  const times: number[] = [];
  for (const pod of pods) {
    job.total++;
    if (!gang) job.minMember = Math.max(job.minMember, pod.required);
    if (job.created === 0 || pod.created < job.created) job.created = pod.created;
    if (pod.bound > 0) times.push(pod.bound);
    if (pod.ended) job.ended++;
    else if (pod.node === '') job.pending++;
    else if (pod.ready > 0) job.running++;
    else job.bound++;
  }
  times.sort((a, b) => a - b);
  const required = Math.max(1, job.minMember);
  job.allBound = times[required - 1] ?? 0;
  const placed = job.bound + job.running + job.ended;
  if (job.total > 0 && job.ended === job.total) job.state = 'done';
  else if (placed < required) job.state = 'waits';
  else job.state = job.running + job.ended >= required ? 'runs' : 'starts';
  return job;
}

// Parts of a member's way as shares of the time that the timeline shows.
export interface Stretch {
  kind: 'queued' | 'starting' | 'running';
  from: number;
  to: number;
}

export function stretchesOf(pod: Pod, begin: number, end: number): Stretch[] {
  const span = Math.max(1, end - begin);
  const at = (time: number) => Math.max(0, Math.min(1, (time - begin) / span));
  const bound = pod.bound || end;
  const list: Stretch[] = [{kind: 'queued', from: at(pod.created), to: at(bound)}];
  if (pod.bound > 0) list.push({kind: 'starting', from: at(bound), to: at(pod.ready || end)});
  if (pod.ready > 0) list.push({kind: 'running', from: at(pod.ready), to: 1});
  return list;
}
