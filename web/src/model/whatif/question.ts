// The question of a simulation: the body of the request (koordctl/console/console_simulate.h), and
// the part of it that is in the address.

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
