// The console of koord-manager, which many users share, against the embedded API server with its
// roles and tokens. Run by run.mjs.

import assert from 'node:assert/strict';
import {readFileSync} from 'node:fs';
import https from 'node:https';
import {after, test} from 'node:test';
import {forEachLook, openBrowser, violations} from './browser.mjs';
import {Cluster} from './cluster.mjs';

const deploy = new URL('../../deploy/', import.meta.url);
const HOSTILE = '<img src=x onerror=globalThis.hacked=1>';

// Users of two teams and an administrator; the secrets of the team vault must never be elsewhere.
const USERS = `
apiVersion: v1
kind: Namespace
metadata: {name: vault}
---
apiVersion: apps/v1
kind: Deployment
metadata: {name: classified, namespace: vault}
spec:
  replicas: 3
  selector: {matchLabels: {app: classified}}
  template:
    metadata: {labels: {app: classified, quota.scheduling.koordinator.sh/name: classified-quota}}
    spec:
      schedulerName: koord-scheduler
      containers:
      - {name: c, image: x, env: [{name: PASSWORD, value: never-in-the-browser}],
         resources: {requests: {cpu: "1"}}}
---
apiVersion: scheduling.sigs.k8s.io/v1alpha1
kind: PodGroup
metadata: {name: classified-gang, namespace: vault}
spec: {minMember: 3}
---
apiVersion: v1
kind: ServiceAccount
metadata: {name: admin, namespace: koordinator-system}
---
apiVersion: rbac.authorization.k8s.io/v1
kind: ClusterRoleBinding
metadata: {name: console-admin}
roleRef: {apiGroup: rbac.authorization.k8s.io, kind: ClusterRole, name: cluster-admin}
subjects: [{kind: ServiceAccount, name: admin, namespace: koordinator-system}]
`;

const cluster = new Cluster(process.env.CONSOLE_PROGRAMS);
const problems = [];
let browser;
after(async () => {
  await browser?.close();
  await cluster.stop();
});
await cluster.start();
cluster.kubectl(
  ['apply', '-f', '-'],
  readFileSync(new URL('objects.yaml', import.meta.url), 'utf8'),
);
cluster.kubectl(['apply', '-f', '-'], USERS);
// koord-manager has the roles that deploy gives it, and no others.
cluster.kubectl(['apply', '-f', new URL('manifests/manager-rbac.yaml', deploy).pathname]);
cluster.kubectl(['apply', '-f', new URL('console/rbac.yaml', deploy).pathname]);
const origin = await cluster.sharedConsole();
browser = await openBrowser({ignoreHTTPSErrors: true});

const token = (account, namespace = 'shop') =>
  cluster.kubectl(['-n', namespace, 'create', 'token', account]).trim();
const sees = (text, where) =>
  where.getByText(text, {exact: false}).first().waitFor({timeout: 40_000});

async function newTab(path = '/') {
  const page = await browser.context.newPage();
  page.on('pageerror', (error) => problems.push(error.message));
  page.on('console', (message) => {
    if (message.type() === 'error' && !message.text().startsWith('Failed to load resource'))
      problems.push(message.text());
  });
  await page.goto(origin + path);
  return page;
}

async function signIn(page, secret) {
  await page.getByLabel('Token of the cluster').fill(secret);
  await page.keyboard.press('Enter');
}

async function tabOf(account, path = '/', namespace = 'shop') {
  const page = await newTab(path);
  await signIn(page, token(account, namespace));
  await page.waitForSelector('.link.live');
  return page;
}

// An answer of the console, and for the feed what it sends until it is complete.
function ask(path, secret, {method = 'GET', body = '', headers = {}} = {}) {
  return new Promise((resolve, reject) => {
    const authorization = secret ? {Authorization: `Bearer ${secret}`} : {};
    const request = https.request(
      origin + path,
      {method, headers: {...authorization, ...headers}, rejectUnauthorized: false},
      (answer) => {
        let text = '';
        const done = () => resolve({status: answer.statusCode, text});
        answer.setEncoding('utf8');
        answer.on('data', (data) => {
          text += data;
          if (!text.includes('event: synced')) return;
          done();
          request.destroy();
        });
        answer.on('end', done);
      },
    );
    request.on('error', reject);
    request.end(body);
  });
}

test('the page asks who the user is, and refuses what is not a token in words', async () => {
  const page = await newTab('/pods');
  await sees('Who are you?', page);
  await forEachLook(page, async () => assert.deepEqual(await violations(page), []));
  await signIn(page, 'not-a-token');
  await sees('The token is not valid', page);
  await page.close();
  for (const path of ['/api/v1/feed', '/api/v1/history?series=cluster', '/api/v1/node?name=sim-0'])
    for (const secret of ['', 'x', HOSTILE]) assert.equal((await ask(path, secret)).status, 401);
});

test('a user of one namespace sees its pods and nothing else', async () => {
  const page = await tabOf('reader', '/pods');
  await sees('Only pods of namespace shop', page);
  await sees('does-not-fit', page);
  assert.equal(await page.getByText('classified').count(), 0);
  await page.goto(`${origin}/nodes`);
  await sees('You may not list and watch nodes', page);
  await page.goto(`${origin}/quotas`);
  await sees('You may not list and watch ElasticQuotas', page);
  for (const path of [
    '/',
    '/nodes',
    '/pods',
    '/pending',
    '/quotas',
    '/jobs',
    '/moves',
    '/whatif',
  ]) {
    await page.goto(origin + path);
    await page.waitForSelector('.link.live');
    await forEachLook(page, async () => assert.deepEqual(await violations(page), []));
  }
  await page.close();
});

test('no byte is of what a user may not list', async () => {
  const secret = token('reader');
  const {text} = await ask('/api/v1/feed', secret);
  assert.match(text, /does-not-fit/);
  assert.match(text, /event: synced/);
  assert.doesNotMatch(text, /classified|vault|never-in-the-browser|\nid: /);
  for (const path of ['/api/v1/history?series=cluster', '/api/v1/history?series=node/sim-0'])
    assert.equal((await ask(path, secret)).status, 404);
  assert.equal((await ask('/api/v1/node?name=sim-0', secret)).text.trim(), '{}');
});

test('the token stays in its tab, and signing out forgets it', async () => {
  const page = await tabOf('reader');
  await sees('reader', page.locator('.user'));
  assert.equal(await page.evaluate(() => Object.keys(localStorage).join()), '');
  assert.equal(new URL(page.url()).hash, '');
  const other = await newTab();
  await sees('Who are you?', other);
  await other.close();
  await page.getByRole('button', {name: 'Sign out'}).click();
  await sees('Who are you?', page);
  await page.close();
});

test('an administrator sees everything, and texts of users never become markup', async () => {
  const page = await tabOf('admin', '/pods', 'koordinator-system');
  await sees('classified', page);
  await page.goto(`${origin}/nodes/sim-1`);
  await sees('koordctl explain node sim-1', page);
  await page.goto(`${origin}/moves`);
  await sees('<script>globalThis.hacked=1</script>', page);
  await page.goto(`${origin}/jobs`);
  await sees('<img src=x onerror=', page);
  assert.equal(await page.evaluate(() => globalThis.hacked), undefined);
  await page.close();
  const {text} = await ask('/api/v1/feed', token('admin', 'koordinator-system'));
  assert.match(text, /\nid: /);
  assert.doesNotMatch(text, /never-in-the-browser/);
});

test('simulations have the rights of the user', async () => {
  const admin = await tabOf('admin', '/whatif?drain=sim-1', 'koordinator-system');
  await sees('drained', admin.locator('.changes > li', {hasText: 'sim-1'}));
  await admin.close();
  const reader = await tabOf('reader', '/whatif?drain=sim-1');
  await sees('You lack a right', reader);
  await reader.close();
  const question = {method: 'POST', body: '{"manifest":"","spec":{"drainNodes":["sim-1"]}}'};
  const foreign = await ask('/api/v1/simulate', token('admin', 'koordinator-system'), question);
  assert.equal(foreign.status, 403); // not from the page
});

test('a role that is taken and given again takes effect without a reload', async () => {
  const page = await tabOf('reader', '/pods');
  await sees('does-not-fit', page);
  cluster.kubectl(['-n', 'shop', 'delete', 'rolebinding', 'reader']);
  await sees('You may not list and watch pods', page);
  assert.equal(await page.getByText('does-not-fit').count(), 0);
  cluster.kubectl(['create', 'clusterrolebinding', 'reader', '--clusterrole=view',
    '--serviceaccount=shop:reader']); // prettier-ignore
  await sees('does-not-fit', page);
  await sees('classified', page);
  cluster.kubectl(['delete', 'clusterrolebinding', 'reader']);
  await page.close();
});

test('a token that ends ends the page', async () => {
  cluster.kubectl(['-n', 'shop', 'create', 'serviceaccount', 'brief']);
  cluster.kubectl(['-n', 'shop', 'create', 'rolebinding', 'brief', '--role=reader',
    '--serviceaccount=shop:brief']); // prettier-ignore
  const page = await tabOf('brief', '/pods');
  await sees('does-not-fit', page);
  cluster.kubectl(['-n', 'shop', 'delete', 'serviceaccount', 'brief']);
  await sees('The token is not valid, or has expired', page);
  assert.equal(await page.getByText('does-not-fit').count(), 0);
  await page.close();
});

test('a page outlives the API server', async () => {
  const page = await tabOf('admin', '/nodes', 'koordinator-system');
  await sees('sim-0', page);
  await cluster.kill();
  await sees('The API server does not answer', page);
  assert.ok(await page.getByText('sim-0').first().isVisible()); // the last state stays
  await cluster.start();
  await page.locator('.banner').waitFor({state: 'detached', timeout: 40_000});
  cluster.kubectl(['label', 'node', 'sim-2', 'topology.kubernetes.io/zone=new-zone']);
  await page.goto(`${origin}/nodes/sim-2`);
  await sees('new-zone', page);
  await page.close();
});

test('no page had an error or broke its policy', () => {
  assert.deepEqual(problems, []);
});
