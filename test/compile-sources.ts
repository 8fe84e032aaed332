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
    /** The path of the folder with the compiled sources. */
    compiledSources: string;
  }
}

const root = path.resolve(import.meta.dirname, '..');

/** The files that tests start, and the library files that these import. */
const ENTRIES = [
  ...['src/index.ts', 'src/service/index.ts', 'src/jetstream/index.ts', 'src/service/cli.ts'],
  'src/command/millrace.ts',
  ...['src/http/account.ts', 'src/http/request.ts', 'src/files/thread-pool.ts'],
];

/**
 * Compiles the library, the examples and the scripts of tests once, before the first test. The
 * output is a few files with shared chunks. A child process starts from it in a quarter of the time
 * that tsx takes. In the output folder, `millrace` is the name of the package.
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
    // The threads' script is in this folder too, because the code looks for it next to itself.
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
  // After the run, coverage is mapped to the sources.
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
 * Copies the compiled script of the threads to `dist`. If a test imports the sources, they start
 * the script in `dist`, and an older script might not match them.
 */
async function keepWorker(worker: string): Promise<void> {
  const built = path.join(root, 'dist/engine-worker.cjs');
  await mkdir(path.dirname(built), { recursive: true });
  const copy = `${built}.${process.pid}`;
  await copyFile(worker, copy);
  await rename(copy, built);
}

/**
 * Returns the files that export nothing, which are scripts. Excludes the scripts of
 * `npm run faults`, which compiles them itself.
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
