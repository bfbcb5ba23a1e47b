// The objects of a cluster that looks like one in use, for the pictures of the documentation.

import {random} from './sample_cluster.mjs';

const label = 'quota.scheduling.koordinator.sh';

function workload(namespace, name, replicas, pod, requests, more = {}) {
  const {labels = {}, annotations = {}} = pod;
  return {
    apiVersion: 'apps/v1',
    kind: 'Deployment',
    metadata: {name, namespace},
    spec: {
      replicas,
      selector: {matchLabels: {app: name}},
      template: {
        metadata: {labels: {app: name, [`${label}/name`]: namespace, ...labels}, annotations},
        spec: {
          schedulerName: 'koord-scheduler',
          containers: [{name: 'main', image: 'busybox', resources: {requests, limits: requests}}],
          ...more,
        },
      },
    },
  };
}

function service(namespace, name, replicas, cores, used) {
  const annotations = {
    'kwok.x-k8s.io/usage-cpu': `${used}m`,
    'kwok.x-k8s.io/usage-memory': `${cores * 2}Gi`,
  };
  const requests = {cpu: cores, memory: `${cores * 4}Gi`};
  return workload(namespace, name, replicas, {annotations}, requests);
}

function batch(namespace, name, replicas, cores) {
  const pod = {
    labels: {'koordinator.sh/qosClass': 'BE'},
    annotations: {'kwok.x-k8s.io/usage-cpu': `${cores * 900}m`},
  };
  const requests = {
    'kubernetes.io/batch-cpu': cores * 1000,
    'kubernetes.io/batch-memory': `${cores * 2}Gi`,
  };
  return workload(namespace, name, replicas, pod, requests, {priorityClassName: 'koord-batch'});
}

function training(name, members, gpus) {
  const pod = {
    labels: {'pod-group.scheduling.sigs.k8s.io': name, 'koordinator.sh/qosClass': 'LSR'},
  };
  const requests = {cpu: 16, memory: '64Gi', 'koordinator.sh/gpu': 100 * gpus};
  const group = {
    apiVersion: 'scheduling.sigs.k8s.io/v1alpha1',
    kind: 'PodGroup',
    metadata: {name, namespace: 'ml-training'},
    spec: {minMember: members, scheduleTimeoutSeconds: 600},
  };
  const prod = {priorityClassName: 'koord-prod'};
  return [group, workload('ml-training', name, members, pod, requests, prod)];
}

function quota(name, parent, min, max) {
  const labels = {[`${label}/is-parent`]: String(parent === '')};
  if (parent) labels[`${label}/parent`] = parent;
  const amounts = (cpu) => ({cpu, memory: `${cpu * 8}Gi`});
  return {
    apiVersion: 'scheduling.sigs.k8s.io/v1alpha1',
    kind: 'ElasticQuota',
    metadata: {name, namespace: 'quotas', labels},
    spec: {min: amounts(min), max: amounts(max)},
  };
}

// As a List for kubectl. Nodes are expected to be those of deploy/node-shapes/eight-gpus.yaml.
export function busyCluster(nodes) {
  const next = random(11);
  const spaces = ['quotas', 'search', 'checkout', 'ml-training', 'analytics'];
  const items = spaces.map((name) => ({apiVersion: 'v1', kind: 'Namespace', metadata: {name}}));
  items.push(quota('company', '', 64 * nodes, 128 * nodes));
  for (const name of spaces.slice(1)) items.push(quota(name, 'company', 10 * nodes, 60 * nodes));
  for (const name of ['frontend', 'ranking', 'index', 'suggest', 'crawler', 'ads'])
    items.push(service('search', name, nodes / 3, 4 + 4 * next(4), 1000 + 2500 * next(10)));
  for (const name of ['cart', 'payment', 'orders'])
    items.push(service('checkout', name, nodes / 4, 4 + 4 * next(3), 1000 + 3000 * next(10)));
  items.push(
    batch('analytics', 'spark', 1.5 * nodes, 12),
    batch('analytics', 'reports', nodes / 2, 20),
  );
  items.push(...training('vision', 8, 1), ...training('language', 4, 4));
  items.push(...training('next-week', 40, 8));
  return JSON.stringify({apiVersion: 'v1', kind: 'List', items});
}
