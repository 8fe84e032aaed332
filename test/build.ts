import { exec } from 'node:child_process';
import path from 'node:path';
import { promisify } from 'node:util';
import manifest from '../package.json' with { type: 'json' };

const root = path.resolve(import.meta.dirname, '..');

export function buildLibrary(outdir: string): Promise<void> {
  return run('build:library', `--outdir=${outdir}`);
}

/**
 * Bundles the script of the threads for library code that is compiled to a folder other than
 * `dist`.
 */
export function buildWorker(outfile: string, ...options: readonly string[]): Promise<void> {
  return run('build:worker', `--outfile=${outfile}`, ...options);
}

/**
 * Runs a script of package.json without npm, which takes longer to start than esbuild takes to
 * bundle.
 */
async function run(
  script: 'build:library' | 'build:worker',
  ...options: readonly string[]
): Promise<void> {
  const command = [manifest.scripts[script], ...options.map(option => `"${option}"`)].join(' ');
  const programs = path.join(root, 'node_modules/.bin');
  const env = { ...process.env, PATH: `${programs}${path.delimiter}${process.env.PATH}` };
  await promisify(exec)(command, { cwd: root, env });
}
