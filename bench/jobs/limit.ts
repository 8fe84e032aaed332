import type { Work } from '../question.js';
import { run as runLimit } from '../stored-files/limit.js';

/** Skips the first file, because it is the address of the server instead of a file. */
export function run(work: Work): Promise<void> {
  return runLimit({ ...work, files: work.files.slice(1) });
}
