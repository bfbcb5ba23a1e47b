// A cluster of any size as rows of the feed, always the same for the same size: for the tests of
// the page that need no programs, and to look at it while one changes it.

const GPU_NODE = 5; // each fifth node has GPUs

// A generator of numbers below n; mulberry32.
export function random(seed) {
  let state = seed;
  return (n) => {
    state = (state + 0x6d2b79f5) | 0;
    let t = Math.imul(state ^ (state >>> 15), 1 | state);
    t = (t + Math.imul(t ^ (t >>> 7), 61 | t)) ^ t;
    return Math.floor((((t ^ (t >>> 14)) >>> 0) / 4294967296) * n);
  };
}

const teams = ['search', 'ads', 'checkout', 'ml-training', 'ml-serving', 'analytics'];
const services = ['api', 'frontend', 'ranking', 'index', 'cache', 'gateway', 'worker'];

export function sampleCluster(nodes, pods, now) {
  const next = random(7);
  const cluster = {
    nodes: [],
    metrics: [],
    pods: [],
    quotas: [],
    gangs: [],
    moves: [],
    reservations: [],
  };
  for (let i = 0; i < nodes; i++) {
    const gpus = i % GPU_NODE === 0 ? 8 : 0;
    const zone = `zone-${'abc'[Math.floor((3 * i) / nodes)]}`;
    cluster.nodes.push([
      `node-${i}`,
      i % 97 === 13 ? 0 : 1,
      i % 61 === 7 ? 1 : 0,
      64000,
      262144,
      8000 + 100 * next(200),
      60000 + 100 * next(500),
      0,
      0,
      gpus,
      [zone, `rack-${Math.floor(i / 24)}`],
      now - 86400 * 40,
      i % 97 === 13 ? 'kubelet stopped posting node status' : '',
      '',
    ]);
    if (i % 53 === 11) continue;
    const batch = 1000 * next(18);
    cluster.metrics.push([
      `node-${i}`,
      now - next(60),
      4000 + batch + 1000 * next(38),
      40000 + 100 * next(1800),
      900,
      3000,
      batch,
      20000 + 100 * next(400),
    ]);
  }
  for (let i = 0; i < pods; i++) cluster.pods.push(podRow(i, nodes, now, next));
  addJobs(cluster, now, next);
  addQuotas(cluster);
  addMoves(cluster, now, next);
  return cluster;
}

function podRow(i, nodes, now, next) {
  const team = teams[next(teams.length)];
  const batch = next(10) < 3;
  const service = batch ? 'spark' : services[next(services.length)];
  const created = now - 60 - next(86400);
  const waits = next(400) === 0;
  const row = [
    team,
    `${service}-${i.toString(36)}`,
    waits ? '' : `node-${next(nodes)}`,
    waits ? 'Pending' : 'Running',
    batch ? 'BE' : 'LS',
    batch ? 'batch' : 'prod',
    250 * (1 + next(8)),
    256 * (1 + next(12)),
    0,
    created,
  ];
  if (waits) return [...row, 0, 0, 0, team, '', `ReplicaSet/${service}`, waitReason(nodes, next)];
  return [
    ...row,
    created + next(4),
    created + 5,
    created + 6 + next(20),
    team,
    '',
    `ReplicaSet/${service}`,
    '',
    '',
    '',
    batch ? 5500 : 9000,
  ];
}

function waitReason(nodes, next) {
  return [
    `0/${nodes} nodes are available: ${nodes} Insufficient cpu. preemption: 0/${nodes} nodes are ` +
      'available: No preemption victims found for incoming pod.',
    `0/${nodes} nodes are available: ${nodes} Insufficient koordinator.sh/gpu.`,
    'Insufficient quotas, quotaName: ads, runtime: [cpu:400, memory:800Gi], used: [cpu:400], ' +
      "pod's request: [cpu:2]",
  ][next(3)];
}

function addJobs(cluster, now, next) {
  for (let job = 0; job < 12; job++) {
    const name = `train-${job}`;
    const created = now - 300 - 400 * job;
    const placed = job % 3 === 1 ? 0 : 8;
    cluster.gangs.push([
      'ml-training',
      name,
      8,
      placed ? 'Running' : 'Pending',
      created,
      600,
      placed ? '' : 'the gang waits: 0 of 8 required members have a node',
    ]);
    for (let member = 0; member < 8; member++) {
      const bound = placed ? created + 20 + job : 0;
      const node = placed ? `node-${(5 * (8 * job + member)) % cluster.nodes.length}` : '';
      const minor = member % 8;
      cluster.pods.push([
        'ml-training',
        `${name}-${member}`,
        node,
        placed ? 'Running' : 'Pending',
        'LSR',
        'prod',
        8000,
        65536,
        100,
        created,
        bound,
        placed ? bound + 2 : 0,
        placed ? bound + 4 + next(15) : 0,
        'ml-training',
        `ml-training/${name}`,
        `Job/${name}`,
        placed ? '' : waitReason(cluster.nodes.length, () => 1),
        placed ? `${4 * minor}-${4 * minor + 3}` : '',
        placed ? `gpu:${minor}:100` : '',
        9500,
      ]);
    }
  }
}

function addQuotas(cluster) {
  const used = {};
  for (const row of cluster.pods) {
    if (!row[2]) continue;
    const sum = (used[row[0]] ??= {cpu: 0, memory: 0});
    sum.cpu += row[6];
    sum.memory += row[7];
  }
  const all = Object.values(used).reduce(
    (sum, one) => ({cpu: sum.cpu + one.cpu, memory: sum.memory + one.memory}),
    {cpu: 0, memory: 0},
  );
  const scaled = (amounts, share) => ({
    cpu: Math.round(amounts.cpu * share),
    memory: Math.round(amounts.memory * share),
  });
  cluster.quotas.push([
    'default',
    'company',
    'koordinator-root-quota',
    '',
    scaled(all, 0.9),
    scaled(all, 1.3),
    all,
    scaled(all, 1.1),
    all,
    1,
    0,
  ]);
  teams.forEach((team, i) => {
    const own = used[team] ?? {cpu: 0, memory: 0};
    cluster.quotas.push([
      'default',
      team,
      'company',
      '',
      scaled(own, 0.6 + 0.12 * i),
      scaled(own, 1.5),
      own,
      scaled(own, 1.1),
      scaled(own, 1.05),
      1,
      0,
    ]);
  });
}

function addMoves(cluster, now, next) {
  const phases = ['Pending', 'Running', 'Succeeded', 'Succeeded', 'Succeeded', 'Failed'];
  for (let i = 0; i < 30; i++) {
    const phase = phases[next(phases.length)];
    const pod = cluster.pods[next(cluster.pods.length)];
    cluster.moves.push([
      `move-${i}`,
      `${pod[0]}/${pod[1]}`,
      phase,
      pod[2],
      `node-${next(50)}`,
      'LowNodeLoad: node is overutilized, cpu usage(82.1%)>threshold(70.0%)',
      phase === 'Failed' ? 'the PodDisruptionBudget allows no eviction' : '',
      now - 60 * i - 90,
      now - 60 * i - 30,
    ]);
    cluster.reservations.push([
      `reserve-pod-${i}`,
      i % 7 === 3 ? 'Pending' : 'Available',
      `node-${next(50)}`,
      {cpu: 4000, memory: 8192},
      {cpu: i % 2 ? 2000 : 0},
      'app=search, Deployment',
      i % 2 ? [`${pod[0]}/${pod[1]}`] : [],
      now - 3600,
      i % 5 ? now + 60 * (3 + i) : 0,
      i % 3 ? 1 : 0,
      i % 7 === 3 ? `0/${cluster.nodes.length} nodes are available: Insufficient cpu.` : '',
    ]);
  }
}
