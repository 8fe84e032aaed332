import { Worker } from 'node:worker_threads';
import type { Work } from '../question.js';

/** Two threads that only inflate whole files and write the bytes: what the disk and zlib allow. */
export async function run({ files, out }: Work): Promise<void> {
  const half = (index: number) => files.filter((_, position) => position % 2 === index);
  await Promise.all(
    [0, 1].map(
      index =>
        new Promise<void>((resolve, reject) => {
          const workerData = { files: half(index), out: `${out}/${index}.jsonl` };
          new Worker(new URL('./limit-worker.js', import.meta.url), { workerData })
            .on('error', reject)
            .on('exit', () => resolve());
        }),
    ),
  );
}
