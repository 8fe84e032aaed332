import { execFile } from 'node:child_process';
import path from 'node:path';
import { promisify } from 'node:util';

const root = path.resolve(import.meta.dirname, '..');

/** Bundles the library into another folder than `dist`. */
export function buildLibrary(outdir: string): Promise<void> {
  return run('build:library', `--outdir=${outdir}`);
}

/** Bundles the script of the threads that scan files, beside library code that is compiled to another folder. */
export function buildWorker(outfile: string, ...options: readonly string[]): Promise<void> {
  return run('build:worker', `--outfile=${outfile}`, ...options);
}

async function run(script: string, ...options: readonly string[]): Promise<void> {
  await promisify(execFile)('npm', ['run', script, '--', ...options], { cwd: root });
}
