// What would happen if? A manifest, nodes that are drained and nodes that are added go to
// koord-scheduler as a simulation. The nodes of the question are in the address, the manifest is
// not. A link with nodes asks at once, because asking changes nothing.

import {signal} from '@preact/signals';
import {useEffect} from 'preact/hooks';
import {ask, AskError, store} from '../feed/api.ts';
import {status} from '../feed/connection.ts';
import {
  addsNodes,
  isEmpty,
  isTooLarge,
  MOST_NEW_NODES,
  problemOf,
  questionOf,
  requestOf,
  summaryOf,
  type Problem,
  type Question,
  type Status,
} from '../model/whatif.ts';
import {query, setQuery} from '../state/route.ts';
import {Card, Heading} from '../ui/bits.tsx';
import {Empty} from '../ui/empty.tsx';
import {NodePicker, shapeOf} from '../ui/node_picker.tsx';
import {useSlowly} from '../ui/slowly.ts';
import {Answer} from './whatif_answer.tsx';

// These outlive the page, so that the way back from a node leads to the same answer.
const manifest = signal('');
const asked = signal(''); // the request that `result` answers
const result = signal<{answer?: Status; problem?: Problem; running?: boolean}>({});

const EXAMPLE = `apiVersion: apps/v1
kind: Deployment
metadata:
  name: example
spec:
  replicas: 3
  selector:
    matchLabels: {app: example}
  template:
    metadata:
      labels: {app: example}
    spec:
      schedulerName: koord-scheduler
      containers:
      - name: main
        image: nginx
        resources:
          requests: {cpu: "2", memory: 4Gi}
`;

async function simulate(question: Question): Promise<void> {
  const request = requestOf(question);
  asked.value = request;
  if (isTooLarge(request)) {
    result.value = {problem: problemOf(413, 'It has more than 1 MiB.')};
    return;
  }
  result.value = {running: true};
  let next: typeof result.value;
  try {
    const {status: answer} = await ask<{status?: Status}>('simulate', {}, request);
    next = answer ? {answer} : {problem: problemOf(502, 'The answer has no status.')};
  } catch (error) {
    const code = error instanceof AskError ? error.status : 0;
    next = {problem: problemOf(code, error instanceof Error ? error.message : String(error))};
  }
  // An answer to an earlier question comes too late.
  if (asked.value === request) result.value = next;
}

export function WhatIfPage() {
  const question = questionOf(query.value, manifest.value);
  const able = status.value?.simulates;
  const request = requestOf(question);
  useEffect(() => {
    const fromLink = question.drain.length > 0 || addsNodes(question);
    if (able && fromLink && asked.value !== request) void simulate(question);
  }, [able]);
  if (able === false)
    return (
      <Empty title="This console does not simulate">
        <p>koordctl simulate -f FILE asks koord-scheduler what would happen with a manifest.</p>
      </Empty>
    );
  const run = () => {
    if (!isEmpty(question)) void simulate(question);
  };
  const onKey = (event: KeyboardEvent) => {
    if (event.key === 'Enter' && (event.ctrlKey || event.metaKey)) run();
  };
  return (
    <>
      <Heading title="What would happen if?" />
      <div class="columns" onKeyDown={onKey}>
        <ManifestCard />
        <div>
          <DrainCard question={question} />
          <AddCard question={question} />
          <p class="ask">
            <button type="button" class="primary" disabled={isEmpty(question)} onClick={run}>
              Simulate
            </button>
            <span class="quiet">
              Nothing changes in the cluster. <kbd>Ctrl</kbd> <kbd>Enter</kbd> asks, too.
            </span>
          </p>
        </div>
      </div>
      <p class="unseen" role="status">
        {result.value.running ? 'koord-scheduler simulates' : ''}
        {result.value.answer ? summaryOf(result.value.answer) : ''}
      </p>
      <Result stale={asked.value !== '' && asked.value !== request} />
    </>
  );
}

function ManifestCard() {
  const read = async (input: HTMLInputElement) => {
    const file = input.files?.[0];
    if (file) manifest.value = await file.text();
    input.value = '';
  };
  return (
    <Card title="A manifest is created">
      <textarea
        class="manifest"
        aria-label="Manifest: YAML documents or JSON, as kubectl takes them"
        placeholder="Pods, workloads, gangs, quotas, reservations, as kubectl takes them"
        value={manifest.value}
        spellcheck={false}
        onInput={(event) => {
          manifest.value = event.currentTarget.value;
        }}
      />
      <div class="ask">
        <label class="secondary">
          Open a file …
          <input type="file" onChange={(event) => void read(event.currentTarget)} />
        </label>
        <button
          type="button"
          class="secondary"
          onClick={() => {
            manifest.value = manifest.value === '' ? EXAMPLE : '';
          }}
        >
          {manifest.value === '' ? 'Insert an example' : 'Clear'}
        </button>
      </div>
    </Card>
  );
}

function DrainCard({question}: {question: Question}) {
  const drain = (names: string[]) => setQuery({drain: names.join(',')});
  return (
    <Card title="Nodes are drained">
      <NodePicker
        id="drain"
        label="Find a node to drain"
        placeholder="Find a node …"
        without={question.drain}
        onPick={(name) => drain([...question.drain, name])}
      />
      {question.drain.length > 0 && (
        <ul class="chips chosen" aria-label="Nodes that are drained">
          {question.drain.map((name) => (
            <li key={name}>
              {name}
              <button
                type="button"
                aria-label={`Do not drain ${name}`}
                onClick={() => drain(question.drain.filter((other) => other !== name))}
              >
                ×
              </button>
            </li>
          ))}
        </ul>
      )}
    </Card>
  );
}

function AddCard({question}: {question: Question}) {
  useSlowly(['nodes'], 2000);
  const like = store.nodes.get(question.like);
  const shape = `${question.like}${like ? `: ${shapeOf(like)}` : ''}`;
  const advice =
    question.add > 0
      ? 'Choose the node whose shape they have.'
      : 'They have its labels, taints and devices, and no pods.';
  return (
    <Card title="Nodes are added">
      <div class="ask">
        <input
          class="filter amount"
          type="number"
          min={0}
          max={MOST_NEW_NODES}
          aria-label="Number of nodes to add"
          value={question.add}
          onInput={({currentTarget: {value}}) => setQuery({add: Number(value) > 0 ? value : ''})}
        />
        <span>nodes of the shape of</span>
        <NodePicker
          id="like"
          label="Find a node whose shape the added nodes have"
          placeholder={question.like || 'Find a node …'}
          without={[]}
          onPick={(name) => setQuery({like: name, add: String(question.add || 1)})}
        />
      </div>
      <p class="quiet">{question.like ? shape : advice}</p>
    </Card>
  );
}

function Result({stale}: {stale: boolean}) {
  const {answer, problem, running} = result.value;
  if (running) return <p class="note">koord-scheduler simulates …</p>;
  if (problem)
    return (
      <section class="card" role="alert">
        <h2>{problem.title}</h2>
        <p class="problem-text">{problem.why}</p>
        <p class="quiet">{problem.help}</p>
      </section>
    );
  if (!answer)
    return (
      <Empty title="Nothing is asked yet">
        <p>
          koord-scheduler plays the question through in a copy of itself: where pods go, which pods
          are preempted, what stays pending and what it takes.
        </p>
      </Empty>
    );
  return (
    <>
      {stale && <p class="note">The answer below is that of the question before.</p>}
      <Answer
        status={answer}
        onAddNodes={(count, like) => {
          setQuery({add: String(count), like});
          void simulate(questionOf(query.value, manifest.value));
        }}
      />
    </>
  );
}
