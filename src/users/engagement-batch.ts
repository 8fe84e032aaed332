import { type AuthorizationError, DataError } from '../base/errors.js';
import { isRecord } from '../base/record.js';
import { redact } from '../base/secret.js';
import { MINUTE } from '../base/time.js';
import type { Account } from '../http/account.js';
import { readJson } from '../http/read-json.js';
import { serviceUrl } from '../http/service-url.js';
import { parseExact } from '../json/exact-ids.js';
import { excerpt } from '../json/excerpt.js';
import {
  type CountAs,
  type CountingOptions,
  distinct,
  ENGAGEMENT_TYPES,
  type EngagementType,
  type GroupBy,
  type Groupings,
  type UserToken,
} from './engagement-request.js';
import { signedCall } from './signed-call.js';

export const MAX_IDS = 250;

interface EngagementQuery {
  readonly url: URL;
  readonly user: UserToken;
  readonly types: readonly EngagementType[];
  readonly groupings: Groupings;
}

export interface BatchResponse {
  readonly totals: ReadonlyMap<string, CountTree>;
  readonly problems: readonly EngagementProblem[];
  /** The service's refusal. Set if no post in the batch has totals. */
  readonly refused?: AuthorizationError | undefined;
}

/**
 * Requests the totals of up to 250 posts. If the service refuses a request because of some of the posts,
 * repeats it with the other posts. The refused posts have no totals.
 *
 * @throws AuthorizationError If the service refuses a request for any other reason.
 */
export async function engagementBatch(
  account: Account,
  query: EngagementQuery,
  ids: readonly string[],
  signal: AbortSignal | undefined,
): Promise<BatchResponse> {
  const response = await ask(account, query, ids, signal);
  const told = new Set(response.problems.map(({ id }) => id));
  const rest = ids.filter(id => !told.has(id));
  if (response.refused === undefined || rest.length === 0) return response;
  // `refused` is set only if the service named some of the posts, so `rest` has fewer ids than `ids`.
  const others = await engagementBatch(account, query, rest, signal);
  return { ...others, problems: [...response.problems, ...others.problems] };
}

function ask(
  account: Account,
  { url, user, types, groupings }: EngagementQuery,
  ids: readonly string[],
  signal: AbortSignal | undefined,
): Promise<BatchResponse> {
  const json = JSON.stringify({ tweet_ids: ids, engagement_types: types, groupings });
  return signedCall(
    account,
    {
      url,
      family: 'engagement',
      body: { json },
      signal,
      token: user.token,
      tokenSecret: user.secret,
    },
    async (response): Promise<BatchResponse> => {
      // This header is undocumented. It has the number of requests that the account may send per minute.
      const requests = Number(response.headers['x-per-minute-limit']);
      if (Number.isSafeInteger(requests) && requests > 0)
        account.rateLimiter('engagement', url).learn({ requests, perMs: MINUTE });
      return parseEngagement(await readJson(response), ids, groupings, response.url);
    },
    (text, refused) => {
      const problems = postProblemsOf(text, ids);
      const isAboutPosts = refused.status === 403 || refused.status === 400;
      if (problems === undefined || !isAboutPosts) throw refused;
      return { totals: new Map(), problems, refused };
    },
  );
}

/**
 * Creates the query for all batches. By default, it counts all types of engagement, for the user in the
 * account's settings.
 *
 * @throws OptionError for missing settings of the account.
 */
export function engagementQuery(
  account: Account,
  { types = ENGAGEMENT_TYPES, token }: CountingOptions<EngagementType, CountAs>,
  groupings: Groupings,
): EngagementQuery {
  const url = serviceUrl(account, 'dataUrl', 'insights/engagement/totals', {
    purpose: 'engagement totals',
    needs: ['consumerKey', 'consumerSecret'],
  });
  const user = token ?? {
    token: account.need('accessToken', 'engagement totals, unless `token` comes from signIn()'),
    secret: account.need('accessTokenSecret', 'engagement totals'),
  };
  return { url, user, types: distinct(types), groupings };
}

export type CountTree = bigint | ReadonlyMap<string, CountTree>;

/** Why the service has no totals for a post. `id` is absent if the service does not name the post. */
export interface EngagementProblem {
  readonly id?: string | undefined;
  /** The message of the service. */
  readonly message: string;
}

const UNAVAILABLE = 'unavailable_tweet_ids';

/**
 * Reads the totals and the problems in a response. @throws DataError If the response has another structure.
 */
export function parseEngagement(
  value: unknown,
  ids: readonly string[],
  groupings: Groupings,
  origin: string,
): BatchResponse {
  const body = objectOf(value, 'it is not a JSON object', origin);
  const totals = new Map<string, CountTree>();
  for (const [name, { group_by }] of Object.entries(groupings))
    totals.set(name, treeOf(body.get(name) ?? {}, group_by, name, origin));
  return { totals, problems: problemsOf(body, ids) };
}

/**
 * Parses the body of a refusal. Returns its problems if each of them names a post; other posts may then still
 * have totals. Otherwise returns `undefined`.
 */
function postProblemsOf(
  text: string,
  ids: readonly string[],
): readonly EngagementProblem[] | undefined {
  let body: unknown;
  try {
    body = parseExact(text);
  } catch {
    return undefined;
  }
  const problems = isRecord(body) ? problemsOf(new Map(Object.entries(body)), ids) : [];
  return problems.length > 0 && problems.every(({ id }) => id !== undefined) ? problems : undefined;
}

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
 * Converts totals to objects, with counts of the requested type. @throws DataError For a count that a number
 * cannot represent exactly.
 */
export function countsAs(tree: CountTree, as: CountAs): unknown {
  if (typeof tree !== 'bigint')
    return Object.fromEntries([...tree].map(([group, inner]) => [group, countsAs(inner, as)]));
  if (as === 'bigint') return tree;
  if (as === 'string') return String(tree);
  if (tree > BigInt(Number.MAX_SAFE_INTEGER))
    throw new DataError(`The count ${tree} is too large for a number. Pass \`counts: 'bigint'\``);
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

function countOf(value: unknown, where: string, origin: string): bigint {
  const digits = typeof value === 'number' ? String(value) : value;
  if (typeof digits !== 'string' || !/^\d{1,30}$/.test(digits))
    throw notTotals(
      `\`${where}\` should be a count, and is ${excerpt(String(JSON.stringify(value)))}`,
      origin,
    );
  return BigInt(digits);
}

/**
 * Lists one problem for each post to which an error applies. An error may give only a number of posts. The
 * response then has the ids of these posts in a separate list.
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
  // Secrets in the messages are redacted, because the service may repeat parts of the request.
  return problems.map(problem => ({ ...problem, message: redact(problem.message) }));
}

/**
 * Returns the ids of the posts that a message names, such as `Forbidden to access tweets for author id N: id,
 * id`. A number before the colon is not the id of a post.
 */
function namedIn(message: string, asked: ReadonlySet<string>): string[] {
  const rest = message.slice(message.indexOf(':') + 1 || message.length);
  return (rest.match(/\d+/g) ?? []).filter(id => asked.has(id));
}

function messageOf(error: unknown): string {
  if (typeof error === 'string') return error;
  const message = isRecord(error) && 'message' in error ? error.message : error;
  return typeof message === 'string' ? message : JSON.stringify(error);
}

function listOf(value: unknown): readonly unknown[] {
  return Array.isArray(value) ? value : [];
}

function objectOf(value: unknown, problem: string, origin: string): Map<string, unknown> {
  if (!isRecord(value)) throw notTotals(problem, origin);
  return new Map(Object.entries(value));
}

function notTotals(problem: string, origin: string): DataError {
  const message = `The response is not one of engagement totals: ${problem}`;
  return new DataError(message, { position: { origin } });
}
