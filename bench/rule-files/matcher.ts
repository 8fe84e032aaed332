import { matchRules, rules } from 'millrace';
import type { Work } from '../question.js';
import { matched } from './matched.js';
import { manyRules } from './rules.js';

const operator = matchRules(rules.compileAll(manyRules()));

/**
 * Matches posts with a `RuleMatcher`. Its rules may change between two posts, so it runs on the
 * main thread.
 */
export async function run(work: Work): Promise<void> {
  await matched(work, operator);
}
