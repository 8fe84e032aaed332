import { mkdir } from 'node:fs/promises';
import { inWorkers } from '../in-workers.js';
import type { Work } from '../question.js';

/**
 * Our pipeline twice, in two worker threads, each over every other file. Neither knows what the other
 * has seen, so duplicates in adjacent files remain: a bound, not a solution.
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
