import type { ChildProcess } from 'node:child_process';
import { setTimeout as sleep } from 'node:timers/promises';
import { spawn } from '../child-processes.js';
import { compiled } from '../compiled.js';
import { bySuite } from '../suite.js';

export interface Script {
  /** The path of a TypeScript file. */
  readonly script: string;
  readonly args: readonly string[];
  readonly cwd?: string | undefined;
  readonly env?: NodeJS.ProcessEnv | undefined;
}

export interface KillOptions {
  /** The first run is killed at a random time up to this. */
  readonly maxMs: number;
  /** @default 0 */
  readonly minMs?: number;
  /** What each kill multiplies `maxMs` by, so that every series of runs ends. @default 2, nightly 1.3 */
  readonly growth?: number;
  /** Resolves when the time until the kill begins. @default when the script prints something */
  begun?(child: ChildProcess): Promise<unknown>;
  afterKill?(): Promise<void>;
}

/** Runs a script again and again until a run ends before it is killed. Resolves to the number of kills. */
export async function killUntilDone(
  script: Script,
  { maxMs, minMs = 0, growth = bySuite(2, 1.3), begun = printed, afterKill }: KillOptions,
): Promise<number> {
  for (let kills = 0; ; kills++) {
    const killAt = minMs + Math.random() * maxMs * growth ** kills;
    const end = await run(script, async child => {
      await begun(child);
      await sleep(killAt, undefined, { ref: false });
      child.kill('SIGKILL');
    });
    if (end === 'done') return kills;
    await afterKill?.();
  }
}

/** Runs a script to its end. */
export async function runScript(script: Script): Promise<void> {
  await run(script, async () => {});
}

async function run(
  { script, args, cwd, env }: Script,
  whileRunning: (child: ChildProcess) => Promise<void>,
): Promise<'killed' | 'done'> {
  const child = spawn(process.execPath, [compiled(script), ...args], {
    cwd,
    env,
    stdio: ['ignore', 'pipe', 'pipe'],
  });
  let errors = '';
  child.stderr.setEncoding('utf8').on('data', text => {
    errors += text;
  });
  child.stdout.resume();
  const closed = new Promise<number | null>(resolve => child.once('close', resolve));
  await Promise.race([closed, whileRunning(child)]);
  const code = await closed;
  if (child.signalCode === 'SIGKILL') return 'killed';
  if (code !== 0) throw new Error(`The script ended with ${code ?? child.signalCode}:\n${errors}`);
  return 'done';
}

function printed(child: ChildProcess): Promise<unknown> {
  return new Promise(resolve => child.stdout?.once('data', resolve));
}
