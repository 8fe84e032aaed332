import {
  copyFile,
  mkdir,
  mkdtemp,
  readdir,
  readFile,
  rename,
  rm,
  symlink,
  writeFile,
} from 'node:fs/promises';
import os from 'node:os';
import path from 'node:path';
import { build } from 'esbuild';
import type { TestProject } from 'vitest/node';
import { buildWorker } from './build.js';

declare module 'vitest' {
  interface ProvidedContext {
    compiledSources: string;
  }
}

const root = path.resolve(import.meta.dirname, '..');

const ENTRIES = [
  ...['src/index.ts', 'src/service/index.ts', 'src/jetstream/index.ts', 'src/service/cli.ts'],
  'src/command/millrace.ts',
  ...['src/http/account.ts', 'src/http/request.ts', 'src/files/thread-pool.ts'],
];

/**
 * Compiles the library, the examples and the scripts of tests once, before the first test. The
 * output is a few files with shared chunks. A child process starts from these files in a quarter of
 * the time that tsx takes. The output folder has a copy of `package.json`, so its scripts can
 * import the library as `millrace`.
 */
export default async function compileSources(project: TestProject): Promise<() => Promise<void>> {
  const { MILLRACE_COVERAGE: coverage } = process.env;
  const folder = await openFolder(coverage);
  const scripts = await Promise.all(['examples', 'test'].map(scriptsBelow));
  await build({
    entryPoints: [...ENTRIES, ...scripts.flat()],
    outdir: folder,
    outbase: root,
    absWorkingDir: root,
    bundle: true,
    splitting: true,
    packages: 'external',
    // The library looks for the script of its threads in the folder of its own code. Chunks are
    // therefore written to the folder that contains this script.
    chunkNames: 'src/files/[hash]',
    format: 'esm',
    platform: 'node',
    target: 'node20.18',
    logLevel: 'warning',
    // A separate source map does not change stack traces.
    sourcemap: coverage === undefined ? false : 'external',
  });
  const worker = path.join(folder, 'src/files/engine-worker.cjs');
  await buildWorker(worker, ...(coverage === undefined ? [] : ['--sourcemap=external']));
  await keepWorker(worker);
  const text = await readFile(path.join(root, 'package.json'), 'utf8');
  await writeFile(path.join(folder, 'package.json'), text.replaceAll('"./dist/', '"./src/'));
  await symlink(path.join(root, 'node_modules'), path.join(folder, 'node_modules'));
  project.provide('compiledSources', folder);
  // `npm run coverage` still needs the folder after the run, to map the counts to the sources.
  return async () => {
    if (coverage === undefined) await rm(folder, { recursive: true, force: true });
  };
}

async function openFolder(coverage: string | undefined): Promise<string> {
  if (coverage === undefined) return mkdtemp(path.join(os.tmpdir(), 'millrace-compiled-'));
  const folder = path.join(coverage, 'compiled');
  await mkdir(folder, { recursive: true });
  return folder;
}

/**
 * Copies the compiled script of the threads to `dist`. Tests that import the sources start their
 * threads with this copy. An older copy might not match the sources.
 */
async function keepWorker(worker: string): Promise<void> {
  const built = path.join(root, 'dist/engine-worker.cjs');
  await mkdir(path.dirname(built), { recursive: true });
  const copy = `${built}.${process.pid}`;
  await copyFile(worker, copy);
  await rename(copy, built);
}

/**
 * Returns the scripts below a folder, which are the files that export nothing. Excludes the scripts
 * of `npm run faults`, which compiles them itself.
 */
async function scriptsBelow(folder: string): Promise<string[]> {
  const names = await readdir(path.join(root, folder), { recursive: true });
  const files = names
    .filter(name => /(?<!\.(?:test|config))\.ts$/.test(name) && !name.startsWith('faults'))
    .map(name => path.join(folder, name));
  const exports = await Promise.all(
    files.map(async file => /^export /m.test(await readFile(path.join(root, file), 'utf8'))),
  );
  return files.filter((_, index) => !exports[index]);
}
