import { MINUTE } from '../../base/time.js';
import type { ArchivedPost } from '../archive/archive.js';
import { findPost, type Limits } from '../archive/find-posts.js';
import type { ServiceContext } from '../context.js';
import { Deadline, DeadlineError } from '../deadline.js';
import { getOrMake } from '../get-or-make.js';
import { errorsErrorBody, HttpProblem } from '../http/http-problem.js';
import { checkRate, type RateWindow, requestsExceeded } from '../http/quotas.js';
import { type Handler, jsonResponse, type Route, routesOf } from '../http/router.js';
import { engagementsOf, engagementTotals } from './engagement-totals.js';
import { readEngagementRequest } from './read-engagement-request.js';

const MAX_BODY_BYTES = 256 * 1024;

/**
 * Engagement totals. The order of checks:
 * 1. the signed request: 401, 413, 415, 400 (see `SignedRequests`);
 * 2. that the application is approved: 403;
 * 3. the rate, over all applications: 429;
 * 4. the content type: 415; the body and its content: 400;
 * 5. the posts. A post outside the archive is unavailable; a post of another author is forbidden, and
 *    so is every post if the user has revoked the token. If any post is left, the response is 200 with
 *    the others as errors next to the totals; otherwise 403 if one is forbidden, else 400;
 * 6. the time that all of this takes: 503.
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
  return jsonResponse(
    200,
    { ...engagementTotals(request, engagements), ...errorsOf(found) },
    headers,
  );
};

interface LookedUp {
  readonly posts: readonly ArchivedPost[];
  readonly unavailable: readonly string[];
  /** Ids of posts by other authors, by author id. */
  readonly forbidden: ReadonlyMap<string, readonly string[]>;
}

async function lookUp(
  ids: readonly string[],
  userId: string | undefined,
  { archive, clock }: ServiceContext,
  limits: Limits,
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

/** The errors that stand next to the totals or replace them. */
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
