// Single questions to the console, and the cluster that all pages show.

import {Connection} from './connection.ts';
import {Store} from './store.ts';

const KEY = 'koordinator-console-token';
const PLACES = 'koordinator-console-namespaces';

// The address that koordctl prints ends in #token=...: it moves to the storage of this origin, so
// that a link from the address bar does not give it away.
export function takeToken(): boolean {
  const given = /^#token=([\w-]+)$/.exec(location.hash);
  if (!given?.[1]) return false;
  localStorage.setItem(KEY, given[1]);
  history.replaceState(null, '', location.pathname + location.search);
  return true;
}

// A token of the cluster, for a console of many users. It stays in this tab and ends with it.
export function signIn(token: string): void {
  sessionStorage.setItem(KEY, token);
  location.reload();
}
export function signOut(): void {
  sessionStorage.removeItem(KEY);
  location.reload();
}
export const signedIn = (): boolean => sessionStorage.getItem(KEY) !== null;

// Of the address "?namespaces=a,b": where the console asks about rights first.
export function takeNamespaces(): void {
  const given = new URLSearchParams(location.search).get('namespaces');
  if (given !== null) sessionStorage.setItem(PLACES, given);
}

// A proxy in front of the console may authenticate instead of a token.
function headers(): Record<string, string> {
  const token = sessionStorage.getItem(KEY) ?? localStorage.getItem(KEY) ?? '';
  const own = {'X-Koordinator-Console': '1'};
  return token ? {...own, Authorization: `Bearer ${token}`} : own;
}

export const store = new Store();
export const connection = new Connection(
  store,
  headers,
  () => sessionStorage.getItem(PLACES) ?? '',
);

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
      headers: headers(),
      body: body ?? null,
      cache: 'no-store',
      signal: abandoned ?? null,
    });
  } catch {
    throw new AskError('The console does not answer: is it running?', 0);
  }
  // null: the text ends early, because the console or the connection has ended.
  const content: unknown = await answer.json().catch(() => null);
  if (answer.ok && content !== null) return content as T;
  if (answer.ok) throw new AskError('The answer of the console was cut off.', 0);
  const message = (content as {message?: unknown} | null)?.message;
  const text = typeof message === 'string' ? message : `The console answers ${answer.status}.`;
  throw new AskError(text, answer.status);
}
