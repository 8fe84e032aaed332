import { matchRules } from 'millrace';
import type { Work } from '../question.js';
import { matched } from './matched.js';
import { manyRules } from './rules.js';

const operator = matchRules(manyRules());

export async function run(work: Work, options: { workers?: number } = {}): Promise<void> {
  await matched(work, operator, options);
}
