// One node: its load, who has its CPUs and devices, its pods, and what koordlet does to BE pods.

import {useMemo} from 'preact/hooks';
import {store} from '../feed/api.ts';
import {now} from '../feed/connection.ts';
import type {Node, Pod} from '../feed/rows.ts';
import {age, bytes, cores, percent, plural} from '../model/format.ts';
import {devicesText, suppression, type NodeDetail} from '../model/node_detail.ts';
import {useOf} from '../model/cluster.ts';
import {podLink} from '../state/route.ts';
import {Age, Card, Facts, Figure, Heading, Meter, Legend} from '../ui/bits.tsx';
import {Chart, type Line} from '../ui/chart.tsx';
import {NoRows} from '../ui/empty.tsx';
import {Explanation, useAnswer} from '../ui/explanation.tsx';
import {HistoryNote, RangeChoice, useHistory, valuesOf} from '../ui/history.tsx';
import {CpuMap, DeviceMap} from '../ui/hardware.tsx';
import {useSlowly} from '../ui/slowly.ts';
import {Table, type Column} from '../ui/table.tsx';
import {ClassBadge, memoryColumn, podColumn, stateColumn} from './pods.tsx';
import {State} from './nodes.tsx';

export function NodePage({name}: {name: string}) {
  const revision = useSlowly(['nodes', 'metrics', 'pods'], 500);
  const {answer: detail = {}} = useAnswer<NodeDetail>('node', {name});
  const node = store.nodes.get(name);
  const pods = useMemo(
    () => [...store.byNode.get(name)].filter((pod) => !pod.ended),
    [revision, name],
  );
  if (!node)
    return (
      <>
        <Heading title={name} />
        <NoRows table="nodes" title={`The cluster does not have a node ${name}`}>
          <a href="/nodes">All nodes</a>
        </NoRows>
      </>
    );
  return (
    <>
      <Heading title={name}>
        <State node={node} />
        <RangeChoice />
      </Heading>
      {node.note && <p class="note">{node.note}</p>}
      <Load node={node} />
      <div class="columns">
        <Over name={name} />
        <BestEffort node={node} detail={detail} />
      </div>
      <CpuMap cpus={detail.cpus ?? []} pods={pods} />
      <DeviceMap devices={detail.devices ?? []} pods={pods} zones={detail.zones ?? []} />
      <Pods pods={pods} detail={detail} />
      <Explanation kind="node" name={name} />
      <About node={node} detail={detail} />
    </>
  );
}

function Load({node}: {node: Node}) {
  const metric = store.metrics.get(node.name);
  const {cpu, memory} = useOf(store, node, metric);
  const used = (part: number, whole: number) => (metric ? percent(part, whole) : '–');
  return (
    <section class="figures" aria-label="Load">
      <Figure
        label="CPU used"
        tone="used"
        value={used(cpu.used, cpu.capacity)}
        note={`${cores(cpu.used)} of ${cores(cpu.capacity)} cores`}
      />
      <Figure
        label="CPU requested"
        tone="requested"
        value={percent(cpu.requested, cpu.capacity)}
        note={`${cores(cpu.requested)} cores`}
      />
      <Figure
        label="Batch CPU"
        tone="batch"
        value={percent(cpu.batchRequested, cpu.batch)}
        note={`${cores(cpu.batchRequested)} of ${cores(cpu.batch)} reclaimed; ${cores(
          cpu.batchUsed,
        )} used`}
      />
      <Figure
        label="Memory used"
        tone="used"
        value={used(memory.used, memory.capacity)}
        note={`${bytes(memory.used)} of ${bytes(memory.capacity)}`}
      />
      <Figure
        label="Batch memory"
        tone="batch"
        value={percent(memory.batchRequested, memory.batch)}
        note={`${bytes(memory.batchRequested)} of ${bytes(memory.batch)}`}
      />
      <Figure
        label="Measured"
        value={metric ? age(now.value - metric.updated) : 'never'}
        unit={metric ? 'ago' : ''}
        note={metric ? 'by koordlet' : 'no NodeMetric'}
      />
    </section>
  );
}

const share = (value: number) => `${Math.round(value)} %`;

function Over({name}: {name: string}) {
  const history = useHistory(`node/${name}`);
  const lines = useMemo(
    (): Line[] => [
      {label: 'CPU used', colour: 'used', values: valuesOf(history, 'cpuUsed'), fill: true},
      {label: 'by batch', colour: 'batch', values: valuesOf(history, 'batchUsed'), fill: true},
      {label: 'Memory used', colour: 'requested', values: valuesOf(history, 'memoryUsed')},
      {label: 'Reclaimed CPU', colour: 'free', values: valuesOf(history, 'batch'), dash: true},
    ],
    [history],
  );
  return (
    <Card title="Share of the node over time">
      <Chart
        label={`Use of ${name} over time, in percent of its capacity`}
        times={history.times}
        lines={lines}
        format={share}
        height={200}
      />
      <HistoryNote history={history} />
    </Card>
  );
}

function BestEffort({node, detail}: {node: Node; detail: NodeDetail}) {
  const slo = detail.slo;
  return (
    <Card title="BE pods now">
      <Suppression node={node} detail={detail} />
      {slo && slo.memoryEvictPercent > 0 && (
        <p class="quiet">Above {slo.memoryEvictPercent} % of memory koordlet evicts BE pods.</p>
      )}
      {!slo && (
        <p class="quiet">No NodeSLO of this node, so koordlet uses its defaults: no suppression.</p>
      )}
      {(detail.koordlet ?? []).map((line) => (
        <p key={line}>{line}</p>
      ))}
    </Card>
  );
}

// What BE pods may use, by the strategy of the node and the last measurement.
function Suppression({node, detail}: {node: Node; detail: NodeDetail}) {
  const metric = store.metrics.get(node.name);
  if (detail.slo && !detail.slo.suppress)
    return (
      <p>CPU suppression is not enabled: slo-controller-config sets resource-threshold-config.</p>
    );
  const state = metric ? suppression(node, detail, metric.cpu, metric.batchCpu) : null;
  if (!state || !metric) return null;
  const left = state.allowed - metric.batchCpu;
  return (
    <>
      <p>
        koordlet keeps the node below <b>{detail.slo?.suppressPercent} %</b> of its CPU. Pods that
        are not BE and the system use {cores(state.others)} cores. So all BE pods may use{' '}
        <b>{cores(state.allowed)} cores</b>; they use {cores(metric.batchCpu)}.
      </p>
      <Meter
        whole={node.cpu}
        mark={state.threshold}
        text="CPU of others, and what BE pods may use"
        parts={[
          {label: 'others', value: state.others, colour: 'used'},
          {label: 'BE pods', value: metric.batchCpu, colour: 'batch'},
          {label: 'left for BE pods', value: left, colour: 'free'},
        ]}
      />
      <Legend
        items={[
          ['used', 'others'],
          ['batch', 'BE pods'],
          ['free', 'left for BE pods'],
          ['mark', 'threshold'],
        ]}
      />
    </>
  );
}

const coresOrNone = (milli: number | undefined) => (milli === undefined ? '–' : cores(milli));

function columnsOf(detail: NodeDetail): Column<Pod>[] {
  const used = (pod: Pod) => detail.usage?.[pod.key]?.[0];
  return [
    podColumn,
    {
      id: 'class',
      title: 'Class',
      cell: (pod) => <ClassBadge pod={pod} />,
      width: '96px',
      sort: (pod) => pod.priorityClass + pod.qos,
    },
    {...stateColumn, wide: true},
    {
      id: 'used',
      title: 'CPU used',
      number: true,
      width: '84px',
      sort: (pod) => used(pod) ?? 0,
      cell: (pod) => coresOrNone(used(pod)),
    },
    {
      id: 'cpu',
      title: 'Requested',
      number: true,
      wide: true,
      width: '92px',
      sort: (pod) => pod.cpu,
      cell: (pod) => cores(pod.cpu),
    },
    memoryColumn,
    {id: 'cpus', title: 'CPUs', wide: true, width: '110px', cell: (pod) => pod.cpus || 'shared'},
    {
      id: 'devices',
      title: 'Devices',
      wide: true,
      width: '96px',
      cell: (pod) => devicesText(pod.devices),
    },
  ];
}

function Pods({pods, detail}: {pods: Pod[]; detail: NodeDetail}) {
  const columns = useMemo(() => columnsOf(detail), [detail]);
  return (
    <>
      <h2 class="list-title">{plural(pods.length, 'pod')}</h2>
      <Table
        label="Pods of the node"
        rows={pods}
        columns={columns}
        sortBy="-cpu"
        height={12}
        linkOf={(pod) => podLink(pod.key)}
        empty={<NoRows table="pods" title="No pod is on this node" />}
      />
    </>
  );
}

function About({node, detail}: {node: Node; detail: NodeDetail}) {
  const labels = Object.entries(detail.labels ?? {}).sort();
  return (
    <Card title="About the node">
      <Facts
        facts={[
          ['Place', node.places.join(' / ') || 'no zone or rack label'],
          ['Kind', node.kind || 'node'],
          ['Created', <Age since={node.created} ago />],
          ['Taints', (detail.taints ?? []).join(', ') || 'none'],
          [
            'Labels',
            labels.length === 0 ? (
              'none'
            ) : (
              <ul class="labels">
                {labels.map(([name, value]) => (
                  <li key={name}>
                    {name}={value}
                  </li>
                ))}
              </ul>
            ),
          ],
        ]}
      />
    </Card>
  );
}
