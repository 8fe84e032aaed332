import { mkdir, rm, symlink } from 'node:fs/promises';
import path from 'node:path';
import { build } from 'esbuild';
import { buildWorker } from '../build.js';
import { compileLibrary } from '../compile-library.js';

// Compiles the library, the fault tests and the test files that they need. Compiled child processes
// start in a fraction of a second. Each source becomes a separate file. The compiled tests import
// the compiled library through the link `src` next to them.
const root = path.resolve(import.meta.dirname, '../..');
const cache = path.join(import.meta.dirname, '.cache');
const library = path.join(cache, 'library');
const outdir = path.join(cache, 'js');
await rm(cache, { recursive: true, force: true });
await compileLibrary(library);
await buildWorker(path.join(library, 'files/engine-worker.cjs'));
await build({
  absWorkingDir: root,
  entryPoints: ['test/**/*.ts'],
  outbase: '.',
  outdir,
  format: 'esm',
  target: 'node20',
  logLevel: 'warning',
});
await mkdir(outdir, { recursive: true });
await symlink(library, path.join(outdir, 'src'), 'junction');
