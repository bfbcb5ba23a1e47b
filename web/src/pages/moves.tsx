// What moves? The descheduler's moves: planned, in progress, done, failed and why.

import {useMemo} from 'preact/hooks';
import {store} from '../feed/api.ts';
import type {Move} from '../feed/rows.ts';
import {count, plural} from '../model/format.ts';
import {nodeLink, param, podLink, setQuery} from '../state/route.ts';
import {Age, Badge, Choice, Figure, Heading} from '../ui/bits.tsx';
import {NoRows, PartNote} from '../ui/empty.tsx';
import {useSlowly} from '../ui/slowly.ts';
import {Table, textColumn, type Column} from '../ui/table.tsx';

const words: Record<string, [string, string]> = {
  Pending: ['Planned', 'warn'],
  Running: ['In progress', 'warn'],
  Succeeded: ['Done', 'good'],
  Failed: ['Failed', 'bad'],
};
const wordOf = (move: Move): [string, string] => words[move.phase] ?? [move.phase, 'bad'];

function NodeName({name}: {name: string}) {
  return name ? <a href={nodeLink(name)}>{name}</a> : <span class="quiet">unknown</span>;
}

const columns: Column<Move>[] = [
  textColumn('pod', 'Pod', 'minmax(84px, 1.5fr)', (move) => move.pod),
  {
    id: 'state',
    title: 'State',
    width: '108px',
    sort: (move) => (move.open ? '0' : '1') + move.phase,
    cell: (move) => <Badge tone={wordOf(move)[1]}>{wordOf(move)[0]}</Badge>,
  },
  {
    id: 'from',
    title: 'From',
    cell: (move) => <NodeName name={move.from} />,
    wide: true,
    sort: (move) => move.from,
    width: 'minmax(70px, 0.7fr)',
  },
  {
    id: 'to',
    title: 'To',
    cell: (move) => <NodeName name={move.to} />,
    wide: true,
    sort: (move) => move.to,
    width: 'minmax(70px, 0.7fr)',
  },
  {
    id: 'why',
    title: 'Why, and what happened',
    width: 'minmax(70px, 3fr)',
    cell: (move) => {
      const text = [move.why, move.message].filter((part) => part !== '').join(' — ');
      return <span title={text}>{text || '–'}</span>;
    },
  },
  {
    id: 'changed',
    title: 'Changed',
    number: true,
    width: '76px',
    sort: (move) => -move.changed,
    cell: (move) => <Age since={move.changed || move.created} />,
  },
];

export function MovesPage() {
  const revision = useSlowly(['moves'], 500);
  const wanted = param('state');
  const all = useMemo(() => [...store.moves.values()], [revision]);
  const shown = useMemo(
    () =>
      all.filter(
        (move) => wanted === '' || (wanted === 'open' ? move.open : move.phase === wanted),
      ),
    [all, wanted],
  );
  const of = (phase: string) => count(all.filter((move) => move.phase === phase).length);
  return (
    <>
      <Heading title="What moves?">
        <Choice
          label="State"
          value={wanted}
          onChange={(value) => setQuery({state: value})}
          options={[
            ['', 'All'],
            ['open', 'Open'],
            ['Succeeded', 'Done'],
            ['Failed', 'Failed'],
          ]}
        />
      </Heading>
      <PartNote table="moves" />
      <section class="figures" aria-label="Moves">
        <Figure label="Planned" value={of('Pending')} />
        <Figure label="In progress" value={of('Running')} />
        <Figure label="Done" value={of('Succeeded')} />
        <Figure label="Failed" value={of('Failed')} />
      </section>
      <h2 class="list-title">{plural(shown.length, 'move')}</h2>
      <Table
        label="Moves"
        rows={shown}
        columns={columns}
        sortBy="changed"
        linkOf={(move) => podLink(move.pod)}
        empty={
          <NoRows table="moves" title={wanted ? 'No move is in this state' : 'Nothing moves'}>
            <p>
              koord-descheduler plans a move when a node is hot or fragmented; koordctl deschedule
              --dry-run shows what it would plan now.
            </p>
          </NoRows>
        }
      />
    </>
  );
}
