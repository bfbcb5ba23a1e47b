// The difference that a simulation makes, node by node: what pods request before and after.

import {useState} from 'preact/hooks';
import {plural} from '../../model/format.ts';
import type {ChangedNode} from '../../model/whatif/answer.ts';
import {barsOf, type Bar} from '../../model/whatif/difference.ts';
import {Badge, Card, DifferenceMeter, Legend, Meter} from '../../ui/bits.tsx';
import {NodeLink} from './node_link.tsx';

const FIRST = 24;
const MORE = 96;

const tones = {added: 'good', drained: 'warn', lost: 'bad'};

export function Nodes({nodes}: {nodes: ChangedNode[]}) {
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
  return (
    <div class="change">
      <span class="change-label">{bar.label}</span>
      <span class="change-bars">
        <Meter
          whole={whole}
          text={`${bar.label} of ${node.name} before`}
          parts={[{label: 'before', value: bar.before, colour: 'capacity'}]}
        />
        <DifferenceMeter
          before={bar.before}
          after={bar.after}
          whole={whole}
          text={`${bar.label} of ${node.name}: ${bar.text}`}
        />
      </span>
      <span class="change-text">{bar.text}</span>
    </div>
  );
}
