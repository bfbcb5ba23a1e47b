// Headless Chromium for the tests. playwright-core and axe-core come from web/node_modules.

import {existsSync, mkdtempSync, readFileSync, rmSync} from 'node:fs';
import {createRequire} from 'node:module';
import {tmpdir} from 'node:os';
import {join} from 'node:path';
import {fileURLToPath} from 'node:url';

const require = createRequire(new URL('../../web/package.json', import.meta.url));
const {chromium} = require('playwright-core');
const AXE = fileURLToPath(new URL('../../web/node_modules/axe-core/axe.min.js', import.meta.url));

export const chromiumPath = [
  '/usr/bin/chromium',
  '/usr/bin/chromium-browser',
  '/usr/bin/google-chrome',
].find(existsSync);

// Its profile is new and is deleted by close().
export async function openBrowser(options = {}) {
  const profile = mkdtempSync(join(tmpdir(), 'console-'));
  const context = await chromium.launchPersistentContext(profile, {
    executablePath: chromiumPath,
    headless: true,
    viewport: {width: 1280, height: 800},
    args: [
      '--no-sandbox',
      '--disable-gpu',
      '--disable-quic',
      '--no-first-run',
      '--disable-background-networking',
      '--disable-component-update',
      '--disable-sync',
      '--js-flags=--expose-gc',
    ],
    ...options,
  });
  return {
    context,
    close: async () => {
      await context.close();
      rmSync(profile, {recursive: true, force: true});
    },
  };
}

// A page that shows a console; its errors and broken policies are added to `problems`.
export async function newPage(browser, url, problems) {
  const page = await browser.context.newPage();
  page.on('pageerror', (error) => problems.push(`${url}: ${error.message}`));
  page.on('console', (message) => {
    // A failed request is an answer of the console that the page shows.
    if (message.type() === 'error' && !message.text().startsWith('Failed to load resource'))
      problems.push(`${url}: ${message.text()}`);
  });
  await page.goto(url);
  await page.waitForSelector('.link.live');
  return page;
}

// What WCAG AA forbids, and how many pixels the page is too wide.
export async function violations(page) {
  if (!(await page.evaluate(() => 'axe' in globalThis)))
    await page.evaluate(readFileSync(AXE, 'utf8'));
  const found = await page.evaluate(() =>
    globalThis.axe.run({runOnly: ['wcag2a', 'wcag2aa', 'wcag21a', 'wcag21aa']}),
  );
  const texts = found.violations.map(
    ({id, nodes}) => `${page.url()} ${id}: ${nodes[0].html} ${nodes[0].failureSummary}`,
  );
  const beyond = await page.evaluate(
    () => document.documentElement.scrollWidth - document.documentElement.clientWidth,
  );
  if (beyond > 0) texts.push(`${page.url()} is ${beyond} pixels too wide`);
  return texts;
}

// Each combination of colours and width that tests look at.
export async function forEachLook(page, look) {
  for (const [colorScheme, width] of [
    ['dark', 400],
    ['light', 1280],
  ]) {
    await page.emulateMedia({colorScheme});
    await page.setViewportSize({width, height: 800});
    await look();
  }
}
