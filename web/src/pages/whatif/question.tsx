// The parts of a question: a manifest, nodes that are drained, lost and added, and a configuration
// of the scheduler.

import {signal, type Signal} from '@preact/signals';
import {store} from '../../feed/api.ts';
import {MOST_NEW_NODES, type Question} from '../../model/whatif/question.ts';
import {setQuery} from '../../state/route.ts';
import {Card, Choice} from '../../ui/bits.tsx';
import {NodePicker, shapeOf} from '../../ui/node_picker.tsx';

// They outlive the page, as the answer does.
export const manifest = signal('');
export const configuration = signal('');
export function texts(): {manifest: string; configuration: string} {
  return {manifest: manifest.value, configuration: configuration.value};
}

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

const EXAMPLE_CONFIGURATION = `apiVersion: kubescheduler.config.k8s.io/v1
kind: KubeSchedulerConfiguration
profiles:
- schedulerName: koord-scheduler
  pluginConfig:
  - name: NodeResourcesFit
    args:
      scoringStrategy: {type: MostAllocated, resources: [{name: cpu, weight: 1}]}
`;

// A text that a user types, opens from a file or begins with an example.
function TextCard(props: {
  title: string;
  label: string;
  placeholder: string;
  text: Signal<string>;
  example: string;
  low?: boolean;
}) {
  const {text} = props;
  const read = async (input: HTMLInputElement) => {
    const file = input.files?.[0];
    if (file) text.value = await file.text();
    input.value = '';
  };
  return (
    <Card title={props.title}>
      <textarea
        class={props.low ? 'manifest low' : 'manifest'}
        aria-label={props.label}
        placeholder={props.placeholder}
        value={text.value}
        spellcheck={false}
        onInput={(event) => {
          text.value = event.currentTarget.value;
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
            text.value = text.value === '' ? props.example : '';
          }}
        >
          {text.value === '' ? 'Insert an example' : 'Clear'}
        </button>
      </div>
    </Card>
  );
}

export function ManifestCard() {
  return (
    <TextCard
      title="A manifest is created"
      label="Manifest: YAML documents or JSON, as kubectl takes them"
      placeholder="Pods, workloads, gangs, quotas, reservations, as kubectl takes them"
      text={manifest}
      example={EXAMPLE}
    />
  );
}

export function ConfigurationCard() {
  return (
    <TextCard
      title="The scheduler has another configuration"
      label="A KubeSchedulerConfiguration as YAML"
      placeholder="A KubeSchedulerConfiguration, whole; empty: as it is"
      text={configuration}
      example={EXAMPLE_CONFIGURATION}
      low
    />
  );
}

// Nodes that are drained or lost: a list in the address.
export function NodesCard({question, what}: {question: Question; what: 'drain' | 'lose'}) {
  const names = question[what];
  const set = (next: string[]) => setQuery({[what]: next.join(',')});
  const done = what === 'drain' ? 'drained' : 'lost';
  return (
    <Card title={`Nodes are ${done}`}>
      <NodePicker
        id={what}
        label={`Find a node to ${what}`}
        placeholder="Find a node …"
        without={[...question.drain, ...question.lose]}
        onPick={(name) => set([...names, name])}
      />
      {names.length > 0 && (
        <ul class="chips chosen" aria-label={`Nodes that are ${done}`}>
          {names.map((name) => (
            <li key={name}>
              {name}
              <button
                type="button"
                aria-label={`Do not ${what} ${name}`}
                onClick={() => set(names.filter((other) => other !== name))}
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

function NumberField(props: {name: string; label: string; value: number; max: number}) {
  return (
    <input
      class="filter amount"
      type="number"
      min={0}
      max={props.max}
      aria-label={props.label}
      value={props.value}
      onInput={({currentTarget: {value}}) =>
        setQuery({[props.name]: Number(value) > 0 ? value : ''})
      }
    />
  );
}

export function AddCard({question}: {question: Question}) {
  const {by, add, shape} = question;
  return (
    <Card title="Nodes are added">
      <Choice
        label="Shape of added nodes"
        value={by}
        options={[
          ['node', 'Like a node'],
          ['amounts', 'With amounts'],
        ]}
        onChange={(next) => setQuery({by: next === 'node' ? '' : next})}
      />
      <div class="ask added">
        <NumberField name="add" label="Number of nodes to add" value={add} max={MOST_NEW_NODES} />
        {by === 'node' ? (
          <>
            <span>nodes of the shape of</span>
            <NodePicker
              id="like"
              label="Find a node whose shape the added nodes have"
              placeholder={question.like || 'Find a node …'}
              without={[]}
              onPick={(name) => setQuery({like: name, add: String(add || 1)})}
            />
          </>
        ) : (
          <>
            <span>nodes with</span>
            <NumberField name="cpu" label="Cores of each" value={shape.cpu} max={1e5} /> cores,
            <NumberField name="memory" label="GiB of each" value={shape.memory} max={1e7} /> GiB,
            <NumberField name="gpus" label="GPUs of each" value={shape.gpus} max={1e4} /> GPUs
          </>
        )}
      </div>
      <p class="quiet">{adviceOf(question)}</p>
    </Card>
  );
}

function adviceOf({by, add, like, shape}: Question): string {
  if (by === 'amounts') {
    if (add > 0 && (shape.cpu === 0 || shape.memory === 0)) return 'They need cores and memory.';
    return 'They have no labels, taints and pods.';
  }
  const node = store.nodes.get(like);
  if (like) return `${like}${node ? `: ${shapeOf(node)}` : ''}`;
  return add > 0
    ? 'Choose the node whose shape they have.'
    : 'They have its labels, taints and devices, and no pods.';
}
