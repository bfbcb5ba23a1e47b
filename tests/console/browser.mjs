// Headless Chromium for the tests. playwright-core and axe-core come from web/node_modules.

import {existsSync, mkdtempSync, rmSync} from 'node:fs';
import {createRequire} from 'node:module';
import {tmpdir} from 'node:os';
import {join} from 'node:path';
import {fileURLToPath} from 'node:url';

const require = createRequire(new URL('../../web/package.json', import.meta.url));
const {chromium} = require('playwright-core');
export const AXE = fileURLToPath(
  new URL('../../web/node_modules/axe-core/axe.min.js', import.meta.url),
);

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
