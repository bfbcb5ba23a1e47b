// Why does my pod wait? Pending pods by reason, with their place in the queue of their quota.

import {useMemo} from 'preact/hooks';
import {store} from '../feed/api.ts';
import {now} from '../feed/connection.ts';
import type {Pod} from '../feed/rows.ts';
import {age, count, plural} from '../model/format.ts';
import {Queues, summaryOf, type Place} from '../model/queue.ts';
import {param, podLink, setQuery} from '../state/route.ts';
import {Age, Card, Filter, Heading, Meter} from '../ui/bits.tsx';
import {NoRows, PartNote} from '../ui/empty.tsx';
import {orderOf} from '../ui/order.ts';
import {useSlowly} from '../ui/slowly.ts';
import {Table, textColumn, type Column} from '../ui/table.tsx';

interface Waiting {
  pod: Pod;
  summary: string;
}

function InQueue({place}: {place: Place}) {
  return (
    <span title={place.text}>
      {count(place.position)}/{count(place.waiting)}
    </span>
  );
}

function columnsOf(queues: Queues): Column<Waiting>[] {
  return [
    textColumn('pod', 'Pod', 'minmax(110px, 1.4fr)', ({pod}) => pod.key),
    {
      id: 'for',
      title: 'For',
      number: true,
      width: '64px',
      sort: ({pod}) => -pod.created,
      cell: ({pod}) => <Age since={pod.created} />,
    },
    {...textColumn('quota', 'Quota', 'minmax(80px, 0.7fr)', ({pod}) => pod.quota), wide: true},
    {
      id: 'place',
      title: 'In queue',
      number: true,
      wide: true,
      width: '84px',
      sort: ({pod}) => queues.placeOf(pod).position,
      cell: ({pod}) => <InQueue place={queues.placeOf(pod)} />,
    },
    {
      id: 'estimate',
      title: 'Estimate',
      number: true,
      wide: true,
      width: '88px',
      sort: ({pod}) => queues.placeOf(pod).estimate ?? Infinity,
      cell: ({pod}) => {
        const {estimate} = queues.placeOf(pod);
        return estimate === null ? <span class="quiet">unknown</span> : `≈ ${age(estimate)}`;
      },
    },
    {
      id: 'why',
      title: 'Reason',
      width: 'minmax(120px, 3fr)',
      sort: ({summary}) => summary,
      cell: ({pod, summary}) => <span title={pod.reason}>{summary}</span>,
    },
  ];
}

export function PendingPage() {
  const revision = useSlowly(['pods'], 1000);
  const reason = param('reason');
  const filter = param('filter').toLowerCase();
  const {all, queues} = useMemo(() => {
    const list = [...store.waiting].map((pod): Waiting => ({pod, summary: summaryOf(pod.reason)}));
    const made = new Queues(store, now.peek());
    // Pods that were created in the same second follow each other as in the queue.
    const places = list.map(({pod}) => made.placeOf(pod).position);
    return {all: orderOf(places, false).map((index) => list[index]!), queues: made};
  }, [revision]);
  const shown = useMemo(
    () =>
      all.filter(
        ({pod, summary}) =>
          (reason === '' || summary === reason) &&
          (filter === '' || pod.key.toLowerCase().includes(filter) || pod.quota.includes(filter)),
      ),
    [all, reason, filter],
  );
  const columns = useMemo(() => columnsOf(queues), [queues]);
  return (
    <>
      <Heading title="Why does my pod wait?">
        <Filter
          label="Filter by pod or quota"
          value={param('filter')}
          onChange={(value) => setQuery({filter: value})}
        />
      </Heading>
      <PartNote table="pods" />
      {all.length > 0 && <Reasons all={all} chosen={reason} />}
      <h2 class="list-title">{plural(shown.length, 'pending pod')}</h2>
      <Table
        label="Pending pods"
        rows={shown}
        columns={columns}
        sortBy="-for"
        linkOf={({pod}) => podLink(pod.key)}
        empty={
          <NoRows
            table="pods"
            title={all.length > 0 ? 'No pending pod matches' : 'No pod waits: every pod has a node'}
          />
        }
      />
      <p class="quiet">
        A pod's page has the words of the scheduler: what each plugin refuses, and what would help.
      </p>
    </>
  );
}

function Reasons({all, chosen}: {all: Waiting[]; chosen: string}) {
  const counts = useMemo(() => {
    const byReason = new Map<string, number>();
    for (const {summary} of all) byReason.set(summary, (byReason.get(summary) ?? 0) + 1);
    return [...byReason].sort((a, b) => b[1] - a[1]).slice(0, 6);
  }, [all]);
  return (
    <Card title="Reasons">
      <ul class="reasons">
        {counts.map(([summary, pods]) => (
          <li key={summary}>
            <button
              type="button"
              aria-pressed={summary === chosen}
              title={summary}
              onClick={() => setQuery({reason: summary === chosen ? '' : summary})}
            >
              <span class="reason-text">{summary}</span>
              <Meter
                whole={all.length}
                text={plural(pods, 'pod')}
                parts={[{label: 'pods', value: pods, colour: 'requested'}]}
              />
              <span class="reason-count">{count(pods)}</span>
            </button>
          </li>
        ))}
      </ul>
    </Card>
  );
}
