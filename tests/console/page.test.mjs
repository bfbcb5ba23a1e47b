// The page alone, with the feed of a large sample cluster.

import assert from 'node:assert/strict';
import {after, before, test} from 'node:test';
import {openBrowser} from './browser.mjs';
import {startSample} from './sample_server.mjs';

let sample;
let browser;
let page;

before(async () => {
  sample = await startSample(process.env.CONSOLE_PAGE, {
    nodes: 1000,
    pods: 20_000,
  });
  browser = await openBrowser();
  page = await browser.context.newPage();
  await page.goto(sample.start);
  await page.waitForSelector('.link.live');
});
after(async () => {
  await browser?.close();
  sample?.close();
});

test('only rows in view are elements, from the first to the last', async () => {
  await page.goto(`${sample.origin}/pods?sort=pod`);
  await page.getByText('20,096 pods').waitFor();
  const rows = page.locator('.table-rows .table-row');
  assert.ok((await rows.count()) < 60);
  await page.locator('.table-box').focus();
  await page.keyboard.press('End');
  await page.locator('.table-rows .table-row[aria-rowindex="20097"]').waitFor();
  assert.ok((await rows.count()) < 60);
});

test('nothing moves when data arrive', async () => {
  const other = await browser.context.newPage();
  await other.addInitScript(() => {
    globalThis.shift = 0;
    new PerformanceObserver((list) => {
      for (const entry of list.getEntries()) globalThis.shift += entry.value;
    }).observe({type: 'layout-shift', buffered: true});
  });
  await other.goto(`${sample.origin}/pods`);
  await other.getByText('20,096 pods').waitFor();
  await other.waitForTimeout(500);
  const shift = await other.evaluate(() => globalThis.shift);
  assert.ok(shift < 0.1, `the cumulative layout shift is ${shift}; good pages are below 0.1`);
  await other.close();
});

test('the map of nodes opens the node under the pointer', async () => {
  await page.goto(`${sample.origin}/nodes`);
  const map = page.locator('.map canvas');
  await map.hover({position: {x: 5, y: 24}});
  await page.getByText('node-0:').waitFor();
  await map.click({position: {x: 5, y: 24}});
  await page.waitForURL('**/nodes/node-0');
  await page.getByText('gpu 6').waitFor();
  await page.getByText('Xid 79').waitFor();
});

test('the page says that it is old while the console does not answer', async () => {
  const port = Number(new URL(sample.origin).port);
  sample.close();
  await page.getByText('The console does not answer').waitFor();
  sample = await startSample(process.env.CONSOLE_PAGE, {
    nodes: 1000,
    pods: 20_000,
    port,
  });
  await page.locator('.banner').waitFor({state: 'detached'});
});

test('the page says which objects are old because their changes are refused', async () => {
  const access = {nodes: {state: 'forbidden', message: 'cannot watch nodes'}, pods: {state: 'all'}};
  const refused = await startSample(process.env.CONSOLE_PAGE, {
    nodes: 3,
    pods: 10,
    status: {access},
  });
  const other = await browser.context.newPage();
  await other.goto(refused.start);
  await other.getByText(/What you see of nodes is old.*: cannot watch nodes/).waitFor();
  assert.equal(await other.getByText('What you see of pods').count(), 0);
  await other.close();
  refused.close();
});

// An answer as large as a simulation gives one.
function largeAnswer(nodes, pods) {
  const amounts = (cpu) => ({cpu: String(cpu), memory: `${2 * cpu}Gi`, pods: '9'});
  return {
    complete: true,
    state: {time: new Date().toISOString()},
    placed: pods,
    pending: 0,
    pods: Array.from({length: pods}, (_, i) => ({
      namespace: 'ml',
      name: `worker-${i}`,
      of: 'Job ml/worker',
      state: 'placed',
      node: `node-${i % nodes}`,
    })),
    nodes: Array.from({length: nodes}, (_, i) => ({
      name: `node-${i}`,
      allocatable: amounts(64),
      before: amounts(i % 60),
      after: amounts((i % 60) + 4),
    })),
  };
}

async function ask(simulate, path = '/whatif?drain=node-1') {
  const own = await startSample(process.env.CONSOLE_PAGE, {nodes: 3, pods: 10, simulate});
  const other = await browser.context.newPage();
  await other.goto(own.start);
  await other.waitForSelector('.link.live');
  await other.goto(own.origin + path);
  const close = async () => {
    await other.close();
    own.close();
  };
  return {other, close};
}

test('of an answer with 20,000 pods and 2,000 nodes only a part is elements', async () => {
  const {other, close} = await ask(() => [{status: largeAnswer(2000, 20_000)}]);
  await other.getByText('20,000 pods of the question').waitFor();
  assert.equal(await other.locator('.changes > li').count(), 24);
  await other.getByRole('button', {name: 'Show 96 of 1976 more'}).click();
  assert.equal(await other.locator('.changes > li').count(), 120);
  assert.ok((await other.locator('.table-rows .table-row').count()) < 60);
  await close();
});

test('each error of a simulation is a title, the reason and what to do', async () => {
  const titles = {
    400: 'The question is not valid',
    403: 'You lack a right',
    404: 'No koord-scheduler that simulates is reached',
    413: 'The question is too large',
    429: 'Too many simulations run now',
    502: 'koord-scheduler does not answer',
    503: 'koord-scheduler cannot simulate now',
    504: 'There is no answer in time',
  };
  for (const [status, title] of Object.entries(titles)) {
    const {other, close} = await ask(() => [{message: `why <b>${status}</b>`}, Number(status)]);
    await other.getByRole('heading', {name: title}).waitFor();
    await other.getByText(`why <b>${status}</b>`).waitFor();
    await close();
  }
});

test('a new question ends the one before', async () => {
  let asked = 0;
  let ended = 0;
  const {other, close} = await ask((response) => {
    if (++asked > 1) return [{status: {}}];
    response.on('close', () => ended++);
    return undefined;
  });
  await other.locator('.note', {hasText: 'koord-scheduler simulates'}).waitFor();
  assert.equal(ended, 0);
  await other.getByRole('button', {name: 'Simulate', exact: true}).click();
  await other.getByText('The question has no pods').waitFor();
  for (let i = 0; i < 100 && ended === 0; i++) await other.waitForTimeout(50);
  assert.equal(ended, 1);
  await close();
});

test('an answer that lacks parts does not break the page', async () => {
  for (const status of [{}, {nodes: [{name: 'a', allocatable: {}}], quotas: [{name: 'q'}]}]) {
    const {other, close} = await ask(() => [{status}]);
    await other.getByText('The question has no pods').waitFor();
    await close();
  }
});

test('a console that does not simulate names the command that does', async () => {
  const own = await startSample(process.env.CONSOLE_PAGE, {
    nodes: 3,
    pods: 10,
    status: {simulates: false},
  });
  const other = await browser.context.newPage();
  await other.goto(own.start);
  await other.waitForSelector('.link.live');
  await other.goto(`${own.origin}/whatif`);
  await other.getByText('koordctl simulate -f FILE').waitFor();
  await other.close();
  own.close();
});
