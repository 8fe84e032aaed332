import { execFile } from 'node:child_process';
import path from 'node:path';
import { promisify } from 'node:util';

const root = path.resolve(import.meta.dirname, '..');

/** Bundles the script of the threads that scan files, beside library code that is compiled to another folder. */
export async function buildWorker(outfile: string): Promise<void> {
  await promisify(execFile)('npm', ['run', 'build:worker', '--', `--outfile=${outfile}`], {
    cwd: root,
  });
}
