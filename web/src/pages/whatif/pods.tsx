// The pods of an answer: of the question, those that would be preempted, and others that wait now.

import {count, plural} from '../../model/format.ts';
import {
  keyOf,
  rulesOf,
  stateTexts,
  type AnsweredPod,
  type Status,
  type Victim,
} from '../../model/whatif/answer.ts';
import {podLink} from '../../state/route.ts';
import {Badge, Card} from '../../ui/bits.tsx';
import {Empty} from '../../ui/empty.tsx';
import {Table, textColumn, type Column} from '../../ui/table.tsx';
import {NodeLink} from './node_link.tsx';

// Pods in namespaces that the user may not read are only a number.
function Hidden({number}: {number: number | undefined}) {
  if (!number) return null;
  return <p class="quiet">{plural(number, 'more pod')} in namespaces that you may not read.</p>;
}

const podColumns: Column<AnsweredPod>[] = [
  {
    id: 'pod',
    title: 'Pod',
    width: 'minmax(110px, 1.5fr)',
    sort: keyOf,
    cell: (pod) => <span title={keyOf(pod)}>{keyOf(pod)}</span>,
  },
  {...textColumn('of', 'Of', 'minmax(80px, 1fr)', (pod) => pod.of ?? ''), wide: true},
  {
    id: 'from',
    title: 'From',
    wide: true,
    width: 'minmax(80px, 0.7fr)',
    sort: (pod) => pod.from ?? '',
    cell: (pod) => (pod.from ? <NodeLink name={pod.from} /> : '–'),
  },
  {
    id: 'node',
    title: 'Node',
    width: 'minmax(90px, 0.9fr)',
    sort: (pod) => pod.node ?? '',
    cell: (pod) =>
      pod.state === 'placed' ? (
        <NodeLink name={pod.node ?? ''} />
      ) : (
        <Badge tone={pod.state === 'pending' ? 'warn' : 'dim'}>{stateTexts[pod.state]}</Badge>
      ),
  },
];

export function Pods({status}: {status: Status}) {
  const pods = status.pods ?? [];
  return (
    <>
      <h2 class="list-title">{plural(pods.length, 'pod')} of the question</h2>
      <Table
        label="Pods of the question"
        name="pods"
        rows={pods}
        columns={podColumns}
        height={12}
        empty={<Empty title="The question has no pods" />}
      />
      <Hidden number={status.hiddenPods} />
    </>
  );
}

const victimColumns: Column<Victim>[] = [
  {
    id: 'pod',
    title: 'Pod',
    width: 'minmax(110px, 1.5fr)',
    sort: keyOf,
    cell: (victim) => <a href={podLink(keyOf(victim))}>{keyOf(victim)}</a>,
  },
  {
    id: 'node',
    title: 'Node',
    width: 'minmax(80px, 0.8fr)',
    sort: (victim) => victim.node,
    cell: (victim) => <NodeLink name={victim.node} />,
  },
  {
    ...textColumn('for', 'For', 'minmax(80px, 1fr)', (victim) => victim.preemptor ?? ''),
    wide: true,
  },
  {
    id: 'priority',
    title: 'Priority',
    wide: true,
    number: true,
    width: '110px',
    sort: (victim) => victim.priority ?? 0,
    cell: (victim) => `${victim.priority ?? '–'} < ${victim.preemptorPriority ?? '–'}`,
  },
  textColumn('rule', 'Rule of', 'minmax(90px, 0.9fr)', (victim) => victim.plugin ?? ''),
];

export function Victims({status}: {status: Status}) {
  const victims = status.victims ?? [];
  if (victims.length === 0 && !status.hiddenVictims) return null;
  return (
    <>
      <h2 class="list-title">{plural(victims.length, 'pod')} would be preempted</h2>
      <ul class="chips chosen" aria-label="Victims by rule">
        {rulesOf(victims).map(([rule, number]) => (
          <li key={rule}>
            {count(number)} by {rule}
          </li>
        ))}
      </ul>
      <Table
        label="Pods that would be preempted"
        name="victims"
        rows={victims}
        columns={victimColumns}
        sortBy="rule"
        height={12}
        empty={<Empty title="You may not read their namespaces" />}
      />
      <Hidden number={status.hiddenVictims} />
    </>
  );
}

export function Others({status}: {status: Status}) {
  const others = status.others ?? [];
  if (others.length === 0 && !status.hiddenOthers) return null;
  return (
    <Card title="Pods that wait now would get nodes">
      <ul class="moves">
        {others.map((other) => (
          <li key={keyOf(other)}>
            <a href={podLink(keyOf(other))}>{keyOf(other)}</a> → <NodeLink name={other.node} />
          </li>
        ))}
      </ul>
      <Hidden number={status.hiddenOthers} />
    </Card>
  );
}
