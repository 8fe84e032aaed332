import type { AuthorizationError } from '../errors.js';
import type { Account } from '../http/account.js';
import { readText } from '../http/read-json.js';
import { serviceUrl } from '../http/service-url.js';
import { redact } from '../secret.js';
import { MINUTE } from '../time.js';
import type { EngagementType, Groupings, UserToken } from './engagement-request.js';
import { type EngagementResponse, parseEngagement, postProblemsOf } from './engagement-response.js';
import { signedCall } from './signed-call.js';

/** The maximum number of ids in a request. */
export const MAX_IDS = 250;

/** The parts of a request that are the same for every batch. */
export interface EngagementQuery {
  readonly url: URL;
  readonly user: UserToken;
  readonly types: readonly EngagementType[];
  readonly groupings: Groupings;
}

export interface BatchResponse extends EngagementResponse {
  /** The error if no post of the batch has totals. */
  readonly refused?: AuthorizationError | undefined;
}

/**
 * Totals of up to 250 posts. If the service refuses a request because of some of the posts, these
 * have no totals, and the others are requested again.
 *
 * @throws AuthorizationError If it refuses for any other reason.
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
  // Each repetition has fewer ids, because an error that names none of them is thrown.
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
  // The service may say what it was sent.
  const withoutSecrets = (problems: BatchResponse['problems']) =>
    problems.map(problem => ({
      ...problem,
      message: redact(problem.message),
    }));
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
      // Undocumented, but the service needs it.
      const requests = Number(response.headers['x-per-minute-limit']);
      if (Number.isSafeInteger(requests) && requests > 0)
        account.rateLimiter('engagement', url).learn({ requests, perMs: MINUTE });
      const parsed = parseEngagement(await readText(response), ids, groupings, response.url);
      return { ...parsed, problems: withoutSecrets(parsed.problems) };
    },
    (text, refused) => {
      const problems = postProblemsOf(text, ids);
      const isAboutPosts = refused.status === 403 || refused.status === 400;
      if (problems === undefined || !isAboutPosts) throw refused;
      return { totals: new Map(), problems: withoutSecrets(problems), refused };
    },
  );
}

export function engagementUrl(account: Account): URL {
  return serviceUrl(account, 'dataUrl', 'insights/engagement/totals', {
    purpose: 'engagement totals',
    needs: ['consumerKey', 'consumerSecret'],
  });
}

/** The given token, or that of the account's settings. */
export function userToken(account: Account, token: UserToken | undefined): UserToken {
  return (
    token ?? {
      token: account.need('accessToken', 'engagement totals, unless `token` comes from signIn()'),
      secret: account.need('accessTokenSecret', 'engagement totals'),
    }
  );
}
