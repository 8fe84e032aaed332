import { mkdir } from 'node:fs/promises';
import { Worker } from 'node:worker_threads';
import type { Work } from '../question.js';

/**
 * Our pipeline twice, in two worker threads, each over every other file. Neither knows what the other
 * has seen, so duplicates that lie in neighbouring files stay: what could be had, not what is wanted.
 */
export async function run(work: Work): Promise<void> {
  await Promise.all(
    [0, 1].map(async half => {
      const out = `${work.out}/${half}`;
      await mkdir(out);
      const files = work.files.filter((_, index) => index % 2 === half);
      const worker = new Worker(new URL('./halves-worker.js', import.meta.url), {
        workerData: { ...work, files, out },
      });
      await new Promise<void>((resolve, reject) => {
        worker.on('error', reject).on('exit', () => resolve());
      });
    }),
  );
}
