// All pods, with a filter.

import {useMemo} from 'preact/hooks';
import {store} from '../feed/api.ts';
import type {Pod} from '../feed/rows.ts';
import {bytes, cores, plural} from '../model/format.ts';
import {param, podLink, setQuery} from '../state/route.ts';
import {Age, Badge, Choice, Filter, Heading} from '../ui/bits.tsx';
import {NoRows, PartNote} from '../ui/empty.tsx';
import {useSlowly} from '../ui/slowly.ts';
import {Table, textColumn, type Column} from '../ui/table.tsx';

const tones: Record<string, string> = {
  Running: 'good',
  Succeeded: 'dim',
  Failed: 'bad',
  Pending: 'warn',
  Terminating: 'warn',
};

export function PhaseBadge({pod}: {pod: Pod}) {
  return <Badge tone={tones[pod.phase] ?? 'warn'}>{pod.phase}</Badge>;
}

export function ClassBadge({pod}: {pod: Pod}) {
  const batch = pod.priorityClass === 'batch' || pod.priorityClass === 'free';
  const tone = batch ? 'batch' : pod.priorityClass === 'mid' ? 'free' : 'used';
  return (
    <span class="class">
      <i class={`dot ${tone}`} />
      {pod.qos || '–'}
      <span class="quiet"> {pod.priorityClass}</span>
    </span>
  );
}

export const podColumn = textColumn('pod', 'Pod', 'minmax(130px, 3fr)', (pod: Pod) => pod.key);

export const stateColumn: Column<Pod> = {
  id: 'state',
  title: 'State',
  cell: (pod) => <PhaseBadge pod={pod} />,
  width: '104px',
  sort: (pod) => pod.phase,
};

export const memoryColumn: Column<Pod> = {
  id: 'memory',
  title: 'Memory',
  number: true,
  wide: true,
  width: '92px',
  sort: (pod) => pod.memory,
  cell: (pod) => bytes(pod.memory),
};

export const ageColumn: Column<Pod> = {
  id: 'age',
  title: 'Age',
  number: true,
  width: '64px',
  sort: (pod) => -pod.created,
  cell: (pod) => <Age since={pod.created} />,
};

const columns: Column<Pod>[] = [
  podColumn,
  stateColumn,
  {
    id: 'class',
    title: 'Class',
    cell: (pod) => <ClassBadge pod={pod} />,
    wide: true,
    width: '100px',
    sort: (pod) => pod.qos,
  },
  {...textColumn('node', 'Node', 'minmax(80px, 1fr)', (pod) => pod.node), wide: true},
  {
    id: 'cpu',
    title: 'CPU',
    number: true,
    wide: true,
    width: '64px',
    sort: (pod) => pod.cpu,
    cell: (pod) => cores(pod.cpu),
  },
  memoryColumn,
  {...textColumn('quota', 'Quota', 'minmax(80px, 1fr)', (pod) => pod.quota), wide: true},
  ageColumn,
];

const classes: [string, string][] = [
  ['', 'All'],
  ['prod', 'Prod'],
  ['mid', 'Mid'],
  ['batch', 'Batch'],
  ['free', 'Free'],
];

export function PodsPage() {
  const revision = useSlowly(['pods'], 2000);
  const filter = param('filter').toLowerCase();
  const wanted = param('class');
  const pods = useMemo(
    () =>
      [...store.pods.values()].filter(
        (pod) =>
          (wanted === '' || pod.priorityClass === wanted) &&
          (filter === '' || pod.key.toLowerCase().includes(filter) || pod.node.includes(filter)),
      ),
    [revision, filter, wanted],
  );
  return (
    <>
      <Heading title="Where are my pods?">
        <Filter
          label="Filter by name or node"
          value={param('filter')}
          onChange={(value) => setQuery({filter: value})}
        />
        <Choice
          label="Priority class"
          value={wanted}
          options={classes}
          onChange={(value) => setQuery({class: value})}
        />
      </Heading>
      <PartNote table="pods" />
      <h2 class="list-title">{plural(pods.length, 'pod')}</h2>
      <Table
        label="Pods"
        rows={pods}
        columns={columns}
        linkOf={(pod) => podLink(pod.key)}
        sortBy="age"
        empty={
          <NoRows
            table="pods"
            title={
              filter || wanted ? 'No pod matches the filter' : 'The cluster does not have pods'
            }
          />
        }
      />
    </>
  );
}
