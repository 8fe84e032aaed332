import { isRecord } from '../../base/record.js';
import { MINUTE } from '../../base/time.js';
import type { ArchivedPost } from '../archive/archive.js';
import { findPost, type LookUpLimits } from '../archive/look-up-post.js';
import { getOrMake } from '../cache.js';
import { Deadline, DeadlineError } from '../event-loop-yield.js';
import { errorsErrorBody, HttpProblem } from '../http/http-problem.js';
import { checkRate, type RateWindow, requestsExceeded } from '../http/quotas.js';
import { parseJsonObject } from '../http/read-request.js';
import { type Handler, jsonResponse, type Route, routesOf } from '../http/router.js';
import type { Limits } from '../http/service-limits.js';
import type { ServiceContext } from '../service-context.js';
import {
  type EngagementRequest,
  engagementsOf,
  GROUPS,
  type Group,
  groupTotals,
  TOTALED_TYPES,
  type TotaledType,
} from './engagement-counts.js';

const MAX_BODY_BYTES = 256 * 1024;

/**
 * Returns the routes of engagement totals. The checks are, in order:
 * 1. the signed request: 401, 413, 415, 400 (see `SignedRequests`);
 * 2. that the application is approved: 403;
 * 3. the rate, over all applications: 429;
 * 4. that the content type is JSON: 415; the JSON of the body and its members: 400;
 * 5. the posts: 403 or 400;
 * 6. the time limit for finding the posts and their totals: 503.
 *
 * A post that is not in the archive is unavailable. A post of another author is forbidden. If the user has
 * revoked the token, all posts in the archive are forbidden. The response has the totals of all other posts,
 * and lists the unavailable and forbidden posts as errors. If no other post is left, the status is 403 if any
 * post is forbidden, and otherwise 400.
 */
export function engagementRoutes(context: ServiceContext): readonly Route[] {
  const rate = context.quotas.window('engagementRate');
  const family = { endpoint: 'engagement', errorBody: errorsErrorBody } as const;
  return routesOf(family, { '/insights/engagement/totals': { POST: totals } }, async () => {
    await context.signed.open();
    return { context, rate };
  });
}

interface EngagementParts {
  readonly context: ServiceContext;
  readonly rate: RateWindow;
}

const totals: Handler<EngagementParts> = async (incoming, { context, rate }) => {
  const { oauth, signed } = context;
  const { application, token, body } = await signed.check(incoming, {
    maxBodyBytes: MAX_BODY_BYTES,
    tokenSecret: (token, of) => oauth.grantWith(token, of)?.secret,
    tokenUnknown: 'Access token not found',
  });
  if (!application.approved) throw new HttpProblem(403, 'Your application id is not authorized.');
  checkRate([rate], requestsExceeded, { headers: () => perMinute(rate) });
  if (!/^application\/json *(;|$)/i.test(incoming.request.headers['content-type'] ?? ''))
    throw new HttpProblem(415, 'Unsupported Media Type: the Content-Type must be application/json');
  const request = readEngagementRequest(body, context.settings.limits);
  const grant = oauth.grantWith(String(token), application);
  const userId = grant?.revoked ? undefined : grant?.user.id;
  const { searchTimeoutMs } = context.settings;
  const limits = { signal: incoming.signal, deadline: new Deadline(searchTimeoutMs) };
  const late = (error: unknown): never => {
    if (!(error instanceof DeadlineError)) throw error;
    throw new HttpProblem(503, `Service Unavailable: not found within ${searchTimeoutMs / 1000} s`);
  };
  const found = await lookUp(request.ids, userId, context, limits).catch(late);
  const headers = perMinute(rate);
  if (found.posts.length === 0)
    return jsonResponse(found.forbidden.size > 0 ? 403 : 400, errorsOf(found), headers);
  const archive = await context.archive();
  const engagements = await engagementsOf(found.posts, archive, limits).catch(late);
  return jsonResponse(200, { ...groupTotals(request, engagements), ...errorsOf(found) }, headers);
};

interface LookedUp {
  readonly posts: readonly ArchivedPost[];
  readonly unavailable: readonly string[];
  /** The ids of posts by other authors, by author id. */
  readonly forbidden: ReadonlyMap<string, readonly string[]>;
}

async function lookUp(
  ids: readonly string[],
  userId: string | undefined,
  { archive, clock }: ServiceContext,
  limits: LookUpLimits,
): Promise<LookedUp> {
  const posts: ArchivedPost[] = [];
  const unavailable: string[] = [];
  const forbidden = new Map<string, string[]>();
  const opened = await archive();
  for (const id of ids) {
    const post = await findPost(opened, id, clock.now(), limits);
    const authorId = post?.activity.author.id;
    if (post === undefined || authorId === undefined) unavailable.push(id);
    else if (authorId === userId) posts.push(post);
    else getOrMake(forbidden, authorId, () => []).push(id);
  }
  return { posts, unavailable, forbidden };
}

function perMinute(rate: RateWindow): Record<string, string> {
  const { requests, perMs } = rate.rate;
  if (requests === Number.POSITIVE_INFINITY || perMs !== MINUTE) return {};
  return {
    'x-per-minute-limit': String(requests),
    'x-per-minute-remaining': String(rate.left()),
  };
}

/** Returns the errors of a response. A response may have errors and totals at the same time. */
function errorsOf({ unavailable, forbidden }: LookedUp): object {
  const errors = [...forbidden].map(
    ([author, ids]) => `Forbidden to access tweets for author id ${author}: ${ids.join(', ')}`,
  );
  if (unavailable.length > 0) errors.push(`${unavailable.length} Tweet ID(s) are unavailable`);
  return {
    ...(errors.length > 0 && { errors }),
    ...(unavailable.length > 0 && { unavailable_tweet_ids: unavailable }),
  };
}

/** Names that the response uses for other members, so that no grouping can have them. */
const RESERVED = ['errors', 'unavailable_tweet_ids'];
const FIELDS = ['tweet_ids', 'engagement_types', 'groupings'];
const LARGEST_ID = 2n ** 63n - 1n;

/** @throws HttpProblem 400 with all problems of the body, one per line. */
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
    // The client may already have rounded an id that it sends as a number.
    problems.push('tweet_ids must be strings: numbers lose digits of 64-bit ids');
  else if (wrong !== undefined) problems.push(`Not an id in tweet_ids: ${shown(wrong)}`);
  return [...new Set(ids as string[])];
}

function readList(value: unknown, problem: string, problems: string[]): readonly unknown[] {
  if (Array.isArray(value) && value.length > 0) return value;
  problems.push(problem);
  return [];
}

function isId(value: unknown): boolean {
  return typeof value === 'string' && /^[1-9]\d{0,18}$/.test(value) && BigInt(value) <= LARGEST_ID;
}

function readTypes(value: unknown, problems: string[]): readonly TotaledType[] {
  const supported = TOTALED_TYPES.join(', ');
  const problem = `engagement_types must be an array of one or more of ${supported}`;
  const types = new Set(readList(value, problem, problems) as TotaledType[]);
  for (const type of types)
    if (!TOTALED_TYPES.includes(type))
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

/** Returns a value for an error message, on one line and truncated. */
function shown(value: unknown): string {
  const text = typeof value === 'string' ? value : (JSON.stringify(value) ?? String(value));
  const line = text.replace(/[\p{Cc}\p{Zl}\p{Zp}]/gu, ' ');
  return line.length > 60 ? `${line.slice(0, 60)}...` : line;
}
