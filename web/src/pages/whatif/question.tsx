// The parts of a question: a manifest, nodes that are drained, and nodes that are added.

import {signal} from '@preact/signals';
import {store} from '../../feed/api.ts';
import {MOST_NEW_NODES, type Question} from '../../model/whatif/question.ts';
import {setQuery} from '../../state/route.ts';
import {Card} from '../../ui/bits.tsx';
import {NodePicker, shapeOf} from '../../ui/node_picker.tsx';
import {useSlowly} from '../../ui/slowly.ts';

// It outlives the page, as the answer does.
export const manifest = signal('');

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

export function ManifestCard() {
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

export function DrainCard({question}: {question: Question}) {
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

export function AddCard({question}: {question: Question}) {
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
