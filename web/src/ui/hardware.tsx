// The CPUs of a node by NUMA node and owner, and its devices by owner.

import {useMemo} from 'preact/hooks';
import type {Pod} from '../feed/rows.ts';
import {bytes, isMemory, amount, plural} from '../model/format.ts';
import {
  ownersOfCpus,
  ownersOfDevices,
  type Cpu,
  type Device,
  type Zone,
} from '../model/node_detail.ts';
import {podLink} from '../state/route.ts';
import {Badge, Card, Meter} from './bits.tsx';

function grouped<T>(items: T[], of: (item: T) => number): [number, T[]][] {
  const groups = new Map<number, T[]>();
  for (const item of items) groups.set(of(item), [...(groups.get(of(item)) ?? []), item]);
  return [...groups].sort((a, b) => a[0] - b[0]);
}

const toneOf = (pods: Pod[] | undefined) =>
  !pods || pods.length === 0 ? 'shared' : pods.some((pod) => pod.qos === 'BE') ? 'batch' : 'used';

// Each CPU as a cell; hardware threads of one core are beside each other.
export function CpuMap({cpus, pods}: {cpus: Cpu[]; pods: Pod[]}) {
  const owners = useMemo(() => ownersOfCpus(pods), [pods]);
  if (cpus.length === 0) return null;
  const bound = cpus.filter((cpu) => owners.has(cpu.id)).length;
  return (
    <Card
      title="CPUs by owner"
      note={`${bound} of ${plural(cpus.length, 'CPU')} belong to pods; all pods share the others.`}
    >
      <div class="zones">
        {grouped(cpus, (cpu) => cpu.numa).map(([numa, list]) => (
          <div key={numa} class="zone">
            <h3>NUMA node {numa}</h3>
            <div class="cpus">
              {grouped(list, (cpu) => cpu.core).map(([core, threads]) => (
                <span key={core} class="core" title={`core ${core}`}>
                  {threads.map((cpu) => {
                    const pod = owners.get(cpu.id);
                    const who = pod ? pod.map((one) => one.key).join(', ') : 'shared';
                    return (
                      <i key={cpu.id} class={`cpu ${toneOf(pod)}`} title={`CPU ${cpu.id}: ${who}`}>
                        {cpu.id}
                      </i>
                    );
                  })}
                </span>
              ))}
            </div>
          </div>
        ))}
      </div>
    </Card>
  );
}

export function DeviceMap({devices, pods, zones}: {devices: Device[]; pods: Pod[]; zones: Zone[]}) {
  const owners = useMemo(() => ownersOfDevices(pods), [pods]);
  if (devices.length === 0 && zones.length === 0) return null;
  return (
    <Card title={devices.length > 0 ? 'Devices and NUMA nodes' : 'NUMA nodes'}>
      {zones.length > 0 && (
        <div class="zone-bars">
          {zones.map((zone) => (
            <ZoneBars key={zone.name} zone={zone} />
          ))}
        </div>
      )}
      <div class="devices">
        {devices.map((device) => (
          <DeviceBox
            key={`${device.type}:${device.minor}`}
            device={device}
            owners={owners.get(`${device.type}:${device.minor}`) ?? []}
          />
        ))}
      </div>
    </Card>
  );
}

function ZoneBars({zone}: {zone: Zone}) {
  const offered = zone.resources.filter(({allocatable}) => allocatable > 0).slice(0, 6);
  return (
    <div class="zone">
      <h3>{zone.name}</h3>
      {offered.map(({name, allocatable, available}) => (
        <div key={name} class="zone-bar">
          <span title={name}>{name.slice(name.indexOf('/') + 1)}</span>
          <Meter
            whole={allocatable}
            parts={[
              {label: `${name} allocated`, value: allocatable - available, colour: 'requested'},
            ]}
          />
          <span class="quiet">{amount(isMemory(name) ? 'memory' : name, available)} free</span>
        </div>
      ))}
    </div>
  );
}

function DeviceBox({device, owners}: {device: Device; owners: {pod: Pod; share: number}[]}) {
  const given = owners.reduce((sum, owner) => sum + owner.share, 0);
  return (
    <div class="device">
      <div class="device-head">
        <b>
          {device.type} {device.minor}
        </b>
        {!device.healthy && <Badge tone="bad">broken</Badge>}
        <span class="quiet">{device.numa >= 0 ? `NUMA ${device.numa}` : ''}</span>
      </div>
      <Meter
        whole={100}
        text={`${given} % allocated`}
        parts={owners.map(({pod, share}) => ({
          label: pod.key,
          value: share,
          colour: pod.qos === 'BE' ? 'batch' : 'requested',
        }))}
      />
      <div class="device-owners">
        {owners.length === 0 ? (
          <span class="quiet">free</span>
        ) : (
          owners.slice(0, 4).map(({pod, share}) => (
            <a key={pod.key} href={podLink(pod.key)}>
              {pod.name}
              {share < 100 ? ` ${share} %` : ''}
            </a>
          ))
        )}
        {owners.length > 4 && <span class="quiet">and {owners.length - 4} more</span>}
      </div>
      {device.model && (
        <span class="quiet">
          {device.model}
          {device.memory ? `, ${bytes(device.memory)}` : ''}
        </span>
      )}
      {device.message && <span class="quiet">{device.message}</span>}
    </div>
  );
}
