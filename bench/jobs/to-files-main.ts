import type { Work } from '../question.js';
import { run as runToFiles } from './to-files.js';

export function run(work: Work): Promise<void> {
  return runToFiles(work, { workers: 0 });
}
