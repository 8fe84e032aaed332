import { type ChildProcess, execFile, fork } from 'node:child_process';
import { once } from 'node:events';
import path from 'node:path';
import { promisify } from 'node:util';
import type { Sample, Work } from './question.js';

const execute = promisify(execFile);

export function measureWork(module: string, work: Work): Promise<Sample> {
  return answerOfChild('child', [path.join(import.meta.dirname, `${module}.js`)], work);
}

/**
 * Runs a script in a separate process. The script reads its work from stdin, and prints its answer
 * as JSON.
 */
export async function answerOfChild<T>(
  script: string,
  args: readonly string[],
  work: Work,
): Promise<T> {
  const file = path.join(import.meta.dirname, `${script}.js`);
  const running = execute(process.execPath, [file, ...args]);
  running.child.stdin?.end(JSON.stringify(work));
  return JSON.parse((await running).stdout) as T;
}

export function start(script: string, ...args: readonly (string | number)[]): ChildProcess {
  return fork(path.join(import.meta.dirname, script), args.map(String));
}

/** Resolves to the next message from a child process. Rejects if the process ends first. */
export async function messageOf<T>(child: ChildProcess): Promise<T> {
  const ended = new AbortController();
  const onExit = (code: number | null) =>
    ended.abort(new Error(`A process ended with code ${code}`));
  child.once('exit', onExit);
  const [value] = (await once(child, 'message', { signal: ended.signal })) as [T];
  child.off('exit', onExit);
  return value;
}

export async function stop(child: ChildProcess): Promise<void> {
  if (child.exitCode !== null || child.signalCode !== null) return;
  child.kill();
  await once(child, 'exit');
}
