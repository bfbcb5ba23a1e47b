// The console in a real browser, against real programs. Run by run.mjs.

import assert from 'node:assert/strict';
import {createServer} from 'node:http';
import {test} from 'node:test';
import {forEachLook, newPage, violations} from './browser.mjs';
import {showCluster} from './shown_cluster.mjs';

const {cluster, browser, page, origin, problems} = await showCluster();

const open = (path) => page.goto(origin + path);
const sees = (text, where = page) =>
  where.getByText(text, {exact: false}).first().waitFor({timeout: 10_000});

test('the token leaves the address bar and stays valid in other tabs', async () => {
  assert.equal(new URL(page.url()).hash, '');
  const other = await newPage(browser, `${origin}/nodes`, problems);
  await sees('sim-0', other);
  await other.close();
});

test('every page shows the cluster', async () => {
  await open('/');
  await sees('192'); // cores of six nodes
  await open('/nodes');
  await sees('6 nodes');
  await open('/nodes/sim-1');
  await sees('batch-cpu'); // koord-manager's words
  await open('/pods?filter=web');
  await sees('8 pods');
  await open('/pending');
  await sees('does-not-fit');
  await sees('Insufficient cpu');
  await open('/pods/shop/does-not-fit');
  await sees('NodeResourcesFit'); // koord-scheduler's words
  await open('/quotas/shop/search');
  await sees('below company');
  await open('/jobs/shop/train');
  await sees('Required');
  await sees('Runs');
  await open('/moves');
  await sees('Planned');
  await open('/reservations/spare');
  await sees('app=web');
});

test('texts of users never become markup', async () => {
  await open('/moves');
  await sees('<script>globalThis.hacked=1</script>');
  await open('/jobs');
  await sees('<img src=x onerror=');
  await open(`/jobs/shop/${encodeURIComponent('<img src=x onerror="globalThis.hacked=1">')}`);
  await sees('<img src=x');
  await open(`/pods/${encodeURIComponent('"><script>globalThis.hacked=1</script>')}/x`);
  await sees('does not have a pod');
  assert.equal(await page.evaluate(() => globalThis.hacked), undefined);
});

test('environment variables do not reach the browser', async () => {
  const token = await page.evaluate(() => localStorage.getItem('koordinator-console-token'));
  const abort = new AbortController();
  const answer = await fetch(`${origin}/api/v1/feed`, {
    headers: {Authorization: `Bearer ${token}`},
    signal: abort.signal,
  });
  const reader = answer.body.pipeThrough(new TextDecoderStream()).getReader();
  let text = '';
  while (!text.includes('event: synced')) text += (await reader.read()).value;
  abort.abort();
  assert.match(text, /does-not-fit/);
  assert.doesNotMatch(text, /never-in-the-browser|PASSWORD/);
});

// Opens a view without loading the page again.
async function view(path) {
  await page.evaluate((to) => {
    history.pushState(null, '', to);
    dispatchEvent(new PopStateEvent('popstate'));
  }, path);
  await page.waitForTimeout(150);
}

test('pages have no violations of WCAG AA, light and dark, wide and narrow', async () => {
  // prettier-ignore
  const paths = ['/', '/nodes', '/nodes/sim-1', '/pods', '/pods/shop/does-not-fit', '/pending',
    '/quotas/shop/search', '/jobs', '/jobs/shop/train', '/moves', '/reservations/spare', '/whatif',
    '/none'];
  await open('/');
  await page.waitForSelector('.link.live');
  await forEachLook(page, async () => {
    for (const path of paths) {
      await view(path);
      assert.deepEqual(await violations(page), []);
    }
  });
});

test('the keyboard alone finds and opens everything', async () => {
  await open('/');
  await page.locator('.search-button').waitFor();
  await page.keyboard.type('/sim-4'); // also before the nodes have arrived
  await page.locator('[role=option]').first().waitFor();
  await page.keyboard.press('Enter');
  await page.waitForURL('**/nodes/sim-4');
  await open('/nodes');
  await sees('sim-0');
  await page.locator('.table-box').focus();
  await page.keyboard.press('ArrowDown');
  await page.keyboard.press('Enter');
  await page.waitForURL('**/nodes/sim-1');
  await page.goBack();
  await page.waitForURL('**/nodes');
});

test('the address has the order and the filter', async () => {
  await open('/pods');
  await page.getByRole('button', {name: 'Pod', exact: true}).click();
  await page.getByRole('searchbox').fill('train');
  await sees('4 pods');
  const address = page.url();
  assert.match(address, /sort=pod/);
  assert.match(address, /filter=train/);
  const other = await newPage(browser, address, problems);
  await sees('4 pods', other);
  await other.close();
});

test('changes of the cluster appear without a reload', async () => {
  await open('/pods?filter=web');
  await sees('8 pods');
  cluster.kubectl(['-n', 'shop', 'scale', 'deployment/web', '--replicas', '5']);
  await sees('5 pods');
});

test('a user of one namespace sees its pods, and what is missing', async () => {
  const kubeconfig = cluster.kubeconfigOf('reader', 'shop');
  const reader = await newPage(browser, await cluster.console(kubeconfig), problems);
  const own = new URL(reader.url()).origin;
  await reader.goto(`${own}/pods`);
  await sees('Only pods of namespace shop', reader);
  await sees('does-not-fit', reader);
  await reader.goto(`${own}/nodes`);
  await sees('You may not list and watch nodes', reader);
  await reader.close();
});

// A Prometheus of the test; `answer` returns the body for a query and its times.
async function startPrometheus(answer) {
  const server = createServer((request, response) => {
    const {pathname, searchParams} = new URL(request.url, 'http://localhost');
    assert.equal(pathname, '/api/v1/query_range');
    const [query, start, end, step] = ['query', 'start', 'end', 'step'].map((name) =>
      searchParams.get(name),
    );
    const times = [];
    for (let time = Number(start); time <= Number(end); time += Number(step)) times.push(time);
    response.end(answer(query, times));
  });
  await new Promise((resolve) => server.listen(0, '127.0.0.1', resolve));
  return {url: `http://127.0.0.1:${server.address().port}`, close: () => server.close()};
}

test('older history comes from Prometheus, and a broken one is named', async () => {
  let broken = false;
  const prometheus = await startPrometheus((query, times) => {
    if (broken) return '<script>globalThis.hacked=1</script>';
    const values = times.map((time) => [time, query.includes('used') ? '3' : '7']);
    return JSON.stringify({status: 'success', data: {resultType: 'matrix', result: [{values}]}});
  });
  const url = await cluster.console(cluster.kubeconfig, ['--prometheus', prometheus.url]);
  const own = await newPage(browser, url, problems);
  await own.getByRole('button', {name: '7 d', exact: true}).click();
  await own.waitForURL(/range=604800/);
  await own.locator('.uplot').first().waitFor();
  const ask = async (series) => {
    const token = new URLSearchParams(new URL(url).hash.slice(1)).get('token');
    const answer = await fetch(
      `${new URL(url).origin}/api/v1/history?seconds=604800&series=${series}`,
      {headers: {Authorization: `Bearer ${token}`}},
    );
    return answer.json();
  };
  const {times, columns} = await ask('cluster');
  assert.ok(Date.now() / 1000 - times[0] > 6 * 86400);
  assert.ok(times.length <= 1000 && times.every((time, i) => i === 0 || time > times[i - 1]));
  assert.equal(columns.cpuUsed[0], 3);
  assert.ok((await ask('node/sim-1')).columns.cpuUsed[0] > 0);
  broken = true;
  await own.goto(`${new URL(url).origin}/?range=2592000`);
  await sees('Older history is missing', own);
  assert.equal(await own.evaluate(() => globalThis.hacked), undefined);
  await own.close();
  prometheus.close();
});

test('a page outlives the API server', async () => {
  const own = await newPage(browser, await cluster.console(), problems);
  await own.goto(`${new URL(own.url()).origin}/nodes`);
  await sees('6 nodes', own);
  await cluster.kill();
  await sees('The API server does not answer', own);
  assert.ok(await own.getByText('sim-0').first().isVisible()); // the last state stays
  await sees('The console does not answer'); // the page of the `koordctl up` that was killed
  await cluster.start();
  await own.locator('.banner').waitFor({state: 'detached', timeout: 20_000});
  cluster.kubectl(['label', 'node', 'sim-2', 'topology.kubernetes.io/zone=new-zone']);
  await sees('new-zone', await ownNode(own));
  await own.close();
});

async function ownNode(own) {
  await own.goto(`${new URL(own.url()).origin}/nodes/sim-2`);
  return own;
}

test('an old token is refused with what to do', async () => {
  await page.goto(`${new URL(cluster.url).origin}/#token=0123`);
  await sees('The token of this page is not valid');
});

test('no page had an error or broke its policy', () => {
  assert.deepEqual(problems, []);
});
