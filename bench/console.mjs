// The page of the console with 5,000 nodes and 150,000 pods in headless Chromium: memory, first
// paint, frames while a list is scrolled and 500 pods change each second. One JSON object; the
// baselines beside it are the same page with 100 nodes and 1,000 pods, and a list of 60 elements
// without a script but for the scrolling: what drawing without a GPU costs on this host.
//
//   node bench/console.mjs build/release/web
//
// frame_*: the time between frames. script, style, layout: CPU time of the page's thread for a
// frame, as Chromium counts it; work that is not the page's own (drawing, other programs) is in the
// time between frames only. over_*: the share of frames that took longer than one or two frames of
// a screen with 60 frames a second.

import {openBrowser} from '../tests/console/browser.mjs';
import {startSample} from '../tests/console/sample_server.mjs';

const SECONDS = 5;

// Scrolls 40 pixels each frame and returns the times between frames, in milliseconds.
function scrolledFrames(seconds) {
  return new Promise((resolve) => {
    const box = document.querySelector('.table-box');
    const times = [];
    const end = performance.now() + 1000 * seconds;
    let last = performance.now();
    const step = () => {
      const now = performance.now();
      times.push(now - last);
      last = now;
      box.scrollTop += 40;
      if (now < end) requestAnimationFrame(step);
      else resolve(times.slice(1));
    };
    requestAnimationFrame(step);
  });
}

function heap() {
  globalThis.gc?.();
  return performance.memory.usedJSHeapSize / (1 << 20);
}

const share = (sorted, part) =>
  sorted[Math.min(sorted.length - 1, Math.floor(sorted.length * part))];
const rounded = (value, digits = 1) => Number(value.toFixed(digits));
const over = (frames, ms) => frames.filter((frame) => frame > ms).length / frames.length;

// Seconds that the page's thread has spent since its start.
async function spent(session) {
  const {metrics} = await session.send('Performance.getMetrics');
  return Object.fromEntries(metrics.map(({name, value}) => [name, value]));
}

async function scroll(page) {
  const session = await page.context().newCDPSession(page);
  await session.send('Performance.enable');
  const before = await spent(session);
  const frames = (await page.evaluate(scrolledFrames, SECONDS)).sort((a, b) => a - b);
  const after = await spent(session);
  await session.detach();
  const each = (name) => rounded((1000 * (after[name] - before[name])) / frames.length, 2);
  return {
    frames_per_s: rounded(frames.length / SECONDS),
    frame_p50_ms: rounded(share(frames, 0.5)),
    frame_p95_ms: rounded(share(frames, 0.95)),
    frame_p99_ms: rounded(share(frames, 0.99)),
    over_16_7_ms: rounded(over(frames, 17.2), 3), // with the error of a timer
    over_33_3_ms: rounded(over(frames, 33.9), 3),
    script_ms: each('ScriptDuration'),
    style_ms: each('RecalcStyleDuration'),
    layout_ms: each('LayoutDuration'),
    task_ms: each('TaskDuration'),
  };
}

// Elements of the same size as rows, which the browser scrolls without a script.
async function measureFloor(page) {
  await page.goto('about:blank');
  await page.setContent(
    `<div class="table-box" style="height:600px;overflow:auto;font:14px sans-serif">${Array.from(
      {length: 60},
      (_, i) => `<div style="height:600px">${'a row of text '.repeat(8)}${i}</div>`,
    ).join('')}</div>`,
  );
  return {name: 'floor', ...(await scroll(page))};
}

async function measure(page, name, options) {
  const sample = await startSample(process.argv[2] ?? 'build/release/web', options);
  await page.goto(sample.start);
  const paint = await page.evaluate(
    () =>
      new Promise((resolve) => {
        new PerformanceObserver((list) => resolve(list.getEntries().at(-1).startTime)).observe({
          type: 'paint',
          buffered: true,
        });
      }),
  );
  const begin = Date.now();
  await page.goto(`${sample.origin}/pods`);
  const pods = (options.pods + 96).toLocaleString('en-US');
  await page.getByText(`${pods} pods`).waitFor({timeout: 60_000});
  const loaded = Date.now() - begin;
  await page.waitForTimeout(1000);
  const frames = await scroll(page);
  const memory = await page.evaluate(heap);
  const list = {
    name,
    nodes: options.nodes,
    pods: options.pods,
    first_paint_ms: rounded(paint),
    all_pods_ms: loaded,
    heap_mib: rounded(memory),
    ...frames,
  };
  await page.goto('about:blank');
  sample.close();
  return list;
}

const browser = await openBrowser();
const page = await browser.context.newPage();
const results = [
  await measureFloor(page),
  await measure(page, 'small', {nodes: 100, pods: 1000, changes: 5}),
  await measure(page, 'large', {nodes: 5000, pods: 150_000, changes: 500}),
];
await browser.close();
console.log(JSON.stringify({benchmark: 'console', results}));
