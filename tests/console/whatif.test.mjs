// The page What would happen if? against a real koord-scheduler. Run by run.mjs.

import assert from 'node:assert/strict';
import {before, test} from 'node:test';
import {forEachLook, newPage, violations} from './browser.mjs';
import {showCluster} from './shown_cluster.mjs';

const {cluster, browser, page, origin, problems} = await showCluster();

const sees = (text, where = page) => where.getByText(text).first().waitFor({timeout: 15_000});
const manifest = () => page.getByLabel('Manifest: YAML');
const configuration = () => page.getByLabel('A KubeSchedulerConfiguration');
const simulateButton = () => page.getByRole('button', {name: 'Simulate', exact: true});
const drainField = () => page.getByRole('combobox', {name: 'Find a node to drain'});
const shapeField = () => page.getByRole('combobox', {name: 'whose shape'});
const placed = () => page.locator('.figure', {hasText: 'Placed'}).locator('.figure-value');
const pending = () => page.locator('.figure', {hasText: 'Pending'}).locator('.figure-value');
// The card of a node in the difference.
const change = (name) => page.locator('.changes > li', {hasText: name});

async function ask(text, path = '/whatif') {
  await page.goto(origin + path);
  await manifest().fill(text);
  await page.getByRole('button', {name: 'Simulate', exact: true}).click();
  await sees(/pods? of the question/);
}

function deployment(name, replicas, cpu, more = {}) {
  return JSON.stringify({
    apiVersion: 'apps/v1',
    kind: 'Deployment',
    metadata: {name, namespace: 'shop'},
    spec: {
      replicas,
      selector: {matchLabels: {app: 'asked'}},
      template: {
        metadata: {labels: {app: 'asked'}},
        spec: {
          schedulerName: 'koord-scheduler',
          containers: [{name: 'main', image: 'nginx', resources: {requests: {cpu}}}],
          ...more,
        },
      },
    },
  });
}

// A page of a console of its own that asks what would happen without node sim-1.
async function askConsole(kubeconfig, flags) {
  const address = await cluster.console(kubeconfig, flags);
  const own = await newPage(browser, address, problems);
  await own.goto(`${new URL(address).origin}/whatif?drain=sim-1`);
  return own;
}

before(() => {
  cluster.kubectl(['-n', 'shop', 'rollout', 'status', 'deployment/web', '--timeout=60s']);
});

test('a manifest gets places, and nothing is created', async () => {
  await page.goto(`${origin}/whatif`);
  await sees('Nothing is asked yet');
  await page.getByRole('button', {name: 'Insert an example'}).first().click();
  await page.getByRole('button', {name: 'Simulate', exact: true}).click();
  await sees('3 pods of the question');
  assert.equal(await placed().textContent(), '3');
  assert.throws(() => cluster.kubectl(['get', 'deployment', 'example']), /NotFound/);
  assert.doesNotMatch(page.url(), /example|manifest/);
});

test('the place of a pod is a link to its node, and the way back leads to the answer', async () => {
  const link = page.getByRole('table', {name: 'Pods of the question'}).locator('a').first();
  const node = await link.textContent();
  assert.match(node, /^sim-\d$/);
  await link.click();
  await page.waitForURL(`**/nodes/${node}`);
  await page.goBack();
  await sees('3 pods of the question');
  assert.match(await manifest().inputValue(), /kind: Deployment/);
});

test('the keyboard alone drains a node, and its pods go elsewhere', async () => {
  await page.goto(`${origin}/whatif`);
  await drainField().focus();
  await page.keyboard.type('sim-');
  await page.locator('#drain-nodes [role=option]').nth(5).waitFor();
  await page.keyboard.press('ArrowDown');
  await page.keyboard.press('Enter');
  await sees('sim-1', page.locator('.chosen'));
  await page.waitForURL(/drain=sim-1/);
  await page.keyboard.press('Control+Enter');
  await sees('drained', change('sim-1'));
  // The Reservation of four cores stays where it is.
  await sees(/→ [04] of 32 cores/, change('sim-1'));
  const from = page.getByRole('table', {name: 'Pods of the question'}).locator('.table-row');
  assert.ok((await from.filter({hasText: 'again'}).count()) > 0);
});

test('a link with nodes asks at once, and the chips of its nodes can be removed', async () => {
  const other = await newPage(browser, `${origin}/whatif?drain=sim-1%2Csim-2`, problems);
  await sees('drained', other.locator('.changes > li', {hasText: 'sim-2'}));
  await other.getByRole('button', {name: 'Do not drain sim-1'}).click();
  await other.waitForURL(/drain=sim-2$/);
  await sees('The answer below is that of the question before', other);
  await other.close();
});

test('pods without a node have a remedy, and the page asks with its nodes', async () => {
  await ask(deployment('wide', 8, 20));
  assert.notEqual(await pending().textContent(), '0');
  await sees('Without a node');
  await sees(/Insufficient cpu/);
  await page.getByRole('button', {name: /Simulate with \d more nodes?/}).click();
  await sees('added');
  await page.waitForFunction(
    () => document.querySelector('.figures .figure-value')?.textContent === '8',
  );
  await page.waitForURL(/add=\d+&like=sim-\d/);
});

// Until this many pods of the deployment have nodes, and the others are known to get none.
async function settled(nodes, others) {
  for (let i = 0; i < 60; i++) {
    const list = cluster.kubectl(['-n', 'shop', 'get', 'pods', '-l', 'app=asked', '-o', 'json']);
    const pods = JSON.parse(list).items;
    const refused = pods.filter(({status}) => status.conditions?.some((c) => c.status === 'False'));
    const bound = pods.filter(({spec}) => spec.nodeName);
    if (bound.length === nodes && refused.length === others) return;
    await page.waitForTimeout(500);
  }
  throw new Error('the scheduler has not placed the pods');
}

test('added nodes take pods that wait now', async () => {
  cluster.kubectl(['apply', '-f', '-'], deployment('waits', 8, 20));
  await settled(6, 2);
  await page.goto(`${origin}/whatif`);
  await shapeField().fill('sim-3');
  await page.keyboard.press('Enter');
  await page.getByLabel('Number of nodes to add').fill('3');
  await page.waitForURL(/add=3/);
  await page.getByRole('button', {name: 'Simulate', exact: true}).click();
  await sees('Pods that wait now would get nodes');
  await sees('sim-3-added-1');
});

test('a node that is lost is gone, and its pods go elsewhere', async () => {
  await page.goto(`${origin}/whatif`);
  await page.getByRole('combobox', {name: 'Find a node to lose'}).fill('sim-2');
  await page.keyboard.press('Enter');
  await page.waitForURL(/lose=sim-2/);
  await simulateButton().click();
  await sees('lost', change('sim-2'));
  const from = page.getByRole('table', {name: 'Pods of the question'}).locator('.table-row');
  assert.ok((await from.filter({hasText: 'again'}).count()) > 0);
  await page.getByRole('button', {name: 'Do not lose sim-2'}).click();
  await page.waitForURL(/whatif$/);
});

test('nodes of given amounts are added, also with GPUs', async () => {
  const gpus = {
    resources: {requests: {cpu: 2, 'nvidia.com/gpu': 4}, limits: {'nvidia.com/gpu': 4}},
  };
  await ask(deployment('gpus', 4, 2, {containers: [{name: 'main', image: 'nginx', ...gpus}]}));
  assert.equal(await placed().textContent(), '0');
  await page.getByRole('button', {name: 'With amounts'}).click();
  for (const [label, value] of [
    ['Number of nodes to add', '2'],
    ['Cores of each', '16'],
    ['GiB of each', '64'],
    ['GPUs of each', '8'],
  ])
    await page.getByLabel(label).fill(value);
  await page.waitForURL(/by=amounts.*gpus=8/);
  await simulateButton().click();
  await page.waitForFunction(
    () => document.querySelector('.figures .figure-value')?.textContent === '4',
  );
  await sees('added');
  await sees(/→ 8 of 8/);
});

test('another configuration of the scheduler is tried', async () => {
  await page.goto(`${origin}/whatif`);
  await manifest().fill(deployment('packed', 4, 1));
  await page.getByRole('button', {name: 'Insert an example'}).click(); // of the configuration
  assert.match(await configuration().inputValue(), /MostAllocated/);
  await simulateButton().click();
  await sees('4 pods of the question');
  assert.doesNotMatch(page.url(), /MostAllocated|packed/);
  await configuration().fill('kind: KubeSchedulerConfiguration\nprofiles: 3');
  await simulateButton().click();
  await sees('The question is not valid');
  await sees(/profiles/, page.getByRole('alert'));
  await configuration().fill('a: [1');
  await simulateButton().click();
  await sees(/configuration: not valid YAML: line 1/);
  await configuration().fill('');
});

test('victims have the rule that chose them', async () => {
  await ask(deployment('first', 2, 20, {priorityClassName: 'koord-prod'}));
  await sees('would be preempted');
  const victims = page.getByRole('table', {name: 'Pods that would be preempted'});
  await sees(/shop\/(waits|web|train)-/, victims);
  await sees('DefaultPreemption', page.getByRole('list', {name: 'Victims by rule'}));
});

test('answers and errors keep WCAG AA, light and dark, wide and narrow', async () => {
  const bad = await newPage(browser, `${origin}/whatif?drain=none`, problems);
  await sees('The question is not valid', bad);
  await drainField().click(); // the list is open
  for (const one of [page, bad])
    await forEachLook(one, async () => assert.deepEqual(await violations(one), []));
  await bad.close();
});

test('a manifest that is not valid is refused with its place', async () => {
  const refused = async (text, ...expected) => {
    await page.goto(`${origin}/whatif`);
    await manifest().fill(text);
    await manifest().press('Control+Enter');
    await sees('The question is not valid');
    for (const one of expected) await sees(one);
  };
  await refused('a: [1', /line 1/);
  await refused('just a text', 'document 1: must be an object');
  await refused(
    '{apiVersion: v1, kind: Pod, metadata: {name: a}, spec: {containers: []}}\n---\n' +
      '{apiVersion: v1, kind: Pod, metadata: {name: b}, spec: {containers: 3}}',
    /spec\.containers: expected a list/,
    /object 2 of the manifest/,
  );
  await page.goto(`${origin}/whatif?add=2&like=none`);
  await sees('spec.addNodes[0].like: there is no node "none"');
});

test('a manifest of megabytes is refused before it is sent', async () => {
  await page.goto(`${origin}/whatif`);
  await manifest().evaluate((area) => {
    area.value = `# ${'x'.repeat(2 << 20)}`;
    area.dispatchEvent(new Event('input', {bubbles: true}));
  });
  await page.getByRole('button', {name: 'Simulate', exact: true}).click();
  await sees('The question is too large');
});

test('names of the question never become markup', async () => {
  const hostile = '<img src=x onerror="globalThis.hacked=1">';
  await ask(deployment(hostile, 2, 1, {nodeSelector: {[hostile]: hostile}}));
  await sees(hostile);
  await page.goto(`${origin}/whatif?drain=${encodeURIComponent(hostile)}`);
  await sees(`"${hostile}" is not the name of a node`);
  await sees(hostile, page.locator('.chosen'));
  assert.equal(await page.evaluate(() => globalThis.hacked), undefined);
});

test('a console that does not know koord-scheduler says how to ask', async () => {
  const other = await askConsole();
  await sees('No koord-scheduler that simulates is reached', other);
  await sees('koordctl simulate -f FILE', other);
  await other.close();
});

test('a console beside the cluster asks with its own kubeconfig', async () => {
  const other = await askConsole(cluster.kubeconfig, ['--scheduler', cluster.scheduler()]);
  await sees('drained', other.locator('.changes > li', {hasText: 'sim-1'}));
  await other.close();
});

test('a user without rights reads which one is missing', async () => {
  const kubeconfig = cluster.kubeconfigOf('reader', 'shop');
  const reader = await askConsole(kubeconfig, ['--scheduler', cluster.scheduler()]);
  await sees('You lack a right', reader);
  await sees('koord-scheduler-simulate', reader);
  await reader.close();
});

test('without the token nothing is asked', async () => {
  for (const headers of [{}, {Authorization: 'Bearer x'}]) {
    const answer = await fetch(`${origin}/api/v1/simulate`, {method: 'POST', headers, body: '{}'});
    assert.equal(answer.status, 401);
  }
});

test('a scheduler that is gone is an error in words, and answers when it runs again', async () => {
  await page.goto(`${origin}/whatif?drain=sim-1`);
  await sees('drained', change('sim-1'));
  const simulate = page.getByRole('button', {name: 'Simulate', exact: true});
  cluster.killComponent('koord-scheduler');
  await simulate.click();
  await sees(/No koord-scheduler that simulates is reached|koord-scheduler does not answer/);
  await sees('koordctl simulate -f FILE');
  for (let i = 0; i < 60 && (await page.locator('.changes').count()) === 0; i++) {
    await simulate.click();
    await page.waitForTimeout(500);
  }
  await sees('drained', change('sim-1'));
});

test('no page had an error or broke its policy', () => {
  assert.deepEqual(problems, []);
});
