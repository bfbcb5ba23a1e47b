// Who uses the quota? The trees with min, used, runtime and max, and one quota over time.

import {useMemo} from 'preact/hooks';
import {store} from '../feed/api.ts';
import type {Quota} from '../feed/rows.ts';
import {amount, plural} from '../model/format.ts';
import {
  balanceOf,
  quotaLines,
  resourcesOf,
  type Balance,
  type QuotaLine,
} from '../model/quota_tree.ts';
import {linkTo, param, podLink, setQuery} from '../state/route.ts';
import {Card, Facts, Heading, Meter, Legend} from '../ui/bits.tsx';
import {Chart, type Line} from '../ui/chart.tsx';
import {Empty, NoRows, PartNote} from '../ui/empty.tsx';
import {Explanation} from '../ui/explanation.tsx';
import {HistoryNote, RangeChoice, useHistory, valuesOf} from '../ui/history.tsx';
import {useSlowly} from '../ui/slowly.ts';
import {Table, type Column} from '../ui/table.tsx';
import type {Pod} from '../feed/rows.ts';
import {cores} from '../model/format.ts';
import {ageColumn, podColumn, stateColumn} from './pods.tsx';

function columnsOf(resource: string): Column<QuotaLine>[] {
  const text = (value: number) => (value === Infinity ? 'none' : amount(resource, value));
  const figure = (id: keyof Balance, title: string, wide = true): Column<QuotaLine> => ({
    id,
    title,
    number: true,
    wide,
    width: '84px',
    sort: ({quota}) => balanceOf(quota, resource)[id],
    cell: ({quota}) => text(balanceOf(quota, resource)[id]),
  });
  return [
    {
      id: 'quota',
      title: 'Quota',
      width: 'minmax(130px, 1.5fr)',
      cell: ({quota, depth}) => <span class={`indent-${Math.min(depth, 6)}`}>{quota.name}</span>,
    },
    {
      id: 'use',
      title: 'Used of max',
      width: 'minmax(100px, 2fr)',
      cell: (line) => <QuotaBar quota={line.quota} resource={resource} />,
    },
    figure('used', 'Used', false),
    figure('min', 'Min'),
    figure('runtime', 'Runtime'),
    figure('max', 'Max'),
    figure('borrowed', 'Borrows'),
    figure('lent', 'Lends'),
  ];
}

function QuotaBar({quota, resource}: {quota: Quota; resource: string}) {
  const {used, min, max, runtime, borrowed} = balanceOf(quota, resource);
  const whole = max === Infinity ? Math.max(used, runtime, min) : max;
  const shown = (value: number) => amount(resource, value);
  const use = `${shown(used)} used, ${shown(borrowed)} of it borrowed`;
  const text = `${use}; min ${shown(min)}, runtime ${shown(runtime)}`;
  return (
    <Meter
      whole={whole}
      mark={runtime || min}
      text={text}
      parts={[
        {label: 'within min', value: used - borrowed, colour: 'used'},
        {label: 'borrowed', value: borrowed, colour: 'batch'},
      ]}
    />
  );
}

function ResourceChoice({resource, resources}: {resource: string; resources: string[]}) {
  return (
    <label class="select">
      Resource
      <select
        value={resource}
        onChange={(event) => setQuery({resource: event.currentTarget.value})}
      >
        {resources.map((one) => (
          <option key={one} value={one}>
            {one}
          </option>
        ))}
      </select>
    </label>
  );
}

export function QuotasPage({name}: {name?: string}) {
  const revision = useSlowly(['quotas', 'pods'], 1000);
  const resource = param('resource', 'cpu');
  const lines = useMemo(() => quotaLines(store.quotas.values()), [revision]);
  const resources = useMemo(() => resourcesOf(store.quotas.values()), [revision]);
  const columns = useMemo(() => columnsOf(resource), [resource]);
  const quota = name === undefined ? undefined : store.quotas.get(name);
  return (
    <>
      <Heading title="Who uses the quota?">
        <ResourceChoice resource={resource} resources={resources} />
        {name && <RangeChoice />}
      </Heading>
      <PartNote table="quotas" />
      <Table
        label="Quotas"
        rows={lines}
        columns={columns}
        height={name ? 10 : 1000}
        linkOf={({quota: one}) =>
          linkTo('quotas', ...one.key.split('/')) +
          (resource === 'cpu' ? '' : `?resource=${encodeURIComponent(resource)}`)
        }
        empty={
          <NoRows table="quotas" title="The cluster does not have quotas">
            <p>
              An ElasticQuota limits what the pods of a team request and lets teams borrow from each
              other.
            </p>
          </NoRows>
        }
      />
      <Legend
        items={[
          ['used', 'within min'],
          ['batch', 'borrowed'],
          ['mark', 'runtime'],
        ]}
      />
      {name !== undefined && !quota && lines.length > 0 && (
        <Empty title={`The cluster does not have a quota ${name}`} />
      )}
      {quota && <Detail quota={quota} resource={resource} revision={revision} />}
    </>
  );
}

const podColumns: Column<Pod>[] = [
  podColumn,
  stateColumn,
  {
    id: 'cpu',
    title: 'CPU',
    number: true,
    width: '64px',
    sort: (pod) => pod.cpu,
    cell: (pod) => cores(pod.cpu),
  },
  ageColumn,
];

function Detail({quota, resource, revision}: {quota: Quota; resource: string; revision: number}) {
  const history = useHistory(`quota/${quota.key}`);
  const lines = useMemo((): Line[] => {
    const prefix = resource === 'memory' ? 'memory' : 'cpu';
    const column = (name: string) => valuesOf(history, prefix + name);
    return [
      {label: 'Used', colour: 'used', values: column('Used'), fill: true},
      {label: 'Runtime', colour: 'free', values: column('Runtime'), dash: true},
      {label: 'Requested', colour: 'requested', values: column('Request')},
    ];
  }, [history, resource]);
  const pods = useMemo(() => [...store.byQuota.get(quota.name)], [revision, quota.name]);
  const format = (value: number) => amount(resource === 'memory' ? 'memory' : 'cpu', value);
  return (
    <>
      <h2 class="list-title">{quota.name}</h2>
      <Card title={resource === 'memory' ? 'Memory over time' : 'CPU over time'}>
        <Chart
          label={`Use of quota ${quota.name} over time`}
          times={history.times}
          lines={lines}
          format={format}
          height={180}
        />
        <HistoryNote history={history} />
      </Card>
      <div class="columns">
        <Card title={plural(pods.length, 'pod')}>
          <Table
            label="Pods of the quota"
            rows={pods}
            columns={podColumns}
            name="pods"
            sortBy="-cpu"
            height={10}
            linkOf={(pod) => podLink(pod.key)}
            empty={<NoRows table="pods" title="No pod is in this quota itself" />}
          />
          <Facts
            facts={[
              ['Namespace', quota.namespace],
              ['Parent', quota.parent || 'root'],
              ['Tree', quota.tree || 'default'],
              ['Lends', quota.lends ? 'yes' : 'no'],
            ]}
          />
        </Card>
        <Explanation kind="quota" name={quota.name} />
      </div>
    </>
  );
}
