import { DataError } from '../errors.js';
import { isRecord } from '../is-record.js';
import { parseExact } from '../json/exact-json.js';
import { excerpt } from '../json/excerpt.js';
import type { CountAs, GroupBy, Groupings } from './engagement-request.js';

/** A count, or counts by group. */
export type CountTree = bigint | ReadonlyMap<string, CountTree>;

/** Why the service has no totals for a post, or for all posts if it does not say which. */
export interface EngagementProblem {
  readonly id?: string | undefined;
  /** The message of the service. */
  readonly message: string;
}

/** A response about one batch of posts. */
export interface EngagementResponse {
  /** The totals by the names of the groupings. */
  readonly totals: ReadonlyMap<string, CountTree>;
  readonly problems: readonly EngagementProblem[];
}

const UNAVAILABLE = 'unavailable_tweet_ids';

/**
 * Reads a response: totals, errors, and lists of the posts that errors are about.
 *
 * @throws DataError If it has another shape.
 */
export function parseEngagement(
  text: string,
  ids: readonly string[],
  groupings: Groupings,
  origin: string,
): EngagementResponse {
  const body = objectOf(parse(text, origin), 'it is not a JSON object', origin);
  const totals = new Map<string, CountTree>();
  for (const [name, { group_by }] of Object.entries(groupings))
    totals.set(name, treeOf(body.get(name) ?? {}, group_by, name, origin));
  return { totals, problems: problemsOf(body, ids) };
}

/**
 * The problems of a refusal that concerns only posts, so that other batches may succeed.
 * `undefined` if it concerns anything else.
 */
export function postProblemsOf(
  text: string,
  ids: readonly string[],
): readonly EngagementProblem[] | undefined {
  let body: Map<string, unknown>;
  try {
    body = objectOf(parse(text, ''), '', '');
  } catch {
    return undefined;
  }
  const problems = problemsOf(body, ids);
  return problems.length > 0 && problems.every(({ id }) => id !== undefined) ? problems : undefined;
}

/** Combines two responses: counts of the same group are added exactly. */
export function addCounts(a: CountTree, b: CountTree): CountTree {
  if (typeof a === 'bigint' || typeof b === 'bigint')
    return (typeof a === 'bigint' ? a : 0n) + (typeof b === 'bigint' ? b : 0n);
  const sum = new Map(a);
  for (const [group, tree] of b) {
    const before = sum.get(group);
    sum.set(group, before === undefined ? tree : addCounts(before, tree));
  }
  return sum;
}

/**
 * Converts to objects with counts of the requested type. @throws DataError For a count that does not
 * fit a number.
 */
export function countsAs(tree: CountTree, as: CountAs): unknown {
  if (typeof tree !== 'bigint')
    return Object.fromEntries([...tree].map(([group, inner]) => [group, countsAs(inner, as)]));
  if (as === 'bigint') return tree;
  if (as === 'string') return String(tree);
  if (tree > BigInt(Number.MAX_SAFE_INTEGER))
    throw new DataError(`No number holds the count ${tree}: ask for \`counts: 'bigint'\``);
  return Number(tree);
}

function treeOf(value: unknown, by: readonly GroupBy[], where: string, origin: string): CountTree {
  if (by.length === 0) return countOf(value, where, origin);
  const members = objectOf(value, `\`${where}\` in it is not an object`, origin);
  return new Map(
    [...members].map(([group, inner]) => [
      group,
      treeOf(inner, by.slice(1), `${where}.${group}`, origin),
    ]),
  );
}

/** A count as a string of digits; the service also sends bare numbers. */
function countOf(value: unknown, where: string, origin: string): bigint {
  const digits = typeof value === 'number' ? String(value) : value;
  if (typeof digits !== 'string' || !/^\d{1,30}$/.test(digits))
    throw new DataError(
      `The response is not one of engagement totals: \`${where}\` should be a count, and is ${excerpt(String(JSON.stringify(value)))}`,
      { position: { origin } },
    );
  return BigInt(digits);
}

/**
 * One problem for each post that an error names; the separate list of posts is for errors that only
 * count them.
 */
function problemsOf(
  body: ReadonlyMap<string, unknown>,
  ids: readonly string[],
): EngagementProblem[] {
  const asked = new Set(ids);
  const messages = listOf(body.get('errors')).map(messageOf);
  const problems: EngagementProblem[] = [];
  for (const message of messages) {
    const named = namedIn(message, asked);
    const listed = /unavailable/i.test(message) ? listOf(body.get(UNAVAILABLE)) : [];
    const about = [...new Set([...named, ...listed.map(String)])].filter(id => asked.has(id));
    if (about.length === 0) problems.push({ message });
    else problems.push(...about.map(id => ({ id, message })));
  }
  const told = new Set(problems.map(({ id }) => id));
  for (const [list, listed] of body)
    if (list.endsWith('_tweet_ids'))
      for (const id of listOf(listed).map(String))
        if (asked.has(id) && !told.has(id)) problems.push({ id, message: list });
  return problems;
}

/** `Forbidden to access tweets for author id N: id, id`; a number before the colon is not a post. */
function namedIn(message: string, asked: ReadonlySet<string>): string[] {
  const rest = message.slice(message.indexOf(':') + 1 || message.length);
  return (rest.match(/\d+/g) ?? []).filter(id => asked.has(id));
}

function messageOf(error: unknown): string {
  if (typeof error === 'string') return error;
  const message =
    typeof error === 'object' && error !== null && 'message' in error ? error.message : error;
  return typeof message === 'string' ? message : JSON.stringify(error);
}

function listOf(value: unknown): readonly unknown[] {
  return Array.isArray(value) ? value : [];
}

function objectOf(value: unknown, problem: string, origin: string): Map<string, unknown> {
  if (!isRecord(value))
    throw new DataError(`The response is not one of engagement totals: ${problem}`, {
      position: { origin },
    });
  return new Map(Object.entries(value));
}

function parse(text: string, origin: string): unknown {
  try {
    return parseExact(text);
  } catch (cause) {
    throw new DataError('The response is cut short, or is not JSON', {
      cause,
      position: { origin },
      retryable: true,
    });
  }
}
