// The answer of a simulation: what differs, pod by pod and node by node.

import {useMemo} from 'preact/hooks';
import {store} from '../feed/api.ts';
import {now} from '../feed/connection.ts';
import {age, count, plural} from '../model/format.ts';
import {
  keyOf,
  pendingGroups,
  quotaAmount,
  quotaLines,
  rulesOf,
  waysOf,
  type AnsweredPod,
  type PendingGroup,
  type QuotaLine,
  type Remedy,
  type Status,
  type Victim,
} from '../model/whatif.ts';
import {linkTo, podLink} from '../state/route.ts';
import {Badge, Card, Figure, Meter} from '../ui/bits.tsx';
import {Empty} from '../ui/empty.tsx';
import {NodeChanges, NodeLink} from '../ui/node_changes.tsx';
import {Table, type Column} from '../ui/table.tsx';

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
      <NodeChanges key={status.state?.time} nodes={status.nodes ?? []} />
      {groups.length > 0 && <Pending groups={groups} onAddNodes={onAddNodes} />}
      <Victims status={status} />
      <Pods status={status} />
      <Others status={status} />
      <Quotas status={status} />
    </>
  );
}

function Summary({status}: {status: Status}) {
  const victims = (status.victims?.length ?? 0) + (status.hiddenVictims ?? 0);
  const others = (status.others?.length ?? 0) + (status.hiddenOthers ?? 0);
  const taken = Date.parse(status.state?.time ?? '') / 1000;
  return (
    <section class="figures" aria-label="Result">
      <Figure label="Placed" tone="free" value={count(status.placed ?? 0)} note="pods get nodes" />
      <Figure
        label="Pending"
        tone="batch"
        value={count((status.pending ?? 0) + (status.notTried ?? 0))}
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

// Pods in namespaces that the user may not read are only a number.
function Hidden({number}: {number: number | undefined}) {
  if (!number) return null;
  return <p class="quiet">{plural(number, 'more pod')} in namespaces that you may not read.</p>;
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

const stateTexts = {pending: 'pending', notTried: 'not tried', notRecreated: 'not created again'};

const podColumns: Column<AnsweredPod>[] = [
  {
    id: 'pod',
    title: 'Pod',
    width: 'minmax(110px, 1.5fr)',
    sort: keyOf,
    cell: (pod) => <span title={keyOf(pod)}>{keyOf(pod)}</span>,
  },
  {
    id: 'of',
    title: 'Of',
    wide: true,
    width: 'minmax(80px, 1fr)',
    sort: (pod) => pod.of ?? '',
    cell: (pod) => pod.of || '–',
  },
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
        <Badge tone={pod.state === 'pending' ? 'warn' : 'dim'}>
          {stateTexts[pod.state] ?? pod.state}
        </Badge>
      ),
  },
];

function Pods({status}: {status: Status}) {
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
        keyOf={keyOf}
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
    id: 'for',
    title: 'For',
    wide: true,
    width: 'minmax(80px, 1fr)',
    sort: (victim) => victim.preemptor ?? '',
    cell: (victim) => victim.preemptor || '–',
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
  {
    id: 'rule',
    title: 'Rule of',
    width: 'minmax(90px, 0.9fr)',
    sort: (victim) => victim.plugin ?? '',
    cell: (victim) => victim.plugin || '–',
  },
];

function Victims({status}: {status: Status}) {
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
        keyOf={keyOf}
        empty={<Empty title="You may not read their namespaces" />}
      />
      <Hidden number={status.hiddenVictims} />
    </>
  );
}

function Others({status}: {status: Status}) {
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

function quotaLink(name: string): string {
  for (const quota of store.quotas.values())
    if (quota.name === name) return linkTo('quotas', ...quota.key.split('/'));
  return '';
}

const amountColumn = (id: 'before' | 'after' | 'max', title: string): Column<QuotaLine> => ({
  id,
  title,
  number: true,
  wide: id === 'max',
  width: '84px',
  sort: (line) => line[id],
  cell: (line) => quotaAmount(line.resource, line[id]),
});

const quotaColumns: Column<QuotaLine>[] = [
  {
    id: 'quota',
    title: 'Quota',
    width: 'minmax(90px, 1.2fr)',
    sort: (line) => line.quota,
    cell: ({quota}) => {
      const link = quotaLink(quota);
      return link ? <a href={link}>{quota}</a> : quota;
    },
  },
  {
    id: 'resource',
    title: 'Resource',
    width: 'minmax(60px, 0.7fr)',
    sort: (line) => line.resource,
    cell: (line) => line.resource,
  },
  {
    id: 'bar',
    title: 'Of runtime',
    wide: true,
    width: 'minmax(80px, 1.4fr)',
    cell: (line) => <QuotaBar line={line} />,
  },
  amountColumn('before', 'Used'),
  amountColumn('after', 'Then'),
  {
    id: 'runtime',
    title: 'Runtime',
    number: true,
    wide: true,
    width: '150px',
    sort: (line) => line.runtime,
    cell: ({resource, runtimeBefore, runtime}) =>
      runtimeBefore === runtime
        ? quotaAmount(resource, runtime || Infinity)
        : `${quotaAmount(resource, runtimeBefore)} → ${quotaAmount(resource, runtime)}`,
  },
  amountColumn('max', 'Max'),
];

// Without a runtime there is nothing to compare with.
function QuotaBar({line}: {line: QuotaLine}) {
  if (line.runtime === 0) return <>–</>;
  const both = Math.min(line.before, line.after);
  return (
    <Meter
      whole={Math.max(line.runtime, line.before, line.after)}
      text={`${line.resource} of ${line.quota}`}
      parts={[
        {label: 'stays', value: both, colour: 'requested'},
        {label: 'comes', value: line.after - both, colour: 'used'},
        {label: 'leaves', value: line.before - both, colour: 'leaves'},
      ]}
    />
  );
}

function Quotas({status}: {status: Status}) {
  const lines = useMemo(() => quotaLines(status), [status]);
  if (lines.length === 0) return null;
  return (
    <>
      <h2 class="list-title">Quotas, before and after</h2>
      <Table
        label="Quotas, before and after"
        name="quotas"
        rows={lines}
        columns={quotaColumns}
        height={12}
        keyOf={(line) => `${line.quota} ${line.resource}`}
        empty={null}
      />
    </>
  );
}
