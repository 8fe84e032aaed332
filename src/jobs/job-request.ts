import type { Format } from '../activity/activity.js';
import { OptionError } from '../errors.js';
import { ruleErrors } from '../rules/language/rule-errors.js';
import { FIRST_POST, type Timestamp } from '../time.js';
import { jobWindow } from './job-days.js';

export interface JobRule {
  readonly value: string;
  /** Comes back in the `matching_rules` of each post; up to 255 characters. */
  readonly tag?: string | null | undefined;
}

export interface JobRequest {
  /** Unique in the account: it is how the job is found again. */
  readonly title: string;
  /** First minute, inclusive: `YYYYMMDDHHMM` (UTC) or a `Date`, floored to its minute. */
  readonly fromDate: Timestamp;
  /** Last minute, exclusive: a whole day ends at 0000 of the next. */
  readonly toDate: Timestamp;
  readonly dataFormat: Format;
  /** 1 to 1000, each of its own value. */
  readonly rules: readonly JobRule[];
}

/** A request that has passed every check, as it is sent but for the publisher. */
export interface CheckedJobRequest {
  readonly title: string;
  readonly fromDate: string;
  readonly toDate: string;
  readonly dataFormat: Format;
  readonly rules: readonly { readonly value: string; readonly tag?: string }[];
}

/** Section 8. */
const MOST_RULES = 1000;
const FORMATS: readonly unknown[] = ['original', 'activity_streams'] satisfies Format[];

/** The members of a request. */
export const JOB_REQUEST_NAMES = [
  ...(['title', 'fromDate', 'toDate', 'dataFormat', 'rules'] as const),
] satisfies (keyof JobRequest)[];

/** @throws OptionError; for rules, with all that is wrong with any of them. */
export function checkJobRequest(request: JobRequest): CheckedJobRequest {
  const { dataFormat } = request;
  const title = checkTitle(request.title);
  const { fromDate, toDate, from } = jobWindow(request.fromDate, request.toDate);
  if (from < FIRST_POST)
    throw new OptionError(
      'fromDate',
      `\`fromDate\` ${fromDate} is before the first posts, of 21 March 2006`,
    );
  if (!FORMATS.includes(dataFormat))
    throw new OptionError(
      'dataFormat',
      `Expected \`dataFormat\` to be 'original' or 'activity_streams', got ${JSON.stringify(dataFormat)}`,
    );
  return { title, fromDate, toDate, dataFormat: dataFormat, rules: checkRules(request.rules) };
}

export function checkTitle(title: unknown): string {
  if (typeof title !== 'string' || title.trim() === '')
    throw new OptionError('title', 'Expected `title` to be a string that is not empty');
  if (/[\p{Cc}\p{Surrogate}]/u.test(title))
    throw new OptionError('title', 'Expected `title` to have no control characters in it');
  return title;
}

function checkRules(rules: readonly JobRule[]): CheckedJobRequest['rules'] {
  if (!Array.isArray(rules) || rules.length === 0)
    throw new OptionError('rules', 'Expected `rules` to be a list of at least one { value, tag }');
  if (rules.length > MOST_RULES)
    throw new OptionError(
      'rules',
      `\`rules\` has ${rules.length} rules, and a job takes at most ${MOST_RULES}: make several jobs`,
    );
  const first = new Map<string, number>();
  const wrong = rules.flatMap((rule: JobRule, index) => {
    const problems = problemsOf(rule);
    const before = first.get(rule?.value);
    if (before !== undefined) problems.push(`error: the same value as rule ${before + 1}`);
    else first.set(rule?.value, index);
    return problems.map(problem => `Rule ${index + 1} of \`rules\`:\n${problem}`);
  });
  if (wrong.length > 0)
    throw new OptionError('rules', `The job was not sent.\n${wrong.join('\n')}`);
  return rules.map(({ value, tag }) => (tag == null ? { value } : { value, tag }));
}

function problemsOf(rule: JobRule): string[] {
  if (typeof rule?.value !== 'string' || rule.value.trim() === '')
    return ['error: expected `value` to be a string that is not empty'];
  const { value, tag = null } = rule;
  if (tag !== null && (typeof tag !== 'string' || tag === ''))
    return ['error: expected `tag` to be a string that is not empty'];
  return ruleErrors(value, { product: 'historical', tag });
}
