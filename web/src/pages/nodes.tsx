// What is on this node? All nodes as a map by place, and as a list.

import {useMemo} from 'preact/hooks';
import {store} from '../feed/api.ts';
import type {Node} from '../feed/rows.ts';
import {bytes, cores, count, percent, plural} from '../model/format.ts';
import {placesOf} from '../model/places.ts';
import {nodeLink, param, setQuery} from '../state/route.ts';
import {Age, Badge, Choice, Filter, Heading, Meter} from '../ui/bits.tsx';
import {NoRows, PartNote} from '../ui/empty.tsx';
import {NodeMap} from '../ui/node_map.tsx';
import {useSlowly} from '../ui/slowly.ts';
import {Table, textColumn, type Column} from '../ui/table.tsx';

const metricOf = (node: Node) => store.metrics.get(node.name);
const sums = (node: Node) => store.sumsOf(node.name);
const share = (part: number, whole: number) => (whole > 0 ? part / whole : 0);

// What the colour of a node can mean, as a share from 0 to 1; null if it is not known.
const meanings: Record<string, {name: string; of: (node: Node) => number | null}> = {
  used: {
    name: 'CPU used',
    of: (node) => {
      const metric = metricOf(node);
      return metric ? share(metric.cpu, node.cpu) : null;
    },
  },
  requested: {name: 'CPU requested', of: (node) => share(sums(node).cpu, node.cpu)},
  memory: {
    name: 'Memory used',
    of: (node) => {
      const metric = metricOf(node);
      return metric ? share(metric.memory, node.memory) : null;
    },
  },
  batch: {
    name: 'Batch CPU requested',
    of: (node) => (node.batchCpu > 0 ? share(sums(node).batchCpu, node.batchCpu) : null),
  },
  gpu: {
    name: 'GPUs requested',
    of: (node) => (node.gpus > 0 ? share(sums(node).gpu / 100, node.gpus) : null),
  },
};

export function State({node}: {node: Node}) {
  if (!node.ready) return <Badge tone="bad">Not ready</Badge>;
  if (node.cordoned) return <Badge tone="warn">Cordoned</Badge>;
  return <Badge tone="good">Ready</Badge>;
}

const columns: Column<Node>[] = [
  textColumn('node', 'Node', 'minmax(120px, 2fr)', (node) => node.name),
  {
    id: 'state',
    title: 'State',
    cell: (node) => <State node={node} />,
    width: '92px',
    sort: (node) => (node.ready ? (node.cordoned ? 1 : 2) : 0),
  },
  {
    id: 'used',
    title: 'CPU used',
    width: 'minmax(90px, 1.3fr)',
    sort: (node) => share(metricOf(node)?.cpu ?? 0, node.cpu),
    cell: (node) => <Use node={node} />,
  },
  {
    id: 'cpu',
    title: 'Requested',
    number: true,
    wide: true,
    width: '96px',
    sort: (node) => share(sums(node).cpu, node.cpu),
    cell: (node) => `${cores(sums(node).cpu)}/${cores(node.cpu)}`,
  },
  {
    id: 'batch',
    title: 'Batch CPU',
    number: true,
    wide: true,
    width: '96px',
    sort: (node) => node.batchCpu,
    cell: (node) => `${cores(sums(node).batchCpu)}/${cores(node.batchCpu)}`,
  },
  {
    id: 'memory',
    title: 'Memory',
    number: true,
    wide: true,
    width: '84px',
    sort: (node) => share(metricOf(node)?.memory ?? 0, node.memory),
    cell: (node) =>
      metricOf(node) ? (
        <span title={`of ${bytes(node.memory)}`}>
          {percent(metricOf(node)?.memory ?? 0, node.memory)}
        </span>
      ) : (
        '–'
      ),
  },
  {
    id: 'gpus',
    title: 'GPUs',
    number: true,
    wide: true,
    width: '72px',
    sort: (node) => node.gpus,
    cell: (node) => (node.gpus ? `${(sums(node).gpu / 100).toFixed(0)}/${node.gpus}` : '–'),
  },
  {
    id: 'pods',
    title: 'Pods',
    number: true,
    width: '60px',
    sort: (node) => sums(node).pods,
    cell: (node) => count(sums(node).pods),
  },
  {
    id: 'data',
    title: 'Data',
    number: true,
    wide: true,
    width: '72px',
    sort: (node) => -(metricOf(node)?.updated ?? 0),
    cell: (node) => <Age since={metricOf(node)?.updated ?? 0} />,
  },
];

function Use({node}: {node: Node}) {
  const metric = metricOf(node);
  if (!metric) return <span class="quiet">not measured</span>;
  return (
    <span class="use">
      <Meter
        whole={node.cpu}
        text={`${percent(metric.cpu, node.cpu)} of the CPU used`}
        parts={[
          {label: 'latency-sensitive', value: metric.cpu - metric.batchCpu, colour: 'used'},
          {label: 'batch', value: metric.batchCpu, colour: 'batch'},
        ]}
      />
      <span class="use-text">{percent(metric.cpu, node.cpu)}</span>
    </span>
  );
}

export function NodesPage() {
  const revision = useSlowly(['nodes', 'metrics', 'pods'], 1000);
  const meaning = meanings[param('colour', 'used')] ?? meanings['used']!;
  const filter = param('filter').toLowerCase();
  const nodes = useMemo(() => {
    const all = [...store.nodes.values()];
    return filter === ''
      ? all
      : all.filter(
          (node) => node.name.includes(filter) || node.places.join(' / ').includes(filter),
        );
  }, [revision, filter]);
  const places = useMemo(() => placesOf(nodes), [nodes]);
  const hasGpus = nodes.some((node) => node.gpus > 0);
  const options = Object.entries(meanings)
    .filter(([id]) => id !== 'gpu' || hasGpus)
    .map(([id, {name}]): [string, string] => [id, name]);
  return (
    <>
      <Heading title="What is on this node?">
        <Filter
          label="Filter by name or place"
          value={param('filter')}
          onChange={(value) => setQuery({filter: value})}
        />
        <Choice
          label="Meaning of the colour"
          value={param('colour', 'used')}
          options={options}
          onChange={(value) => setQuery({colour: value === 'used' ? '' : value})}
        />
      </Heading>
      <PartNote table="nodes" />
      {nodes.length > 0 && <NodeMap places={places} shareOf={meaning.of} meaning={meaning.name} />}
      <h2 class="list-title">{plural(nodes.length, 'node')}</h2>
      <Table
        label="Nodes"
        rows={nodes}
        columns={columns}
        linkOf={(node) => nodeLink(node.name)}
        sortBy="node"
        empty={
          <NoRows
            table="nodes"
            title={filter ? 'No node has this in its name' : 'The cluster does not have nodes'}
          />
        }
      />
    </>
  );
}
