import { inWorkers } from '../in-workers.js';
import type { Work } from '../question.js';

export function run({ files: [, ...stored], out }: Work): Promise<void> {
  return compressed(stored, out, 'jsonl.gz');
}

export async function compressed(
  files: readonly string[],
  out: string,
  ending: 'jsonl.gz' | 'jsonl.zst',
): Promise<void> {
  const halves = [0, 1].map(half => ({
    files: files.filter((_, index) => index % 2 === half),
    out: `${out}/${half}.${ending}`,
  }));
  await inWorkers(new URL('./limit-worker.js', import.meta.url), halves);
}
