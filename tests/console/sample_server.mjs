// Serves the built page with the feed of a sample cluster:
//   node sample_server.mjs PAGE [NODES] [PODS]
// The token is "sample". startSample() is for tests.

import {createServer} from 'node:http';
import {readFileSync} from 'node:fs';
import {join} from 'node:path';
import {fileURLToPath} from 'node:url';
import {random, sampleCluster} from './sample_cluster.mjs';

const TOKEN = 'sample';
const types = {
  html: 'text/html',
  js: 'text/javascript',
  css: 'text/css',
  svg: 'image/svg+xml',
};
// That of the programs (src/console/page/page.cc).
export const POLICY =
  "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' " +
  "data:; connect-src 'self'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'";
const CHUNK = 1000;

function statusOf(cluster, more) {
  return {
    now: Date.now() / 1000,
    cluster: 'https://127.0.0.1:6443',
    version: 'sample',
    explains: true,
    simulates: true,
    access: Object.fromEntries(Object.keys(cluster).map((name) => [name, {state: 'all'}])),
    ...more,
  };
}

function historyOf(series, now) {
  const next = random(3);
  const times = Array.from({length: 240}, (_, i) => Math.round(now) - 15 * (239 - i));
  const wave = (from, to, noise) =>
    times.map((_, i) => from + (to - from) * (0.5 + 0.5 * Math.sin(i / 38)) + next(noise));
  if (series.startsWith('node/'))
    return {
      times,
      columns: {
        cpuUsed: wave(40, 75, 6),
        batchUsed: wave(12, 25, 4),
        memoryUsed: wave(55, 62, 2),
        batch: wave(20, 45, 2),
      },
    };
  const [k, m] = series === 'cluster' ? [1e6, 4e6] : [4e4, 2e5];
  const columns = {};
  for (const [prefix, scale] of [
    ['cpu', k],
    ['memory', m],
  ])
    Object.assign(columns, {
      [`${prefix}Capacity`]: times.map(() => 12.8 * scale),
      [`${prefix}Requested`]: wave(8.6 * scale, 9 * scale, scale / 20),
      [`${prefix}Used`]: wave(4.9 * scale, 7.6 * scale, scale / 8),
      [`${prefix}Batch`]: wave(5.1 * scale, 2.9 * scale, scale / 20),
      [`${prefix}BatchUsed`]: wave(1.9 * scale, 2.3 * scale, scale / 8),
      [`${prefix}Runtime`]: wave(8 * scale, 9 * scale, 1),
      [`${prefix}Request`]: wave(8.6 * scale, 9 * scale, scale / 20),
    });
  return {times, columns};
}

function nodeDetail(name) {
  const cpus = Array.from({length: 64}, (_, id) => ({
    id,
    core: id >> 1,
    numa: id >> 5,
    socket: 0,
  }));
  const gpus = Number(name.split('-')[1]) % 5 === 0;
  return {
    labels: {
      'topology.kubernetes.io/zone': 'zone-a',
      'kubernetes.io/hostname': name,
    },
    taints: [],
    cpus,
    usage: {},
    zones: [0, 1].map((i) => ({
      name: `node-${i}`,
      resources: [
        {name: 'cpu', allocatable: 32000, available: 9000 + 4000 * i},
        {name: 'memory', allocatable: 131072, available: 40000},
      ],
    })),
    devices: gpus
      ? Array.from({length: 8}, (_, minor) => ({
          type: 'gpu',
          minor,
          numa: minor >> 2,
          healthy: minor !== 6,
          message: minor === 6 ? 'Xid 79: the GPU has fallen off the bus' : '',
          model: 'A100',
          memory: 81920,
        }))
      : [],
    slo: {
      suppress: true,
      suppressPercent: 65,
      memoryEvictPercent: 70,
      cpuEvictPercent: 0,
    },
  };
}

function sendFeed(response, cluster, options) {
  response.writeHead(200, {
    'Content-Type': 'text/event-stream',
    'Cache-Control': 'no-store',
  });
  const send = (event, data) =>
    response.write(`event: ${event}\ndata: ${JSON.stringify(data)}\n\n`);
  send('status', statusOf(cluster, options.status));
  for (const [t, rows] of Object.entries(cluster)) {
    send('rows', {t, reset: true});
    for (let i = 0; i < rows.length; i += CHUNK) send('rows', {t, rows: rows.slice(i, i + CHUNK)});
  }
  send('synced', {});
  const heart = setInterval(() => send('status', statusOf(cluster, options.status)), 5000);
  const next = random(5);
  const change = setInterval(() => {
    if (!options.changes) return;
    const rows = Array.from({length: options.changes}, () => {
      const row = [...cluster.pods[next(cluster.pods.length)]];
      row[6] = 250 * (1 + next(8));
      return row;
    });
    send('rows', {t: 'pods', rows});
  }, 1000);
  response.on('close', () => {
    clearInterval(heart);
    clearInterval(change);
  });
}

export async function startSample(page, {nodes = 200, pods = 3000, port = 0, ...options} = {}) {
  const cluster = options.cluster ?? sampleCluster(nodes, pods, Math.round(Date.now() / 1000));
  const server = createServer((request, response) => {
    const url = new URL(request.url, 'http://localhost');
    const json = (value, status = 200) => {
      response.writeHead(status, {'Content-Type': 'application/json'});
      response.end(JSON.stringify(value));
    };
    if (url.pathname.startsWith('/api/')) {
      if (request.headers.authorization !== `Bearer ${TOKEN}`)
        return json({message: 'no', login: 'address'}, 401);
      if (url.pathname === '/api/v1/feed') return sendFeed(response, cluster, options);
      if (url.pathname === '/api/v1/history')
        return json(historyOf(url.searchParams.get('series'), Date.now() / 1000));
      if (url.pathname === '/api/v1/node') return json(nodeDetail(url.searchParams.get('name')));
      if (url.pathname === '/api/v1/explain')
        return json({
          text: `${url.searchParams.get('name')}: as koord-scheduler explains it\n`,
        });
      if (url.pathname === '/api/v1/simulate' && options.simulate) {
        const answer = options.simulate(response);
        return answer && json(...answer); // without one the browser waits
      }
      return json({message: 'this path does not exist'}, 404);
    }
    const name = /^\/(app\.(?:js|css)|icon\.svg)$/.exec(url.pathname)?.[1] ?? 'index.html';
    response.writeHead(200, {
      'Content-Type': types[name.split('.').pop()],
      'Content-Encoding': 'gzip',
      'Content-Security-Policy': POLICY,
    });
    return response.end(readFileSync(join(page, `${name}.gz`)));
  });
  await new Promise((resolve) => server.listen(port, '127.0.0.1', resolve));
  const origin = `http://127.0.0.1:${server.address().port}`;
  return {
    origin,
    cluster,
    token: TOKEN,
    start: `${origin}/#token=${TOKEN}`,
    close: () => {
      server.closeAllConnections();
      server.close();
    },
  };
}

if (process.argv[1] === fileURLToPath(import.meta.url)) {
  const [, , page, nodes = '200', pods = '3000'] = process.argv;
  const sample = await startSample(page, {
    nodes: Number(nodes),
    pods: Number(pods),
    port: 8899,
    changes: 50,
  });
  console.log(sample.start);
}
