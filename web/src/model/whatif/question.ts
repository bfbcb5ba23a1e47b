// The question of a simulation: the body of the request (console/questions/simulation_request.h),
// and the part of it that is in the address.

// What an added node offers, where it is not like a node that exists.
export interface Shape {
  cpu: number; // cores
  memory: number; // GiB
  gpus: number; // whole NVIDIA GPUs
}

export interface Question {
  manifest: string;
  drain: string[];
  lose: string[];
  add: number;
  by: 'node' | 'amounts'; // which of the following two the added nodes have
  like: string; // the node whose shape they have
  shape: Shape;
  configuration: string; // a KubeSchedulerConfiguration; "" = the scheduler's own
}

export const MOST_NEW_NODES = 5000;
const LARGEST_REQUEST = 1 << 20; // bytes; console.cc
const PODS = '110'; // of a node with given amounts, as kubelet's default and koordctl simulate

export const isEmpty = (question: Question): boolean =>
  question.manifest.trim() === '' &&
  question.configuration.trim() === '' &&
  !changesNodes(question);
export const changesNodes = (question: Question): boolean =>
  question.drain.length > 0 || question.lose.length > 0 || addsNodes(question);
export const addsNodes = (question: Question): boolean =>
  question.add > 0 &&
  (question.by === 'node'
    ? question.like !== ''
    : question.shape.cpu > 0 && question.shape.memory > 0);

// GPUs are those of the device plugin and of Koordinator, of which koord-manager would report the
// second: pods ask for either.
function nodeOf({cpu, memory, gpus}: Shape): unknown {
  const amounts: Record<string, string> = {cpu: `${cpu}`, memory: `${memory}Gi`, pods: PODS};
  if (gpus > 0) amounts['nvidia.com/gpu'] = `${gpus}`;
  return {
    apiVersion: 'v1',
    kind: 'Node',
    metadata: {},
    status: {capacity: amounts, allocatable: amounts},
  };
}

// The body of the request.
export function requestOf(question: Question): string {
  const {manifest, drain, lose, add, like, shape} = question;
  const spec: Record<string, unknown> = {};
  if (drain.length > 0) spec.drainNodes = drain;
  if (lose.length > 0) spec.loseNodes = lose;
  if (addsNodes(question))
    spec.addNodes = [{count: add, ...(question.by === 'node' ? {like} : {node: nodeOf(shape)})}];
  const configuration = question.configuration.trim() === '' ? undefined : question.configuration;
  return JSON.stringify({manifest, spec, configuration});
}

export const isTooLarge = (request: string): boolean =>
  new TextEncoder().encode(request).length > LARGEST_REQUEST;

const numberIn = (text: string | null, most: number): number => {
  const number = Number(text ?? '0');
  return Number.isFinite(number) ? Math.max(0, Math.min(most, number)) : 0;
};
const wholeIn = (text: string | null, most: number): number => {
  const number = numberIn(text, most);
  return Number.isInteger(number) ? number : 0;
};

// The address has the nodes of a question. The manifest and the configuration are not in it: they
// may be long and secret.
export function questionOf(
  query: URLSearchParams,
  texts: {manifest: string; configuration: string},
): Question {
  const names = (param: string) => [
    ...new Set((query.get(param) ?? '').split(',').filter((name) => name !== '')),
  ];
  return {
    ...texts,
    drain: names('drain'),
    lose: names('lose'),
    add: wholeIn(query.get('add'), MOST_NEW_NODES),
    by: query.get('by') === 'amounts' ? 'amounts' : 'node',
    like: query.get('like') ?? '',
    shape: {
      cpu: numberIn(query.get('cpu'), 1e5),
      memory: numberIn(query.get('memory'), 1e7),
      gpus: wholeIn(query.get('gpus'), 1e4),
    },
  };
}
