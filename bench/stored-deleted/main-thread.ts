import type { Work } from '../question.js';
import { run as runMillrace } from './millrace.js';

export function run(work: Work): Promise<void> {
  return runMillrace(work, { workers: 0 });
}
