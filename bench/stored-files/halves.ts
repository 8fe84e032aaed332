import { mkdir } from 'node:fs/promises';
import { inWorkers } from '../in-workers.js';
import type { Work } from '../question.js';

/**
 * Runs Millrace's pipeline twice, in two worker threads; each thread reads every other file. A
 * thread does not know the ids that the other thread has seen, so duplicates in adjacent files are
 * not removed. This is a bound, not a solution.
 */
export async function run(work: Work): Promise<void> {
  const halves = [0, 1].map(half => ({
    ...work,
    files: work.files.filter((_, index) => index % 2 === half),
    out: `${work.out}/${half}`,
  }));
  await Promise.all(halves.map(({ out }) => mkdir(out)));
  await inWorkers(new URL('./halves-worker.js', import.meta.url), halves);
}
