import type { Work } from '../question.js';
import { compressed } from '../stored-deleted/limit.js';

/** Two threads that only inflate the files and compress them as zstd. */
export function run({ files, out }: Work): Promise<void> {
  return compressed(files, out, 'jsonl.zst');
}
