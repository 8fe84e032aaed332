import { inWorkers } from '../in-workers.js';
import type { Work } from '../question.js';

/**
 * Inflates whole files in two threads, parses each line, and writes the bytes. This is the cost of
 * the work without rules.
 */
export async function run({ files, out }: Work): Promise<void> {
  const halves = [0, 1].map(half => ({
    files: files.filter((_, index) => index % 2 === half),
    out: `${out}/${half}.jsonl`,
  }));
  await inWorkers(new URL('./limit-worker.js', import.meta.url), halves);
}
