import type { Format } from '../activity/activity.js';
import {
  checkOptions,
  type OptionTable,
  oneOf,
  optionError,
  required,
  special,
  text,
} from '../check.js';
import { ruleErrors, textRuleProblem } from '../rules/language/rule-errors.js';
import { FIRST_POST, type Timestamp } from '../time.js';
import { JOB_DATES, jobWindow } from './job-days.js';

/** A rule of a job, with a tag that marks the posts that it matches. */
export interface JobRule {
  readonly value: string;
  /** Appears in the `matching_rules` of each matching post; up to 255 characters. */
  readonly tag?: string | null | undefined;
}

/** The posts that a job is to deliver: those of a window that match any of its rules. */
export interface JobRequest {
  /** Unique in the account: the job is found again by it. */
  readonly title: string;
  /**
   * First minute, inclusive: `YYYYMMDDHHMM` (UTC), an ISO 8601 date or time, or a `Date`,
   * floored to its minute.
   */
  readonly fromDate: Timestamp;
  /** Last minute, exclusive: a whole day ends at 0000 of the next. */
  readonly toDate: Timestamp;
  /** The JSON format of the delivered posts. */
  readonly dataFormat: Format;
  /** 1 to 1000 rules with different values. */
  readonly rules: readonly JobRule[];
}

/** A request that has passed every check, as it is sent except for the publisher. */
export interface CheckedJobRequest {
  readonly title: string;
  readonly fromDate: string;
  readonly toDate: string;
  readonly dataFormat: Format;
  readonly rules: readonly { readonly value: string; readonly tag?: string }[];
}

const MAX_RULES = 1000;

export const JOB_TITLE = required(text('the name of the job, unique in the account'));

export const JOB_REQUEST = {
  title: JOB_TITLE,
  ...JOB_DATES,
  dataFormat: required(oneOf('the format of the posts', ['original', 'activity_streams'])),
  rules: required({
    ...special<readonly JobRule[]>(
      'the rules of the job',
      'an array of at least one { value, tag }',
      value => Array.isArray(value) && value.length > 0 && textRuleProblem(value) === undefined,
    ),
    explain: textRuleProblem,
  }),
} satisfies OptionTable<JobRequest>;

/**
 * Checks a request before anything is sent.
 *
 * @throws OptionError with all problems of the members, or else of the window and the rules.
 */
export function checkJobRequest(call: string, request: JobRequest): CheckedJobRequest {
  const checked = checkOptions(call, JOB_REQUEST, request);
  const { title, dataFormat } = checked;
  const { fromDate, toDate, from } = jobWindow(call, checked);
  if (from < FIRST_POST)
    throw optionError(
      call,
      'fromDate',
      `must not be before the first posts, of 21 March 2006, got ${fromDate}`,
    );
  return { title, fromDate, toDate, dataFormat, rules: checkRules(call, checked.rules) };
}

function checkRules(call: string, rules: readonly JobRule[]): CheckedJobRequest['rules'] {
  if (rules.length > MAX_RULES)
    throw optionError(
      call,
      'rules',
      `must have at most ${MAX_RULES} rules, got ${rules.length}: create several jobs`,
    );
  const indexOf = new Map<string, number>();
  const problems = rules.flatMap((rule, index) => {
    const found = problemsOf(rule);
    const before = indexOf.get(rule?.value);
    if (before !== undefined) found.push(`error: the same value as rule ${before + 1}`);
    else indexOf.set(rule?.value, index);
    return found.map(problem => `Rule ${index + 1} of \`rules\`:\n${problem}`);
  });
  if (problems.length > 0)
    throw optionError(
      call,
      'rules',
      `must be valid; the job was not sent.\n${problems.join('\n')}`,
    );
  return rules.map(({ value, tag }) => (tag == null ? { value } : { value, tag }));
}

function problemsOf(rule: JobRule): string[] {
  if (typeof rule?.value !== 'string' || rule.value.trim() === '')
    return ['error: `value` must be a string that is not empty'];
  const { value, tag = null } = rule;
  if (tag !== null && (typeof tag !== 'string' || tag === ''))
    return ['error: `tag` must be a string that is not empty'];
  return ruleErrors(value, { product: 'historical', tag });
}
