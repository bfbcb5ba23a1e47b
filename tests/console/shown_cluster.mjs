// A cluster with sample objects, and a page that shows it, for all tests of a file.

import {readFileSync} from 'node:fs';
import {after} from 'node:test';
import {newPage, openBrowser} from './browser.mjs';
import {Cluster} from './cluster.mjs';

// problems: errors of pages and broken policies; none at the end.
export async function showCluster() {
  const cluster = new Cluster(process.env.CONSOLE_PROGRAMS);
  const problems = [];
  let browser;
  const close = async () => {
    await browser?.close();
    await cluster.stop();
  };
  try {
    await cluster.start();
    const objects = readFileSync(new URL('objects.yaml', import.meta.url), 'utf8');
    cluster.kubectl(['apply', '-f', '-'], objects);
    browser = await openBrowser();
    const page = await newPage(browser, cluster.url, problems);
    after(close);
    return {cluster, browser, page, origin: new URL(cluster.url).origin, problems};
  } catch (error) {
    await close();
    throw error;
  }
}
