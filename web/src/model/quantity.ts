// Amounts of Kubernetes as numbers: "250m" is 0.25, "4Gi" is 4294967296.

import {isMemory} from './format.ts';

const suffixes: Record<string, number> = {
  n: 1e-9,
  u: 1e-6,
  m: 1e-3,
  k: 1e3,
  M: 1e6,
  G: 1e9,
  T: 1e12,
  P: 1e15,
  E: 1e18,
  Ki: 2 ** 10,
  Mi: 2 ** 20,
  Gi: 2 ** 30,
  Ti: 2 ** 40,
  Pi: 2 ** 50,
  Ei: 2 ** 60,
};

// 0 for what is not a quantity.
export function quantity(text: unknown): number {
  if (typeof text !== 'string') return 0;
  const parts = /^([+-]?[0-9.]+(?:[eE][+-]?[0-9]+)?)([A-Za-z]{0,2})$/.exec(text);
  const factor = parts?.[2] ? suffixes[parts[2]] : 1;
  const value = Number(parts?.[1]) * (factor ?? NaN);
  return Number.isFinite(value) ? value : 0;
}

// In the units of the feed (feed/rows.ts): cpu in thousandths, memory in MiB, others as they are.
export function amountOf(resource: string, text: unknown): number {
  const value = quantity(text);
  if (resource === 'cpu') return 1000 * value;
  return isMemory(resource) ? value / 2 ** 20 : value;
}
