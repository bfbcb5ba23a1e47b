// Single questions to the console, and the cluster that all pages show.

import {Connection} from './connection.ts';
import {Store} from './store.ts';

const KEY = 'koordinator-console-token';

// The address that koordctl prints ends in #token=...: it moves to the storage of this origin, so
// that a link from the address bar does not give it away.
export function takeToken(): boolean {
  const given = /^#token=([\w-]+)$/.exec(location.hash);
  if (!given?.[1]) return false;
  localStorage.setItem(KEY, given[1]);
  history.replaceState(null, '', location.pathname + location.search);
  return true;
}

const token = (): string => localStorage.getItem(KEY) ?? '';

export const store = new Store();
export const connection = new Connection(store, token);

// Why there is no answer, in words. status: of HTTP; 0 = the console does not answer.
export class AskError extends Error {
  constructor(
    message: string,
    readonly status: number,
  ) {
    super(message);
  }
}

// Fails with an AskError.
export async function ask<T>(
  path: string,
  params: Record<string, string>,
  body?: string,
  abandoned?: AbortSignal,
): Promise<T> {
  const query = new URLSearchParams(params).toString();
  let answer: Response;
  try {
    answer = await fetch(`/api/v1/${path}${query ? `?${query}` : ''}`, {
      method: body === undefined ? 'GET' : 'POST',
      headers: {Authorization: `Bearer ${token()}`},
      body: body ?? null,
      cache: 'no-store',
      signal: abandoned ?? null,
    });
  } catch {
    throw new AskError('The console does not answer: is koordctl running?', 0);
  }
  const content: unknown = await answer.json().catch(() => null);
  if (answer.ok) return content as T;
  const message = (content as {message?: unknown} | null)?.message;
  const text = typeof message === 'string' ? message : `The console answers ${answer.status}.`;
  throw new AskError(text, answer.status);
}
