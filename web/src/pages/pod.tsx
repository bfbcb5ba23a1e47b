// One pod: where it is, its way there, and the scheduler's words about it.

import {store} from '../feed/api.ts';
import {now} from '../feed/connection.ts';
import type {Pod} from '../feed/rows.ts';
import {devicesText} from '../model/node_detail.ts';
import {queueOf} from '../model/queue.ts';
import {age, bytes, cores} from '../model/format.ts';
import {linkTo, nodeLink} from '../state/route.ts';
import {Age, Card, Facts, Heading} from '../ui/bits.tsx';
import {NoRows} from '../ui/empty.tsx';
import {Explanation} from '../ui/explanation.tsx';
import {ClassBadge, PhaseBadge} from './pods.tsx';

export function PodPage({name}: {name: string}) {
  void store.revision.pods.value;
  const pod = store.pods.get(name);
  if (!pod)
    return (
      <>
        <Heading title={name} />
        <NoRows table="pods" title={`The cluster does not have a pod ${name}`}>
          <p>
            It may have been deleted. <a href="/pods">All pods</a>
          </p>
        </NoRows>
      </>
    );
  return (
    <>
      <Heading title={pod.name}>
        <PhaseBadge pod={pod} />
      </Heading>
      {pod.reason && <p class="note">{pod.reason}</p>}
      <div class="columns">
        <About pod={pod} />
        <Way pod={pod} />
      </div>
      <Explanation kind="pod" name={pod.key} />
    </>
  );
}

function About({pod}: {pod: Pod}) {
  const place = pod.waits ? queueOf(store, pod, now.value) : null;
  return (
    <Card title="About the pod">
      <Facts
        facts={[
          ['Namespace', pod.namespace],
          ['Node', pod.node ? <a href={nodeLink(pod.node)}>{pod.node}</a> : 'none yet'],
          ...(place ? [['Queue', place.text] as [string, string]] : []),
          ['Class', <ClassBadge pod={pod} />],
          ['Priority', String(pod.priority)],
          [
            'Requests',
            `${cores(pod.cpu)} cores, ${bytes(pod.memory)}${
              pod.gpu ? `, ${pod.gpu / 100} GPU` : ''
            }`,
          ],
          ['CPUs', pod.cpus || 'shared'],
          ['Devices', devicesText(pod.devices)],
          ['Owner', pod.owner || 'none'],
          ['Quota', pod.quota || 'none'],
          [
            'Job',
            pod.gang ? <a href={linkTo('jobs', ...pod.gang.split('/'))}>{pod.gang}</a> : 'none',
          ],
        ]}
      />
    </Card>
  );
}

function Way({pod}: {pod: Pod}) {
  const marks: [string, number][] = [
    ['Created', pod.created],
    ['Bound', pod.bound],
    ['Started', pod.started],
    ['Ready', pod.ready],
  ];
  return (
    <Card title="Its way">
      <ol class="way">
        {marks.map(([name, time]) => (
          <li key={name} class={time > 0 ? 'done' : ''}>
            <b>{name}</b>
            {time > 0 ? <Age since={time} ago /> : <span class="quiet">not yet</span>}
            {time > 0 && name !== 'Created' && (
              <span class="quiet">after {age(time - pod.created)}</span>
            )}
          </li>
        ))}
      </ol>
    </Card>
  );
}
