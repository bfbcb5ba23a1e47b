// The tests of the console: node run.mjs PROGRAMS PAGE. Ends with 77, as skipped, where Chromium,
// kubectl or the packages of web/ are missing.

import {spawnSync} from 'node:child_process';
import {existsSync} from 'node:fs';
import {fileURLToPath} from 'node:url';

const [, , programs, page] = process.argv;
const packages = new URL('../../web/node_modules/playwright-core', import.meta.url);

function skip(why) {
  console.log(`skipped: ${why}`);
  process.exit(77);
}

if (!existsSync(packages)) skip('web/node_modules is missing: cd web && npm ci');
const {chromiumPath} = await import('./browser.mjs');
const {missing} = await import('./cluster.mjs');
if (!chromiumPath) skip('Chromium is missing: apt-get install chromium');
const why = missing(programs);
if (why) skip(why);
const names = ['page', 'console', 'whatif', 'shared'].map((name) => `${name}.test.mjs`);
const tests = names.map((name) => fileURLToPath(new URL(name, import.meta.url)));
const run = spawnSync(process.execPath, ['--test', '--test-concurrency=1', ...tests], {
  stdio: 'inherit',
  env: {...process.env, CONSOLE_PROGRAMS: programs, CONSOLE_PAGE: page},
});
process.exit(run.status ?? 1);
