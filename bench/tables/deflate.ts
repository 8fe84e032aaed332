import type { Work } from '../question.js';
import { run as deflated } from '../stored-deleted/limit.js';

/** Two threads that only inflate the files and compress them again. */
export function run(work: Work): Promise<void> {
  return deflated({ ...work, files: ['', ...work.files] });
}
