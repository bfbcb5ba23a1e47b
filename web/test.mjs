// Runs the unit tests of the page, src/**/*_test.ts, by node's own test runner.

import {build} from 'esbuild';
import {spawnSync} from 'node:child_process';
import {mkdtempSync, readdirSync, rmSync} from 'node:fs';
import {tmpdir} from 'node:os';
import {dirname, join} from 'node:path';
import {fileURLToPath} from 'node:url';

const root = dirname(fileURLToPath(import.meta.url));
const tests = readdirSync(join(root, 'src'), {recursive: true})
  .filter((name) => name.endsWith('_test.ts'))
  .map((name) => join('src', name));
const out = mkdtempSync(join(tmpdir(), 'console-tests-'));
try {
  await build({
    absWorkingDir: root,
    entryPoints: tests,
    outdir: out,
    outExtension: {'.js': '.mjs'},
    bundle: true,
    format: 'esm',
    platform: 'node',
    jsx: 'automatic',
    jsxImportSource: 'preact',
    sourcemap: 'inline',
    logLevel: 'warning',
    // What modules read of the browser when they are loaded.
    banner: {js: 'globalThis.location ??= {pathname: "/", search: "", hash: ""};'},
  });
  const files = readdirSync(out, {recursive: true})
    .filter((name) => name.endsWith('.mjs'))
    .map((name) => join(out, name));
  const run = spawnSync(process.execPath, ['--enable-source-maps', '--test', ...files], {
    stdio: 'inherit',
  });
  process.exitCode = run.status ?? 1;
} finally {
  rmSync(out, {recursive: true, force: true});
}
