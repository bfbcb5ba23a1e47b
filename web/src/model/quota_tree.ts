// Quotas as trees, and what each lends and borrows.

import type {Amounts, Quota} from '../feed/rows.ts';

export interface QuotaLine {
  quota: Quota;
  depth: number;
  path: string[]; // names from the root
}

const DEEPEST = 20;

// In the order of a tree: a quota, then its children by name. Quotas that name each other as
// parents, which the webhook rejects, come last.
export function quotaLines(quotas: Iterable<Quota>): QuotaLine[] {
  const all = [...quotas].sort((a, b) => (a.name < b.name ? -1 : a.name > b.name ? 1 : 0));
  const names = new Set(all.map((quota) => quota.name));
  const children = new Map<string, Quota[]>();
  for (const quota of all) {
    const below = quota.parent !== quota.name && names.has(quota.parent);
    const parent = below ? quota.parent : '';
    children.set(parent, [...(children.get(parent) ?? []), quota]);
  }
  const lines: QuotaLine[] = [];
  const seen = new Set<Quota>();
  const add = (quota: Quota, path: string[]) => {
    if (seen.has(quota) || path.length > DEEPEST) return;
    seen.add(quota);
    lines.push({quota, depth: path.length, path: [...path, quota.name]});
    for (const child of children.get(quota.name) ?? []) add(child, [...path, quota.name]);
  };
  for (const quota of children.get('') ?? []) add(quota, []);
  for (const quota of all) add(quota, []);
  return lines;
}

export interface Balance {
  used: number;
  min: number;
  max: number; // Infinity without a limit
  runtime: number;
  lent: number; // of its min, that it does not use
  borrowed: number; // used beyond its min
}

// koord-manager gives its own quotas a max near the largest integer.
const LIMITLESS = 1e12;
export const limitOf = (max: number): number => (max < LIMITLESS ? max : Infinity);

export function balanceOf(quota: Quota, resource: string): Balance {
  const of = (list: Amounts) => list[resource] ?? 0;
  const used = of(quota.used);
  const min = of(quota.min);
  const max = limitOf(quota.max[resource] ?? Infinity);
  return {
    used,
    min,
    max,
    runtime: of(quota.runtime),
    lent: quota.lends ? Math.max(0, min - Math.max(used, of(quota.request))) : 0,
    borrowed: Math.max(0, used - min),
  };
}

// The resources that any quota limits, cpu and memory first.
export function resourcesOf(quotas: Iterable<Quota>): string[] {
  const names = new Set<string>(['cpu', 'memory']);
  for (const quota of quotas)
    for (const name of [...Object.keys(quota.max), ...Object.keys(quota.min)]) names.add(name);
  return [...names];
}
