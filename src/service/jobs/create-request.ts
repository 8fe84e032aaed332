import { formatTimestamp, type Window } from '../../base/time.js';
import type { Format } from '../../post/activity.js';
import { HttpProblem } from '../http/http-problem.js';
import { parseJsonObject, readDate } from '../http/read-request.js';
import { type RequestedRule, readRule } from '../http/rule-bodies.js';
import type { Limits } from '../http/service-limits.js';

/** The body of a request to create a job, checked except for the syntax of its rules. */
export interface CreateRequest {
  readonly title: string;
  readonly format: Format;
  readonly window: Window;
  readonly rules: readonly RequestedRule[];
}

export interface CreateChecks {
  readonly limits: Limits;
  readonly publisher: string;
  readonly now: number;
  hasTitle(title: string): boolean;
}

/**
 * The maximum size of a request body in bytes. It is enough for the maximum number of rules of maximum
 * length, with every character escaped.
 */
export const MAX_CREATE_BYTES = 16 * 1024 * 1024;

type Given = Readonly<Record<string, unknown>>;

/** @throws HttpProblem 400 with all problems of the body. */
export function readCreateRequest(body: Uint8Array, checks: CreateChecks): CreateRequest {
  const given = parseJsonObject(body);
  if (given === undefined)
    throw new HttpProblem(
      400,
      'Invalid JSON. The body must be a JSON object that describes a job.',
    );
  const problems: string[] = [];
  const title = readTitle(given, checks, problems);
  const format = readFormat(given, problems);
  checkPublisher(given, checks, problems);
  const window = readWindow(given, checks, problems);
  const rules = readRules(given, checks.limits.rulesPerJob, problems);
  if (problems.length > 0) throw new HttpProblem(400, problems.join('\n'));
  return { title, format, window, rules };
}

function invalid(name: string, problem: string): string {
  return `Invalid value for field '${name}'. ${problem}`;
}

function textOf(name: string, given: Given, problems: string[]): string | undefined {
  const value = given[name];
  if (typeof value === 'string' && value.trim() !== '') return value;
  const isMissing = value === undefined || value === null;
  problems.push(
    isMissing
      ? `Missing field '${name}'.`
      : invalid(name, 'It must be a string that is not empty.'),
  );
  return undefined;
}

function readTitle(given: Given, { hasTitle }: CreateChecks, problems: string[]): string {
  const title = textOf('title', given, problems);
  if (title !== undefined && /\p{Cc}/u.test(title))
    problems.push(invalid('title', 'It must not hold control characters.'));
  if (title !== undefined && hasTitle(title)) problems.push(titleTaken(title));
  return title ?? '';
}

export function titleTaken(title: string): string {
  const taken = `There is a job with the title ${JSON.stringify(title)}`;
  return invalid('title', `${taken}; titles are unique in an account.`);
}

function readFormat(given: Given, problems: string[]): Format {
  const format = textOf('dataFormat', given, problems);
  if (format === 'original' || format === 'activity_streams') return format;
  const problem =
    format === 'activity-streams'
      ? "'activity-streams' is an older spelling: send 'activity_streams'."
      : "It must be 'activity_streams' or 'original'.";
  if (format !== undefined) problems.push(invalid('dataFormat', problem));
  return 'original';
}

function checkPublisher(given: Given, { publisher }: CreateChecks, problems: string[]): void {
  const name = textOf('publisher', given, problems);
  // Published examples of client code write the publisher with a capital letter.
  if (name !== undefined && name.toLowerCase() !== publisher.toLowerCase())
    problems.push(invalid('publisher', `The only publisher is '${publisher}'.`));
  const { streamType } = given;
  if (streamType === 'track')
    problems.push(invalid('streamType', "'track' is an older name: send 'track_v2'."));
  else if (streamType !== undefined && streamType !== null && streamType !== 'track_v2')
    problems.push(invalid('streamType', "It must be 'track_v2'."));
}

function readWindow(given: Given, { limits, now }: CreateChecks, problems: string[]): Window {
  const before = problems.length;
  const { searchEarliest: earliest } = limits;
  const bounds = {
    earliest,
    tooEarly: `The archive begins at ${formatTimestamp(earliest)}.`,
    latest: now,
    tooLate: "Can't ask for activities from the future.",
  };
  const dateOf = (name: string): number => {
    const text = textOf(name, given, problems);
    return text === undefined ? 0 : (readDate(text, `field '${name}'`, bounds, problems) ?? 0);
  };
  const from = dateOf('fromDate');
  const to = dateOf('toDate');
  if (problems.length === before && from >= to)
    problems.push("Invalid date for field 'fromDate'. It must be before 'toDate'.");
  return { from, to };
}

const RULES_FORMAT =
  'It must be in the format [{"value":"rule1", "tag":"tag1"}, {"value":"rule2"}].';

function readRules(given: Given, max: number, problems: string[]): readonly RequestedRule[] {
  const { rules } = given;
  if (rules === undefined || rules === null) problems.push("Missing field 'rules'.");
  else if (!Array.isArray(rules) || rules.length === 0)
    problems.push(invalid('rules', RULES_FORMAT));
  else if (rules.length > max)
    problems.push(invalid('rules', `A job has at most ${max} rules, not ${rules.length}.`));
  else {
    const read = rules.map(rule => readRule(rule));
    const wrong = read.indexOf(undefined);
    if (wrong === -1) return read as readonly RequestedRule[];
    problems.push(`Invalid value for field 'rules', at number ${wrong + 1}. ${RULES_FORMAT}`);
  }
  return [];
}
