import { RuleMatcher } from '../../rules/index/compile-rules.js';
import { EventLoopYield } from '../event-loop-yield.js';
import type { JobRule } from './job.js';

/** Rules that are compiled between two checks of the time. */
const AT_ONCE = 20;

/** The matcher of a job's rules. */
export async function jobMatcher(
  rules: readonly JobRule[],
  signal: AbortSignal,
): Promise<RuleMatcher> {
  const matcher = new RuleMatcher({ product: 'historical' });
  const work = new EventLoopYield(signal);
  for (let at = 0; at < rules.length; at += AT_ONCE) {
    matcher.add(rules.slice(at, at + AT_ONCE));
    await work.pause();
  }
  return matcher;
}
