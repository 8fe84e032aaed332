import { type ChildProcess, fork as nodeFork, spawn as nodeSpawn } from 'node:child_process';
import { afterAll } from 'vitest';

const running = new Set<ChildProcess>();

/**
 * As in `node:child_process`, but the child and all that it starts end with the tests of the file, also
 * when one fails or runs out of time.
 */
export const spawn = ((command: string, args: readonly string[], options: object = {}) =>
  keep(nodeSpawn(command, args, { ...options, detached: true }))) as typeof nodeSpawn;

/** See `spawn`. */
export const fork = ((script: string, args: readonly string[], options: object = {}) =>
  keep(nodeFork(script, args, { ...options, detached: true }))) as typeof nodeFork;

function keep<Child extends ChildProcess>(child: Child): Child {
  running.add(child);
  child.once('close', () => running.delete(child));
  return child;
}

/** Kills the groups of processes that children lead. */
export function endChildren(): void {
  for (const { pid } of running) {
    try {
      // Without a process id it was never started.
      if (pid !== undefined) process.kill(-pid, 'SIGKILL');
    } catch (error) {
      if ((error as NodeJS.ErrnoException).code !== 'ESRCH') throw error;
    }
  }
  running.clear();
}

// Not after each: tests of a file may run side by side.
afterAll(endChildren);
process.once('exit', endChildren);
