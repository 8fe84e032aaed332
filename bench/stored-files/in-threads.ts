import { availableParallelism } from 'node:os';
import type { Work } from '../question.js';
import { run as runMillrace } from './millrace.js';

/** Millrace with threads, however small the input is. */
export function run(work: Work): Promise<void> {
  return runMillrace(work, { workers: availableParallelism() });
}
