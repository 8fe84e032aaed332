import type { Work } from '../question.js';
import { inWorkers } from '../stored-files/in-workers.js';

/** Two threads that only inflate whole files, compress them at level 6 and write the bytes. */
export async function run({ files: [, ...stored], out }: Work): Promise<void> {
  const halves = [0, 1].map(half => ({
    files: stored.filter((_, index) => index % 2 === half),
    out: `${out}/${half}.jsonl.gz`,
  }));
  await inWorkers('../stored-deleted/limit-worker.js', halves);
}
