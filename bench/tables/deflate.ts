import type { Work } from '../question.js';
import { compressed } from '../stored-deleted/limit.js';

export function run({ files, out }: Work): Promise<void> {
  return compressed(files, out, 'jsonl.gz');
}
