import { mkdir, rm, symlink } from 'node:fs/promises';
import path from 'node:path';
import { build } from 'esbuild';

// Compiles the parts and what they take from other tests, so that a child process starts in a fraction of
// a second. `src` is a link to `dist`: a test's import of `src` is that of the compiled library.
const root = path.resolve(import.meta.dirname, '../..');
const outdir = path.join(import.meta.dirname, '.cache/js');
await rm(outdir, { recursive: true, force: true });
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
await symlink(path.join(root, 'dist'), path.join(outdir, 'src'), 'junction');
