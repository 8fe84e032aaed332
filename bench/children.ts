import { type ChildProcess, fork } from 'node:child_process';
import { once } from 'node:events';
import path from 'node:path';

/** Starts a script of the benchmarks in a separate process. */
export function start(script: string, ...args: readonly (string | number)[]): ChildProcess {
  return fork(path.join(import.meta.dirname, script), args.map(String));
}

/** Resolves to the next message of a child. Rejects if the child ends first. */
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
