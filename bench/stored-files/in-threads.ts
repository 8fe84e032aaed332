import { availableParallelism } from 'node:os';
import type { Work } from '../question.js';
import { run as runMillrace } from './millrace.js';

/** Runs Millrace with threads, even if the input is small. */
export function run(work: Work): Promise<void> {
  return runMillrace(work, { workers: availableParallelism() });
}
