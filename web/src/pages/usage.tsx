// Is the cluster used? Capacity, requests and use, and what co-location gains.

import {useMemo} from 'preact/hooks';
import {store} from '../feed/api.ts';
import {status} from '../feed/connection.ts';
import {sharesOf, totalsOf, usageHistogram, type Totals, type Use} from '../model/cluster.ts';
import {bytes, cores, count, percent, plural} from '../model/format.ts';
import {param, setQuery} from '../state/route.ts';
import {Card, Choice, Figure, Heading, Meter} from '../ui/bits.tsx';
import {Chart, type Line} from '../ui/chart.tsx';
import {NoRows, PartNote} from '../ui/empty.tsx';
import {HistoryNote, RangeChoice, useHistory, valuesOf} from '../ui/history.tsx';
import {useSlowly} from '../ui/slowly.ts';
import {Treemap} from '../ui/treemap.tsx';

type Resource = 'cpu' | 'memory';
const resourceOf = (): Resource => (param('resource') === 'memory' ? 'memory' : 'cpu');
const formatOf = (resource: Resource) => (resource === 'cpu' ? cores : bytes);

export function UsagePage() {
  const revision = useSlowly(['nodes', 'metrics', 'pods'], 1000);
  const totals = useMemo(() => totalsOf(store), [revision]);
  const resource = resourceOf();
  if (totals.nodes === 0)
    return (
      <>
        <Heading title="Is the cluster used?" />
        <NoRows table="nodes" title="The cluster does not have nodes">
          <p>koordctl up --nodes 3 adds simulated ones; koordctl join adds another host.</p>
        </NoRows>
      </>
    );
  return (
    <>
      <Heading title="Is the cluster used?">
        <Choice
          label="Resource"
          value={resource}
          options={[
            ['cpu', 'CPU'],
            ['memory', 'Memory'],
          ]}
          onChange={(value) => setQuery({resource: value === 'cpu' ? '' : value})}
        />
        <RangeChoice />
      </Heading>
      {(status.value?.notes ?? []).map((note) => (
        <p key={note} class="note">
          {note}
        </p>
      ))}
      <PartNote table="pods" />
      <Figures totals={totals} resource={resource} />
      <OverTime resource={resource} />
      <div class="columns">
        <NodesByUse revision={revision} />
        <Requesters resource={resource} />
      </div>
    </>
  );
}

function Figures({totals, resource}: {totals: Totals; resource: Resource}) {
  const use: Use = totals[resource];
  const format = formatOf(resource);
  const unit = resource === 'cpu' ? 'cores' : '';
  const unmeasured = totals.nodes - totals.measured;
  return (
    <section class="figures" aria-label="Figures">
      <Figure
        label="Capacity"
        value={format(use.capacity)}
        unit={unit}
        tone="capacity"
        note={`${plural(totals.nodes, 'node')}, ${count(totals.ready)} ready`}
      />
      <Figure
        label="Requested"
        value={percent(use.requested, use.capacity)}
        tone="requested"
        note={`${format(use.requested)} ${unit} by pods that are not batch`}
      />
      <Figure
        label="Used"
        value={percent(use.used, use.capacity)}
        tone="used"
        note={`${format(use.used)} ${unit}${
          unmeasured > 0 ? `; ${plural(unmeasured, 'node')} not measured` : ''
        }`}
      />
      <Figure
        label="Co-location gains"
        value={format(use.batchRequested)}
        unit={unit}
        tone="batch"
        note={`batch pods request, of ${format(use.batch)} reclaimed`}
      />
      <Figure
        label="Pods"
        value={count(totals.pods)}
        note={<a href="/pending">{count(totals.waiting)} pending</a>}
      />
      {totals.gpus > 0 && (
        <Figure
          label="GPUs"
          value={percent(totals.gpusRequested / 100, totals.gpus)}
          note={`${(totals.gpusRequested / 100).toFixed(1)} of ${count(totals.gpus)} requested`}
        />
      )}
    </section>
  );
}

function OverTime({resource}: {resource: Resource}) {
  const history = useHistory('cluster');
  const lines = useMemo(() => {
    const column = (name: string) =>
      valuesOf(history, resource === 'cpu' ? `cpu${name}` : `memory${name}`);
    const all: Line[] = [
      {label: 'Capacity', colour: 'capacity', values: column('Capacity'), dash: true},
      {label: 'Requested', colour: 'requested', values: column('Requested')},
      {label: 'Used', colour: 'used', values: column('Used'), fill: true},
      {label: 'Reclaimed for batch', colour: 'free', values: column('Batch'), dash: true},
      {label: 'Used by batch', colour: 'batch', values: column('BatchUsed'), fill: true},
    ];
    return all;
  }, [history, resource]);
  return (
    <Card title={resource === 'cpu' ? 'CPU over time' : 'Memory over time'}>
      <Chart
        label={`${resource} of the cluster over time`}
        times={history.times}
        lines={lines}
        format={formatOf(resource)}
      />
      <HistoryNote history={history} />
    </Card>
  );
}

function NodesByUse({revision}: {revision: number}) {
  const bins = useMemo(() => usageHistogram(store), [revision]);
  const most = Math.max(1, ...bins);
  return (
    <Card
      title="Nodes by CPU use"
      note="Measured by koordlet. koord-descheduler moves pods from the fullest nodes."
    >
      <ol class="bins">
        {bins.map((nodes, i) => (
          <li key={i}>
            <span class="bin-label">
              {10 * i}–{10 * i + 10} %
            </span>
            <Meter
              whole={most}
              text={plural(nodes, 'node')}
              parts={[{label: 'nodes', value: nodes, colour: i < 8 ? 'used' : 'alarm'}]}
            />
            <span class="bin-count">{count(nodes)}</span>
          </li>
        ))}
      </ol>
    </Card>
  );
}

function Requesters({resource}: {resource: Resource}) {
  const revision = useSlowly(['pods'], 5000);
  const shares = useMemo(() => sharesOf(store, resource), [revision, resource]);
  return (
    <Card title="Who requests it">
      {shares.length === 0 ? (
        <NoRows table="pods" title="No pod runs" />
      ) : (
        <Treemap
          label="Requests by namespace and workload"
          shares={shares}
          format={formatOf(resource)}
        />
      )}
    </Card>
  );
}
