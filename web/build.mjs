// Builds the page into a folder: node build.mjs [FOLDER]. The folder then has index.html, app.js,
// app.css and icon.svg, each compressed by gzip, as the programs embed and serve them.

import {build} from 'esbuild';
import {mkdirSync, readFileSync, writeFileSync} from 'node:fs';
import {dirname, join} from 'node:path';
import {fileURLToPath} from 'node:url';
import {gzipSync} from 'node:zlib';

const root = dirname(fileURLToPath(import.meta.url));
const out = process.argv[2] ?? join(root, '..', 'build', 'web');
mkdirSync(out, {recursive: true});

const result = await build({
  absWorkingDir: root,
  entryPoints: {app: 'src/main.tsx'},
  outdir: out,
  bundle: true,
  minify: true,
  write: false,
  format: 'esm',
  target: 'es2022',
  legalComments: 'none',
  jsx: 'automatic',
  jsxImportSource: 'preact',
  logLevel: 'warning',
});

const files = result.outputFiles.map((file) => [file.path.split('/').pop(), file.contents]);
for (const name of ['index.html', 'icon.svg']) files.push([name, readFileSync(join(root, name))]);
let total = 0;
for (const [name, bytes] of files) {
  // Without a time in the header, equal input gives equal files.
  const packed = gzipSync(bytes, {level: 9});
  total += packed.length;
  writeFileSync(join(out, name), bytes);
  writeFileSync(join(out, name + '.gz'), packed);
}
console.log(`console: ${files.length} files, ${(total / 1024).toFixed(1)} KiB compressed`);
