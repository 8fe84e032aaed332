import { isRecord } from '../../base/is-record.js';
import { HttpProblem } from '../http/http-problem.js';
import { parseJsonObject } from '../http/request-body.js';
import type { Limits } from '../http/service-limits.js';

/** The kinds of engagement. */
export const ENGAGEMENT_TYPES = ['favorites', 'retweets', 'replies'] as const;
export type EngagementType = (typeof ENGAGEMENT_TYPES)[number];

/** The keys for grouping totals, in any order; the order is that of the nesting. */
export const GROUPS = ['tweet.id', 'engagement.type'] as const;
export type Group = (typeof GROUPS)[number];

export interface EngagementRequest {
  /** Digits, each once. */
  readonly ids: readonly string[];
  readonly types: readonly EngagementType[];
  readonly groupings: ReadonlyMap<string, readonly Group[]>;
}

/** Names that the response uses next to the groupings. */
const RESERVED = ['errors', 'unavailable_tweet_ids'];
const FIELDS = ['tweet_ids', 'engagement_types', 'groupings'];
const LARGEST_ID = 2n ** 63n - 1n;

/**
 * Reads and checks a body.
 *
 * @throws HttpProblem 400 with all problems of the body, one a line.
 */
export function readEngagementRequest(body: Uint8Array, limits: Limits): EngagementRequest {
  const given = parseJsonObject(body);
  if (given === undefined)
    throw new HttpProblem(400, 'Invalid JSON. The body must be a JSON object');
  const problems = Object.keys(given)
    .filter(name => !FIELDS.includes(name))
    .map(name => `Unknown field: ${shown(name)}. Supported: ${FIELDS.join(', ')}`);
  const ids = readIds(given.tweet_ids, limits.engagementIds, problems);
  const types = readTypes(given.engagement_types, problems);
  const groupings = readGroupings(given.groupings, limits.engagementGroupings, problems);
  if (problems.length > 0) throw new HttpProblem(400, problems.join('\n'));
  return { ids, types, groupings };
}

function readIds(value: unknown, max: number, problems: string[]): readonly string[] {
  const ids = readList(value, 'tweet_ids must be an array of one or more strings', problems);
  if (ids.length > max) problems.push(`tweet_ids must have ${max} ids at most, not ${ids.length}`);
  const wrong = ids.find(id => !isId(id));
  if (typeof wrong === 'number')
    // The client may already have rounded the number.
    problems.push('tweet_ids must be strings: numbers lose digits of 64-bit ids');
  else if (wrong !== undefined) problems.push(`Not an id in tweet_ids: ${shown(wrong)}`);
  return [...new Set(ids as string[])];
}

/** The members of an array that must have some. */
function readList(value: unknown, problem: string, problems: string[]): readonly unknown[] {
  if (Array.isArray(value) && value.length > 0) return value;
  problems.push(problem);
  return [];
}

function isId(value: unknown): boolean {
  return typeof value === 'string' && /^[1-9]\d{0,18}$/.test(value) && BigInt(value) <= LARGEST_ID;
}

function readTypes(value: unknown, problems: string[]): readonly EngagementType[] {
  const supported = ENGAGEMENT_TYPES.join(', ');
  const problem = `engagement_types must be an array of one or more of ${supported}`;
  const types = new Set(readList(value, problem, problems) as EngagementType[]);
  for (const type of types)
    if (!ENGAGEMENT_TYPES.includes(type))
      problems.push(`Unsupported engagement type: ${shown(type)}. Supported: ${supported}`);
  return [...types];
}

function readGroupings(
  value: unknown,
  max: number,
  problems: string[],
): EngagementRequest['groupings'] {
  const groupings = new Map<string, readonly Group[]>();
  const entries = isRecord(value) ? Object.entries(value) : [];
  if (entries.length === 0)
    problems.push('groupings must be an object with one or more groupings by their names');
  if (entries.length > max)
    problems.push(`There may be ${max} groupings at most, not ${entries.length}`);
  for (const [name, grouping] of entries.slice(0, max)) {
    if (name === '' || RESERVED.includes(name))
      problems.push(`A grouping cannot have the name ${shown(name)}`);
    groupings.set(name, readGroups(name, grouping, problems));
  }
  return groupings;
}

function readGroups(name: string, grouping: unknown, problems: string[]): readonly Group[] {
  const given = isRecord(grouping) ? grouping.group_by : undefined;
  const what = `the grouping ${shown(name)}`;
  const supported = GROUPS.join(', ');
  const problem = `The grouping ${shown(name)} must have a group_by of one or more of ${supported}`;
  const groups = readList(given, problem, problems) as Group[];
  const distinct = new Set(groups);
  for (const group of distinct)
    if (!GROUPS.includes(group))
      problems.push(`Unsupported group_by in ${what}: ${shown(group)}. Supported: ${supported}`);
  if (distinct.size < groups.length)
    problems.push(`The group_by of ${what} has the same group twice`);
  return groups;
}

/** A value for an error message: on one line and shortened. */
function shown(value: unknown): string {
  const text = typeof value === 'string' ? value : (JSON.stringify(value) ?? String(value));
  const line = text.replace(/[\p{Cc}\p{Zl}\p{Zp}]/gu, ' ');
  return line.length > 60 ? `${line.slice(0, 60)}...` : line;
}
