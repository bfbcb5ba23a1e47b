// The difference that a simulation makes, node by node: what pods request before and after.

import {useState} from 'preact/hooks';
import {store} from '../feed/api.ts';
import {plural} from '../model/format.ts';
import {barsOf, type Bar, type ChangedNode} from '../model/whatif.ts';
import {nodeLink} from '../state/route.ts';
import {Badge, Card, Legend, Meter} from './bits.tsx';

const FIRST = 24;
const MORE = 96;

const tones = {added: 'good', drained: 'warn', lost: 'bad'};

export function NodeLink({name}: {name: string}) {
  return store.nodes.has(name) ? <a href={nodeLink(name)}>{name}</a> : <>{name}</>;
}

export function NodeChanges({nodes}: {nodes: ChangedNode[]}) {
  const [shown, setShown] = useState(FIRST);
  if (nodes.length === 0) return null;
  const hidden = nodes.length - shown;
  return (
    <Card title={`${plural(nodes.length, 'node')} ${nodes.length === 1 ? 'differs' : 'differ'}`}>
      <Legend
        items={[
          ['capacity', 'before'],
          ['requested', 'after: stays'],
          ['used', 'after: comes'],
          ['leaves', 'after: leaves'],
        ]}
      />
      <ul class="changes">
        {nodes.slice(0, shown).map((node) => (
          <li key={node.name}>
            <p class="change-head">
              <b>
                <NodeLink name={node.name} />
              </b>
              {node.change && <Badge tone={tones[node.change]}>{node.change}</Badge>}
            </p>
            {barsOf(node).map((bar) => (
              <ChangeBar key={bar.label} bar={bar} node={node} />
            ))}
          </li>
        ))}
      </ul>
      {hidden > 0 && (
        <button type="button" class="secondary" onClick={() => setShown(shown + MORE)}>
          Show {Math.min(MORE, hidden)} of {hidden} more
        </button>
      )}
    </Card>
  );
}

function ChangeBar({bar, node}: {bar: Bar; node: ChangedNode}) {
  const whole = Math.max(bar.capacity, bar.before, bar.after);
  const both = Math.min(bar.before, bar.after);
  return (
    <div class="change">
      <span class="change-label">{bar.label}</span>
      <span class="change-bars">
        <Meter
          whole={whole}
          text={`${bar.label} of ${node.name} before`}
          parts={[{label: 'before', value: bar.before, colour: 'capacity'}]}
        />
        <Meter
          whole={whole}
          text={`${bar.label} of ${node.name}: ${bar.text}`}
          parts={[
            {label: 'stays', value: both, colour: 'requested'},
            {label: 'comes', value: bar.after - both, colour: 'used'},
            {label: 'leaves', value: bar.before - both, colour: 'leaves'},
          ]}
        />
      </span>
      <span class="change-text">{bar.text}</span>
    </div>
  );
}
