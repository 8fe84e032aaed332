import { matchRules } from 'millrace';
import type { Work } from '../question.js';
import { matched } from './matched.js';
import { manyRules } from './rules.js';

const operator = matchRules(manyRules());

/**
 * Uses two threads, like the variant that is the lower bound. By default, the small input of a
 * quick run would not start threads.
 */
export async function run(work: Work, options = { workers: 2 }): Promise<void> {
  await matched(work, operator, options);
}
