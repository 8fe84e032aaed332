import { matchRules } from 'millrace';
import type { Work } from '../question.js';
import { matched } from './matched.js';
import { manyRules } from './rules.js';

const operator = matchRules(manyRules());

/** Two threads, as the limit: a quick run has fewer bytes than threads begin with by themselves. */
export async function run(work: Work, options = { workers: 2 }): Promise<void> {
  await matched(work, operator, options);
}
