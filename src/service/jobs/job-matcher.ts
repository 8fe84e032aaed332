import { setImmediate } from 'node:timers/promises';
import { RuleMatcher } from '../../rules/index/compile-rules.js';
import type { JobRule } from './job.js';

/** Rules that are compiled at once, before others get their turn. */
const AT_ONCE = 20;

/** The matcher of a job's rules. */
export async function jobMatcher(
  rules: readonly JobRule[],
  signal: AbortSignal,
): Promise<RuleMatcher> {
  const matcher = new RuleMatcher({ product: 'historical' });
  for (let at = 0; at < rules.length; at += AT_ONCE) {
    matcher.add(rules.slice(at, at + AT_ONCE));
    await setImmediate();
    signal.throwIfAborted();
  }
  return matcher;
}
