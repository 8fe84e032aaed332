import type { Work } from '../question.js';
import { run as runLimit } from '../stored-files/limit.js';

/** The first file is the address of the server. */
export function run(work: Work): Promise<void> {
  return runLimit({ ...work, files: work.files.slice(1) });
}
