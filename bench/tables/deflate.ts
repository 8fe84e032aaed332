import type { Work } from '../question.js';
import { compressed } from '../stored-deleted/limit.js';

/** Inflates the files in two threads, and compresses them again as gzip. */
export function run({ files, out }: Work): Promise<void> {
  return compressed(files, out, 'jsonl.gz');
}
