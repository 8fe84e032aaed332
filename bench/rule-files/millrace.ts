import { matchRules } from 'millrace';
import type { Work } from '../question.js';
import { matched } from './matched.js';
import { manyRules } from './rules.js';

const operator = matchRules(manyRules());

/**
 * Uses two threads, like the limit. The input of a quick run would be too small to start threads by
 * default.
 */
export async function run(work: Work, options = { workers: 2 }): Promise<void> {
  await matched(work, operator, options);
}
