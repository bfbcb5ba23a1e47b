// The page of the console with 5,000 nodes and 150,000 pods in headless Chromium: memory, first
// paint, frames while a list is scrolled and 500 pods change each second. One JSON object; the
// baseline beside it is the same page with 100 nodes and 1,000 pods.
//
//   node bench/console.mjs build/release/web

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
const rounded = (value) => Math.round(10 * value) / 10;

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
  const frames = (await page.evaluate(scrolledFrames, SECONDS)).sort((a, b) => a - b);
  const memory = await page.evaluate(heap);
  const list = {
    name,
    nodes: options.nodes,
    pods: options.pods,
    first_paint_ms: rounded(paint),
    all_pods_ms: loaded,
    heap_mib: rounded(memory),
    frames_per_s: rounded(frames.length / SECONDS),
    frame_p50_ms: rounded(share(frames, 0.5)),
    frame_p99_ms: rounded(share(frames, 0.99)),
  };
  await page.goto('about:blank');
  sample.close();
  return list;
}

const browser = await openBrowser();
const page = await browser.context.newPage();
const results = [
  await measure(page, 'small', {nodes: 100, pods: 1000, changes: 5}),
  await measure(page, 'large', {nodes: 5000, pods: 150_000, changes: 500}),
];
await browser.close();
console.log(JSON.stringify({benchmark: 'console', results}));
