// Takes the pictures of the console for the documentation, docs/pictures/console.png, from a
// `koordctl up` with simulated nodes: node scripts/screenshots.mjs PROGRAMS

import {readFileSync} from 'node:fs';
import {fileURLToPath} from 'node:url';
import {openBrowser} from '../tests/console/browser.mjs';
import {Cluster} from '../tests/console/cluster.mjs';

const MEASURED_MS = 100_000; // until the nodes have reported with their pods, and lines have points
const cluster = new Cluster(process.argv[2] ?? 'build/release/bin');
const browser = await openBrowser({viewport: {width: 1280, height: 800}});
try {
  await cluster.start({nodes: 24});
  const url = new URL('../tests/console/objects.yaml', import.meta.url);
  for (let i = 0; i < 24; i++) {
    const zone = 'abc'[Math.floor(i / 8)];
    cluster.kubectl([
      'label',
      'node',
      `sim-${i}`,
      `topology.kubernetes.io/zone=zone-${zone}`,
      `example.com/rack=rack-${Math.floor(i / 4)}`,
    ]);
  }
  cluster.kubectl(['apply', '-f', '-'], readFileSync(url, 'utf8'));
  cluster.kubectl(['-n', 'shop', 'scale', 'deployment/web', '--replicas', '16']);
  const page = await browser.context.newPage();
  await page.goto(cluster.url);
  await page.waitForTimeout(MEASURED_MS);
  const picture = new URL('../docs/pictures/console.png', import.meta.url);
  await page.goto(`${new URL(cluster.url).origin}/?range=900`);
  await page.waitForTimeout(2000);
  await page.screenshot({path: fileURLToPath(picture)});
} finally {
  await browser.close();
  await cluster.stop();
}
