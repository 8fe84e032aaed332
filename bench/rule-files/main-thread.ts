import type { Work } from '../question.js';
import { run as runMillrace } from './millrace.js';

export async function run(work: Work): Promise<void> {
  await runMillrace(work, { workers: 0 });
}
