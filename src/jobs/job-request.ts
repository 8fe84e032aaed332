import { createHash } from 'node:crypto';
import {
  checkOptions,
  date,
  type OptionTable,
  oneOf,
  optionError,
  required,
  special,
  text,
} from '../base/check.js';
import {
  DAY,
  datesOf,
  FIRST_POST,
  floorTo,
  MINUTE,
  parseDate,
  type Timestamp,
} from '../base/time.js';
import type { Format } from '../post/activity.js';
import { ruleErrors, textRuleProblem } from '../rules/language/render-problem.js';
import { warnOfRules } from '../rules/language/warn-of-rules.js';

/** A rule of a job, with an optional tag for the posts that it matches. */
export interface JobRule {
  readonly value: string;
  /** The tag, up to 255 characters. It appears in the `matching_rules` of each matching post. */
  readonly tag?: string | null | undefined;
}

/** Which posts a job delivers: all posts in a time window that match any of its rules. */
export interface JobRequest {
  /** The title, which is unique in the account and identifies the job. */
  readonly title: string;
  /**
   * The first minute, inclusive: `YYYYMMDDHHMM` (UTC), an ISO 8601 date or time, or a `Date`. Rounded down to
   * the minute.
   */
  readonly fromDate: Timestamp;
  /** The end of the window, exclusive. A whole day ends at 0000 of the next day. */
  readonly toDate: Timestamp;
  /** The JSON format of the delivered posts. */
  readonly dataFormat: Format;
  /** The rules, from 1 to 1000. No two rules may have the same value. */
  readonly rules: readonly JobRule[];
}

export interface CheckedJobRequest extends Pick<JobRequest, 'title' | 'dataFormat'> {
  readonly fromDate: string;
  readonly toDate: string;
  readonly rules: readonly { readonly value: string; readonly tag?: string }[];
}

const MAX_RULES = 1000;

type JobDates = Pick<JobRequest, 'fromDate' | 'toDate'>;

const JOB_DATES = {
  fromDate: required(date('the first minute, inclusive')),
  toDate: required(date('the last minute, exclusive')),
} satisfies OptionTable<JobDates>;

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
 * @throws OptionError with all problems in the members. If the members have no problems, the error is about
 *   the window or, if the window is valid, about the rules.
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
  const rules = checkRules(call, checked.rules);
  warnOfRules(
    call,
    'historical',
    rules.map(({ value }) => value),
  );
  return { title, fromDate, toDate, dataFormat, rules };
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

const DIGEST = / \(rules [0-9a-f]{8}\)$/;

/**
 * Returns the title that `jobs.run` sends: the requested title and a digest of the rules. The service returns
 * the title, dates and format of an existing job, but not its rules. The digest in the title shows whether
 * its rules are the same. The order of the rules does not change the digest.
 */
export function titleWithRules({ title, rules }: CheckedJobRequest): string {
  const sorted = rules
    .map(({ value, tag }) => JSON.stringify([value, tag ?? null]))
    .toSorted()
    .join('\n');
  const digest = createHash('sha256').update(sorted).digest('hex').slice(0, 8);
  return `${plainTitle(title)} (rules ${digest})`;
}

export function plainTitle(title: string): string {
  return title.replace(DIGEST, '');
}

/**
 * Returns the number of historical days that the service counts for a job with this window: every UTC day
 * that contains at least one minute of the window. `fromDate` is inclusive and `toDate` exclusive. Seconds
 * are ignored.
 *
 * @throws OptionError if a date is invalid, or if `toDate` is not after `fromDate`.
 * @example
 * jobs.countDays('201201010000', '201201020000') // 1
 * jobs.countDays('201201010001', '201201020001') // 2
 */
export function countJobDays(fromDate: Timestamp, toDate: Timestamp): number {
  const dates = checkOptions('jobs.countDays', JOB_DATES, { fromDate, toDate });
  const { from, to } = jobWindow('jobs.countDays', dates);
  const last = to - MINUTE;
  return (floorTo(DAY, last) - floorTo(DAY, from)) / DAY + 1;
}

/**
 * Returns the dates of a job, both in the service's notation and in epoch milliseconds. Both dates must
 * already be known to be valid.
 *
 * @throws OptionError if `toDate` is not after `fromDate`.
 */
function jobWindow(call: string, { fromDate, toDate }: JobDates) {
  const from = parseDate(fromDate) ?? Number.NaN;
  const to = parseDate(toDate) ?? Number.NaN;
  const sent = datesOf({ from, to });
  if (!(from < to))
    throw optionError(
      call,
      'toDate',
      `must be after \`fromDate\` ${sent.fromDate}, got ${sent.toDate}: it is exclusive, so a whole day ends at 0000 of the next`,
    );
  return { ...sent, from, to };
}
