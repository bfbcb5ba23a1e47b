// The answer of a simulation: its figures, what differs, and what would help pods without a node.

import {useMemo} from 'preact/hooks';
import {now} from '../../feed/connection.ts';
import {age, count, plural} from '../../model/format.ts';
import {
  countsOf,
  keyOf,
  pendingGroups,
  waysOf,
  type PendingGroup,
  type Remedy,
  type Status,
} from '../../model/whatif/answer.ts';
import {Card, Figure} from '../../ui/bits.tsx';
import {Nodes} from './nodes.tsx';
import {Others, Pods, Victims} from './pods.tsx';
import {Quotas} from './quotas.tsx';

type AddNodes = (count: number, like: string) => void;

export function Answer({status, onAddNodes}: {status: Status; onAddNodes: AddNodes}) {
  const groups = useMemo(() => pendingGroups(status), [status]);
  return (
    <>
      <Summary status={status} />
      {(status.notes ?? []).map((note) => (
        <p key={note} class="note">
          {note}
        </p>
      ))}
      <Nodes key={status.state?.time} nodes={status.nodes ?? []} />
      {groups.length > 0 && <Pending groups={groups} onAddNodes={onAddNodes} />}
      <Victims status={status} />
      <Pods status={status} />
      <Others status={status} />
      <Quotas status={status} />
    </>
  );
}

function Summary({status}: {status: Status}) {
  const {placed, pending, victims, others} = countsOf(status);
  const taken = Date.parse(status.state?.time ?? '') / 1000;
  return (
    <section class="figures" aria-label="Result">
      <Figure label="Placed" tone="free" value={count(placed)} note="pods get nodes" />
      <Figure
        label="Pending"
        tone="batch"
        value={count(pending)}
        note={status.notTried ? `${count(status.notTried)} of them not tried` : 'pods get none'}
      />
      <Figure label="Preempted" tone="alarm" value={count(victims)} note="pods leave for others" />
      <Figure
        label="Others"
        tone="used"
        value={count(others)}
        note="pods that wait now get nodes"
      />
      <Figure
        label="State of the cluster"
        value={Number.isFinite(taken) ? age(now.value - taken) : '–'}
        unit="ago"
        note={status.complete ? 'complete' : 'a limit was reached'}
      />
    </section>
  );
}

const NAMES = 3; // of pods of a group

function groupName({pods}: PendingGroup): string {
  const of = pods[0]?.of;
  if (of && pods.length > 1) return `${plural(pods.length, 'pod')} of ${of}`;
  const names = pods.slice(0, NAMES).map(keyOf).join(', ');
  const more = pods.length - NAMES;
  return more > 0 ? `${names} and ${count(more)} more` : names;
}

function Pending({groups, onAddNodes}: {groups: PendingGroup[]; onAddNodes: AddNodes}) {
  return (
    <Card title="Without a node">
      <ul class="waiting">
        {groups.map((group) => (
          <li key={group.key + group.why}>
            <p>
              <b>{groupName(group)}</b>
            </p>
            <p class="problem-text">{group.why}</p>
            {group.remedies.map((remedy) => (
              <Ways key={keyOf(remedy)} remedy={remedy} onAddNodes={onAddNodes} />
            ))}
          </li>
        ))}
      </ul>
    </Card>
  );
}

function Ways({remedy, onAddNodes}: {remedy: Remedy; onAddNodes: AddNodes}) {
  const ways = waysOf(remedy);
  const {count: nodes, like} = remedy.nodes ?? {count: 0};
  if (ways.length === 0)
    return <p class="quiet">koord-scheduler has found no small change that would help.</p>;
  return (
    <ul class="ways" aria-label="What would help">
      {ways.map((way) => (
        <li key={way}>{way}</li>
      ))}
      {like && (
        <li>
          <button type="button" class="secondary" onClick={() => onAddNodes(nodes, like)}>
            Simulate with {plural(nodes, 'more node')}
          </button>
        </li>
      )}
    </ul>
  );
}
