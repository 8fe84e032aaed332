import { inWorkers } from '../in-workers.js';
import type { Work } from '../question.js';

/**
 * Inflates whole files in two threads and writes the bytes. No solution can be faster, because
 * every solution must inflate the files and write the posts.
 */
export async function run({ files, out }: Work): Promise<void> {
  const halves = [0, 1].map(half => ({
    files: files.filter((_, index) => index % 2 === half),
    out: `${out}/${half}.jsonl`,
  }));
  await inWorkers(new URL('./limit-worker.js', import.meta.url), halves);
}
