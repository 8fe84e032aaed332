import path from 'node:path';
import { fileURLToPath } from 'node:url';
import { outputOf, spawn } from '../child-processes.js';
import type { CellResult } from './part.js';

const RUN = path.join(import.meta.dirname, 'run.js');
/**
 * The process is killed after this time, in ms, if its event loop is blocked. A trial that only
 * hangs fails earlier, and even a busy machine must stay below this limit.
 */
const LIMIT_MS = 900_000;

/**
 * Tries one cell of a part with another compiled library. Uses a separate process, because the
 * library may hang, loop or end the process. Nothing is recorded.
 */
export async function tryInChild(
  part: string,
  cell: string,
  {
    library,
    seeds,
    firstSeed = 1,
    limitMs = LIMIT_MS,
    env,
  }: {
    /**
     * The URL of the library's folder, ending in a slash. It must be inside the project, where Node
     * finds its dependencies.
     */
    readonly library: URL;
    readonly seeds: number;
    readonly firstSeed?: number;
    readonly limitMs?: number;
    readonly env?: Readonly<Record<string, string>>;
  },
): Promise<CellResult> {
  const args = [RUN, part, '--cell', cell, '--seeds', seeds, '--seed', firstSeed, '--json'];
  const child = spawn(
    process.execPath,
    [...args, '--library', fileURLToPath(library)].map(String),
    { stdio: ['ignore', 'pipe', 'pipe'], env: { ...process.env, ...env } },
  );
  const started = performance.now();
  let isLate = false;
  const timer = setTimeout(() => {
    isLate = true;
    child.kill('SIGKILL');
  }, limitMs);
  const { code, stdout, stderr } = await outputOf(child);
  clearTimeout(timer);
  if ((code === 0 || code === 1) && stdout !== '') {
    const [result] = JSON.parse(stdout) as CellResult[];
    if (result !== undefined) return result;
  }
  // Wrong arguments are a mistake in the test, not in the library.
  if (code === 2) throw new Error(stderr);
  const message = isLate ? `Killed after ${limitMs} ms` : `Ended with code ${code}: ${stderr}`;
  return {
    cell,
    expects: 'holds',
    trials: 1,
    failures: [{ seed: firstSeed, message }],
    counts: {},
    seconds: (performance.now() - started) / 1000,
  };
}
