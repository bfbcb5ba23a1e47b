// Takes the pictures of the console for the documentation, docs/pictures/console*.png, from a
// `koordctl up` with simulated nodes: node scripts/screenshots.mjs PROGRAMS

import {fileURLToPath} from 'node:url';
import {openBrowser} from '../tests/console/browser.mjs';
import {busyCluster} from '../tests/console/busy_cluster.mjs';
import {Cluster} from '../tests/console/cluster.mjs';

const NODES = 48;
const MEASURED_MS = 100_000; // until the nodes have reported with their pods
const file = (path) => fileURLToPath(new URL(`../${path}`, import.meta.url));

async function takePictures(page, origin, nodeWithJob) {
  const pictures = {
    console: '/nodes',
    'console-node': `/nodes/${nodeWithJob}?range=900`,
    'console-pending': '/pending',
  };
  for (const [name, path] of Object.entries(pictures)) {
    await page.goto(origin + path);
    await page.waitForTimeout(2000);
    await page.screenshot({path: file(`docs/pictures/${name}.png`)});
  }
  await page.goto(`${origin}/whatif?drain=${nodeWithJob}`);
  await page.getByRole('button', {name: 'Insert an example'}).click();
  await page.getByRole('button', {name: 'Simulate', exact: true}).click();
  await page.getByText('pods of the question').waitFor();
  await page.screenshot({path: file('docs/pictures/console-whatif.png')});
}

const cluster = new Cluster(process.argv[2] ?? 'build/release/bin');
const browser = await openBrowser({viewport: {width: 1280, height: 860}});
try {
  await cluster.start({nodes: NODES, shape: file('deploy/node-shapes/eight-gpus.yaml')});
  const nodes = JSON.parse(cluster.kubectl(['get', 'nodes', '-o', 'json'])).items;
  nodes.forEach(({metadata}, i) => {
    const zone = 'abc'[Math.floor((3 * i) / NODES)];
    // prettier-ignore
    cluster.kubectl(['label', '--overwrite', 'node', metadata.name,
      `topology.kubernetes.io/zone=zone-${zone}`, `example.com/rack=rack-${Math.floor(i / 8)}`]);
  });
  cluster.kubectl(['apply', '-f', '-'], busyCluster(NODES));
  cluster.kubectl(['cordon', nodes[13].metadata.name]);
  const page = await browser.context.newPage();
  await page.goto(cluster.url);
  await page.waitForTimeout(MEASURED_MS);
  // prettier-ignore
  const pods = JSON.parse(cluster.kubectl(['-n', 'ml-training', 'get', 'pods', '-l',
    'app=vision', '-o', 'json'])).items;
  await takePictures(page, new URL(cluster.url).origin, pods[0].spec.nodeName);
} finally {
  await browser.close();
  await cluster.stop();
}
