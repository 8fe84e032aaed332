import { inWorkers } from '../in-workers.js';
import type { Work } from '../question.js';
import { SharedIds } from './shared-ids.js';

/** The data that both threads share. */
export interface Task {
  readonly files: readonly string[];
  readonly out: string;
  /** The number of the next file. An idle thread takes it. */
  readonly next: Int32Array;
  readonly ids: Int32Array;
}

/**
 * A loop written only for these files and this task, in two worker threads. It checks nothing,
 * keeps no order and cannot resume after a crash. It shows what a library could gain by giving up
 * all of that.
 */
export async function run({ files, out }: Work): Promise<void> {
  const next = new Int32Array(new SharedArrayBuffer(4));
  const task: Task = { files, out, next, ids: SharedIds.memory() };
  await inWorkers(new URL('./by-hand-worker.js', import.meta.url), [task, task]);
}
