// How stands my job? Gangs, and the timeline and places of one.

import {useMemo} from 'preact/hooks';
import {store} from '../feed/api.ts';
import {now} from '../feed/connection.ts';
import type {Pod} from '../feed/rows.ts';
import {age, count, plural} from '../model/format.ts';
import {jobOf, stretchesOf, type Job} from '../model/job.ts';
import {linkTo, nodeLink, param, podLink, setQuery} from '../state/route.ts';
import {Age, Badge, Card, Figure, Filter, Heading, Meter, Legend} from '../ui/bits.tsx';
import {NoRows, PartNote} from '../ui/empty.tsx';
import {Explanation} from '../ui/explanation.tsx';
import {useSlowly} from '../ui/slowly.ts';
import {Table, textColumn, type Column} from '../ui/table.tsx';

const words: Record<Job['state'], [string, string]> = {
  waits: ['Waits', 'warn'],
  starts: ['Starts', 'warn'],
  runs: ['Runs', 'good'],
  done: ['Ended', 'dim'],
};

function JobState({job}: {job: Job}) {
  const [text, tone] = words[job.state];
  return <Badge tone={tone}>{text}</Badge>;
}

const columns: Column<Job>[] = [
  textColumn('job', 'Job', 'minmax(140px, 2fr)', (job) => job.key),
  {
    id: 'state',
    title: 'State',
    cell: (job) => <JobState job={job} />,
    width: '92px',
    sort: (job) => job.state,
  },
  {
    id: 'members',
    title: 'Members',
    width: 'minmax(90px, 1.5fr)',
    cell: (job) => <Members job={job} />,
  },
  {
    id: 'running',
    title: 'Running',
    number: true,
    wide: true,
    width: '84px',
    sort: (job) => job.running,
    cell: (job) => `${count(job.running)}/${count(job.total)}`,
  },
  {
    id: 'min',
    title: 'Required',
    number: true,
    wide: true,
    width: '84px',
    sort: (job) => job.minMember,
    cell: (job) => count(job.minMember),
  },
  {
    id: 'wait',
    title: 'Waited',
    number: true,
    wide: true,
    width: '84px',
    sort: (job) => (job.allBound || now.peek()) - job.created,
    cell: (job) => age((job.allBound || now.value) - job.created),
  },
  {
    id: 'age',
    title: 'Age',
    number: true,
    wide: true,
    width: '64px',
    sort: (job) => -job.created,
    cell: (job) => <Age since={job.created} />,
  },
];

function Members({job}: {job: Job}) {
  const text = `${job.running} running, ${job.bound} starting, ${job.pending} pending, ${
    job.ended
  } ended; ${job.minMember} required`;
  return (
    <Meter
      whole={Math.max(job.total, job.minMember)}
      mark={job.minMember}
      text={text}
      parts={[
        {label: 'ended', value: job.ended, colour: 'capacity'},
        {label: 'running', value: job.running, colour: 'used'},
        {label: 'starting', value: job.bound, colour: 'free'},
        {label: 'pending', value: job.pending, colour: 'batch'},
      ]}
    />
  );
}

export function JobsPage() {
  const revision = useSlowly(['gangs', 'pods'], 1000);
  const filter = param('filter').toLowerCase();
  const jobs = useMemo(() => {
    const keys = new Set([...store.gangs.keys(), ...store.byGang.keys()]);
    return [...keys]
      .filter((key) => key.toLowerCase().includes(filter))
      .map((key) => jobOf(key, store.gangs.get(key), store.byGang.get(key)));
  }, [revision, filter]);
  return (
    <>
      <Heading title="How stands my job?">
        <Filter
          label="Filter by name"
          value={param('filter')}
          onChange={(value) => setQuery({filter: value})}
        />
      </Heading>
      <PartNote table="gangs" />
      <h2 class="list-title">{plural(jobs.length, 'job')}</h2>
      <Table
        label="Jobs"
        rows={jobs}
        columns={columns}
        sortBy="age"
        linkOf={(job) => linkTo('jobs', ...job.key.split('/'))}
        empty={
          <NoRows
            table="gangs"
            title={filter ? 'No job has this in its name' : 'The cluster does not have gangs'}
          >
            <p>
              A gang is a group of pods that start together: a PodGroup, or pods with gang
              annotations.
            </p>
          </NoRows>
        }
      />
      <MemberLegend />
    </>
  );
}

function MemberLegend() {
  return (
    <Legend
      items={[
        ['batch', 'pending'],
        ['free', 'starting'],
        ['used', 'running'],
        ['capacity', 'ended'],
        ['mark', 'required'],
      ]}
    />
  );
}

export function JobPage({name}: {name: string}) {
  const revision = useSlowly(['gangs', 'pods'], 500);
  const gang = store.gangs.get(name);
  const pods = useMemo(
    () => [...store.byGang.get(name)].sort((a, b) => (a.key < b.key ? -1 : 1)),
    [revision, name],
  );
  const job = jobOf(name, gang, pods);
  if (!gang && pods.length === 0)
    return (
      <>
        <Heading title={name} />
        <NoRows table="gangs" title={`The cluster does not have a job ${name}`}>
          <a href="/jobs">All jobs</a>
        </NoRows>
      </>
    );
  return (
    <>
      <Heading title={name}>
        <JobState job={job} />
      </Heading>
      {gang?.message && <p class="note">{gang.message}</p>}
      <section class="figures" aria-label="Members">
        <Figure label="Pending" tone="batch" value={count(job.pending)} />
        <Figure label="Starting" tone="free" value={count(job.bound)} />
        <Figure label="Running" tone="used" value={count(job.running)} />
        <Figure
          label="Required"
          value={count(job.minMember)}
          note={gang?.waitSeconds ? `wait at most ${age(gang.waitSeconds)}` : undefined}
        />
        <Figure
          label={job.allBound ? 'Waited' : 'Waits'}
          value={age((job.allBound || now.value) - job.created)}
          note="until the required members had nodes"
        />
      </section>
      <Timeline pods={pods} begin={job.created} />
      <Places pods={pods} />
      <Explanation kind="gang" name={name} />
    </>
  );
}

const MOST = 64;

function Timeline({pods, begin}: {pods: Pod[]; begin: number}) {
  // Ends where the last member became ready, or now, plus a tenth to see that it runs.
  const last = pods.every((pod) => pod.ready > 0)
    ? Math.max(begin + 1, ...pods.map((pod) => pod.ready))
    : now.value;
  const end = last + Math.max(1, (last - begin) / 10);
  return (
    <Card
      title="Timeline"
      note={`From creation to ${age(end - begin)} after it.${
        pods.length > MOST ? ` The first ${MOST} of ${pods.length} members.` : ''
      }`}
    >
      <ol class="timeline">
        {pods.slice(0, MOST).map((pod) => (
          <li key={pod.key}>
            <a href={podLink(pod.key)}>{pod.name}</a>
            <span
              class="lane"
              role="img"
              aria-label={`created, ${
                pod.bound ? `bound after ${age(pod.bound - pod.created)}` : 'not bound'
              }, ${pod.ready ? `ready after ${age(pod.ready - pod.created)}` : 'not ready'}`}
            >
              {stretchesOf(pod, begin, end).map((part) => (
                <i
                  key={part.kind}
                  class={part.kind}
                  style={{left: `${100 * part.from}%`, width: `${100 * (part.to - part.from)}%`}}
                />
              ))}
            </span>
          </li>
        ))}
      </ol>
      <Legend
        items={[
          ['batch', 'queued'],
          ['free', 'bound, starting'],
          ['used', 'ready'],
        ]}
      />
    </Card>
  );
}

// The members by place and node: how far they are from each other.
function Places({pods}: {pods: Pod[]}) {
  const places = new Map<string, Map<string, number>>();
  for (const pod of pods) {
    if (!pod.node) continue;
    const place = store.nodes.get(pod.node)?.places.join(' / ') || 'no zone or rack';
    const nodes = places.get(place) ?? new Map<string, number>();
    nodes.set(pod.node, (nodes.get(pod.node) ?? 0) + 1);
    places.set(place, nodes);
  }
  return (
    <Card title="Where it is">
      {places.size === 0 && <p class="quiet">No member has a node yet.</p>}
      {[...places].map(([place, nodes]) => (
        <div key={place} class="place">
          <h3>{place}</h3>
          <ul class="chips">
            {[...nodes].slice(0, 40).map(([node, members]) => (
              <li key={node}>
                <a href={nodeLink(node)}>{node}</a> <b>{members}</b>
              </li>
            ))}
          </ul>
        </div>
      ))}
    </Card>
  );
}
