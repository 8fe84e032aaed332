import { inWorkers } from '../in-workers.js';
import type { Work } from '../question.js';

/** Two threads that only inflate whole files, compress them at level 6 and write the bytes. */
export async function run({ files: [, ...stored], out }: Work): Promise<void> {
  const halves = [0, 1].map(half => ({
    files: stored.filter((_, index) => index % 2 === half),
    out: `${out}/${half}.jsonl.gz`,
  }));
  await inWorkers(new URL('./limit-worker.js', import.meta.url), halves);
}
