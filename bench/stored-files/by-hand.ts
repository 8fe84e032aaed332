import { inWorkers } from '../in-workers.js';
import type { Work } from '../question.js';
import { SharedIds } from './shared-ids.js';

/** What the two threads share. */
export interface Task {
  readonly files: readonly string[];
  readonly out: string;
  /** The number of the next file, which the next idle thread takes. */
  readonly next: Int32Array;
  readonly ids: Int32Array;
}

/**
 * A loop for these files and this question alone, in two worker threads: it checks nothing, keeps no
 * order and could not resume after a crash. Shows what a library could gain by giving all of that up.
 */
export async function run({ files, out }: Work): Promise<void> {
  const next = new Int32Array(new SharedArrayBuffer(4));
  const task: Task = { files, out, next, ids: SharedIds.memory() };
  await inWorkers(new URL('./by-hand-worker.js', import.meta.url), [task, task]);
}
