import { type ChildProcess, fork as nodeFork, spawn as nodeSpawn } from 'node:child_process';
import { once } from 'node:events';
import { text } from 'node:stream/consumers';

const running = new Set<ChildProcess>();

/**
 * Works like `spawn` of `node:child_process`, but kills the child and all its descendants when the
 * tests of the file end, even if a test fails or times out. In a script outside of vitest, kills
 * them when the script ends or gets a signal.
 */
export const spawn = ((command: string, args: readonly string[], options: object = {}) =>
  keep(nodeSpawn(command, args, { ...options, detached: true }))) as typeof nodeSpawn;

export const fork = ((script: string, args: readonly string[], options: object = {}) =>
  keep(nodeFork(script, args, { ...options, detached: true }))) as typeof nodeFork;

/**
 * Arguments of bash before a script. Node's pipes are sockets, and if its stdin is a socket, bash
 * reads `~/.bashrc`, which may print messages. `--norc` prevents this.
 */
export const BASH_ARGS = ['--norc', '-c'] as const;

export interface Ended {
  readonly code: number | null;
  readonly signal: NodeJS.Signals | null;
  readonly stdout: string;
  readonly stderr: string;
}

/**
 * Waits until a child ends, and returns its output. If its stdout or stderr is not a pipe, the
 * output of that stream is empty.
 */
export async function outputOf(child: ChildProcess): Promise<Ended> {
  const [end, stdout, stderr] = await Promise.all([
    once(child, 'close') as Promise<[number | null, NodeJS.Signals | null]>,
    child.stdout === null ? '' : text(child.stdout),
    child.stderr === null ? '' : text(child.stderr),
  ]);
  const [code, signal] = end;
  return { code, signal, stdout, stderr };
}

function keep<Child extends ChildProcess>(child: Child): Child {
  running.add(child);
  child.once('close', () => running.delete(child));
  return child;
}

export function endChildren(): void {
  for (const { pid } of running) {
    try {
      // A child without a process id was never started.
      if (pid !== undefined) process.kill(-pid, 'SIGKILL');
    } catch (error) {
      if ((error as NodeJS.ErrnoException).code !== 'ESRCH') throw error;
    }
  }
  running.clear();
}

process.once('exit', endChildren);
// In a test, `setup.ts` kills the children.
if (!('__vitest_worker__' in globalThis)) {
  // Outside of vitest, a script of `npm run faults` starts the children. They have their own
  // process groups, so Ctrl-C does not reach them.
  for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP'] as const)
    process.once(signal, () => {
      endChildren();
      process.kill(process.pid, signal);
    });
}
