// What holds capacity? Reservations, who may use them, and when they end.

import {useMemo} from 'preact/hooks';
import {store} from '../feed/api.ts';
import {now} from '../feed/connection.ts';
import type {Reservation} from '../feed/rows.ts';
import {age, amount, plural} from '../model/format.ts';
import {linkTo, nodeLink, podLink} from '../state/route.ts';
import {Age, Badge, Card, Facts, Heading, Meter} from '../ui/bits.tsx';
import {Empty, NoRows, PartNote} from '../ui/empty.tsx';
import {Explanation} from '../ui/explanation.tsx';
import {useSlowly} from '../ui/slowly.ts';
import {Table, textColumn, type Column} from '../ui/table.tsx';

const tones: Record<string, string> = {
  Available: 'good',
  Pending: 'warn',
  Waiting: 'warn',
  Succeeded: 'dim',
  Failed: 'bad',
};

const cpuOf = (list: Record<string, number>) => list['cpu'] ?? 0;

function End({reservation}: {reservation: Reservation}) {
  if (reservation.expires === 0) return <span class="quiet">never</span>;
  const left = reservation.expires - now.value;
  return <>{left > 0 ? `in ${age(left)}` : `${age(-left)} ago`}</>;
}

const columns: Column<Reservation>[] = [
  textColumn('name', 'Reservation', 'minmax(90px, 1.5fr)', (one) => one.name),
  {
    id: 'phase',
    title: 'State',
    width: '92px',
    sort: (one) => one.phase,
    cell: (one) => <Badge tone={tones[one.phase] ?? 'warn'}>{one.phase}</Badge>,
  },
  {
    id: 'use',
    title: 'CPU used',
    width: 'minmax(80px, 1fr)',
    wide: true,
    cell: (one) => (
      <Meter
        whole={cpuOf(one.allocatable)}
        text={`${amount('cpu', cpuOf(one.allocated))} of ${amount(
          'cpu',
          cpuOf(one.allocatable),
        )} cores used`}
        parts={[{label: 'used', value: cpuOf(one.allocated), colour: 'requested'}]}
      />
    ),
  },
  {
    id: 'cpu',
    title: 'CPU',
    number: true,
    width: '48px',
    sort: (one) => cpuOf(one.allocatable),
    cell: (one) => amount('cpu', cpuOf(one.allocatable)),
  },
  {
    id: 'memory',
    title: 'Memory',
    number: true,
    wide: true,
    width: '92px',
    sort: (one) => one.allocatable['memory'] ?? 0,
    cell: (one) => amount('memory', one.allocatable['memory'] ?? 0),
  },
  {...textColumn('node', 'Node', 'minmax(80px, 1fr)', (one) => one.node), wide: true},
  {
    id: 'owners',
    title: 'For',
    wide: true,
    width: 'minmax(100px, 2fr)',
    cell: (one) => <span title={one.owners}>{one.owners || '–'}</span>,
  },
  {
    id: 'ends',
    title: 'Ends',
    number: true,
    width: '74px',
    sort: (one) => one.expires || Infinity,
    cell: (one) => <End reservation={one} />,
  },
];

export function ReservationsPage({name}: {name?: string}) {
  const revision = useSlowly(['reservations'], 500);
  const all = useMemo(() => [...store.reservations.values()], [revision]);
  const chosen = name === undefined ? undefined : store.reservations.get(name);
  return (
    <>
      <Heading title="What holds capacity?" />
      <PartNote table="reservations" />
      <h2 class="list-title">{plural(all.length, 'reservation')}</h2>
      <Table
        label="Reservations"
        rows={all}
        columns={columns}
        height={name ? 10 : 1000}
        sortBy="name"
        linkOf={(one) => linkTo('reservations', one.key)}
        empty={
          <NoRows table="reservations" title="Nothing is reserved">
            <p>
              A Reservation keeps resources of a node for pods that come later. The descheduler
              makes one for each move.
            </p>
          </NoRows>
        }
      />
      {name !== undefined && !chosen && all.length > 0 && (
        <Empty title={`The cluster does not have a reservation ${name}`} />
      )}
      {chosen && <Detail one={chosen} />}
    </>
  );
}

function Detail({one}: {one: Reservation}) {
  const resources = Object.entries(one.allocatable);
  return (
    <div class="columns">
      <Card title={one.name}>
        {one.message && <p class="note">{one.message}</p>}
        <Facts
          facts={[
            ['Node', one.node ? <a href={nodeLink(one.node)}>{one.node}</a> : 'none yet'],
            ['For', one.owners || 'no owners'],
            [
              'Used by',
              one.users.length === 0 ? (
                'no pod'
              ) : (
                <ul class="chips">
                  {one.users.map((pod) => (
                    <li key={pod}>
                      <a href={podLink(pod)}>{pod}</a>
                    </li>
                  ))}
                </ul>
              ),
            ],
            [
              'Used',
              resources
                .map(
                  ([resource, value]) =>
                    `${resource} ${amount(
                      resource,
                      one.allocated[resource] ?? 0,
                    )} of ${amount(resource, value)}`,
                )
                .join(', ') || 'nothing',
            ],
            ['Used once', one.once ? 'yes: the first pod takes it all' : 'no'],
            ['Created', <Age since={one.created} ago />],
            ['Ends', <End reservation={one} />],
          ]}
        />
      </Card>
      <Explanation kind="reservation" name={one.name} />
    </div>
  );
}
