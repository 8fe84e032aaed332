import { inWorkers } from '../in-workers.js';
import type { Work } from '../question.js';
import { SharedIds } from './shared-ids.js';

export interface Task {
  readonly files: readonly string[];
  readonly out: string;
  /** The index of the next file to read. A thread that is idle takes that file. */
  readonly next: Int32Array;
  readonly ids: Int32Array;
}

/**
 * A loop that is written only for these files and this task, in two worker threads. It checks
 * nothing, does not keep the order of posts, and cannot resume after a crash. It shows how much
 * faster a library could be without these guarantees.
 */
export async function run({ files, out }: Work): Promise<void> {
  const next = new Int32Array(new SharedArrayBuffer(4));
  const task: Task = { files, out, next, ids: SharedIds.memory() };
  await inWorkers(new URL('./by-hand-worker.js', import.meta.url), [task, task]);
}
