import type { Family } from '../http/rate-limits.js';
import type { SettingName, UrlSettingName } from '../http/settings.js';
import { DAY, FIRST_POST, floorTo, formatTimestamp, HOUR, MINUTE } from '../time.js';
import {
  ASKS_FOR_BASIC,
  buckets,
  continues,
  ECHOES_LAST_30_DAYS,
  ERROR_BODY,
  type Expectation,
  equals,
  hasResults,
  header,
  isText,
  isWhole,
  member,
  memberOf,
  message,
  NEWEST_FIRST,
  type Seen,
  SPANS_31_DAYS,
  TOTALS,
  tagged,
} from './expectations.js';

/** The families of checks, which can be chosen. */
export const CHECK_FAMILIES = [
  'search',
  'fullarchive',
  'jobs',
  'rules',
  'replay',
  'compliance',
  'usage',
  'engagement',
] as const;
export type CheckFamily = (typeof CHECK_FAMILIES)[number];

/** Where the requests of checks go. */
export interface CheckedEndpoint {
  readonly family: CheckFamily;
  readonly base: UrlSettingName;
  /** Below the base address; `{account}` stands for that setting. */
  readonly path: string;
  readonly limits: Family;
  readonly kind?: string;
  /** Settings besides those of the path. */
  readonly needs: readonly SettingName[];
}

const LOGIN = ['email', 'password'] as const;
const SEARCH = { base: 'baseUrl', limits: 'search', needs: LOGIN } as const;
const STREAM = 'accounts/{account}/publishers/{publisher}';

export const ENDPOINTS = {
  posts: { ...SEARCH, family: 'search', path: 'search/30day/accounts/{account}/{label}.json' },
  counts: {
    ...SEARCH,
    family: 'search',
    path: 'search/30day/accounts/{account}/{label}/counts.json',
  },
  allPosts: {
    ...SEARCH,
    family: 'fullarchive',
    path: 'search/fullarchive/accounts/{account}/{label}.json',
  },
  allCounts: {
    ...SEARCH,
    family: 'fullarchive',
    path: 'search/fullarchive/accounts/{account}/{label}/counts.json',
  },
  jobs: {
    family: 'jobs',
    base: 'historicalUrl',
    path: `historical/{rulestream}/${STREAM}/jobs`,
    limits: 'jobReads',
    needs: LOGIN,
  },
  rules: {
    family: 'rules',
    base: 'rulesUrl',
    path: `rules/{rulestream}-replay/${STREAM}/{streamLabel}`,
    limits: 'replayRules',
    kind: 'change',
    needs: LOGIN,
  },
  replay: {
    family: 'replay',
    base: 'replayStreamUrl',
    path: `replay/{rulestream}/${STREAM}/{streamLabel}.json`,
    limits: 'replay',
    needs: LOGIN,
  },
  compliance: {
    family: 'compliance',
    base: 'complianceStreamUrl',
    path: `${STREAM}/streams/compliance/{complianceLabel}.json`,
    limits: 'compliance',
    needs: LOGIN,
  },
  usage: {
    family: 'usage',
    base: 'accountApiUrl',
    path: 'accounts/{account}/usage.json',
    limits: 'usage',
    needs: LOGIN,
  },
  totals: {
    family: 'engagement',
    base: 'dataUrl',
    path: 'insights/engagement/totals',
    limits: 'engagement',
    needs: [],
  },
} as const satisfies Readonly<Record<string, CheckedEndpoint>>;

/** What a request is made from. */
export interface CheckInput {
  /** The service's time, epoch milliseconds. */
  readonly now: number;
  /** A query that finds posts. */
  readonly query: string;
  readonly seen: Seen;
}

/** The parameters of a request: of its query with GET, of its JSON body with POST. */
type Parameters = Readonly<Record<string, string | number>>;

/** A request and what is expected of its response. */
export interface Check {
  readonly name: string;
  readonly endpoint: keyof typeof ENDPOINTS;
  /** The rule of the service in words. */
  readonly rule: string;
  readonly method?: 'GET' | 'POST';
  /** @default 'right' */
  readonly login?: 'right' | 'wrong' | 'none';
  /** `undefined` if an earlier response has nothing to go on with: the check is left out. */
  readonly parameters?: (input: CheckInput) => Parameters | undefined;
  /** In place of the parameters. */
  readonly body?: string;
  /** What follows the path. */
  readonly rest?: string;
  readonly headers?: Readonly<Record<string, string>>;
  /** Sends this many requests at once, past the rate: the first response with the status counts. Only where it is asked for. */
  readonly burst?: number;
  /** The most posts that the response may have. */
  readonly maxPosts?: number;
  readonly status: number;
  readonly expects?: readonly Expectation[];
}

/** A word that no post has, so that a search costs no posts. */
const NO_POSTS = { query: 'zqxjvkwmillraceconformance' };
const IDENTITY = { 'accept-encoding': 'identity' };
const TAG = 'conformance';
const ONE_PAGE = ({ query }: CheckInput) => ({ query, tag: TAG, maxResults: 10 });
const dates = (from: number, to: number) => ({
  fromDate: formatTimestamp(from),
  toDate: formatTimestamp(to),
});
const hourBefore = (now: number) => dates(floorTo(HOUR, now) - 2 * HOUR, floorTo(HOUR, now) - HOUR);
const FIRST_MINUTE = formatTimestamp(FIRST_POST);

/**
 * A parameter that is refused: all others are right, and the window is one hour.
 *
 * @param wrong The parameter, by the time of the request where it is a date.
 */
function refused(
  name: string,
  endpoint: Check['endpoint'],
  rule: string,
  wrong: Parameters | ((now: number) => Parameters),
): Check {
  const parameters = ({ now }: CheckInput): Parameters =>
    typeof wrong === 'function'
      ? { ...NO_POSTS, ...wrong(now) }
      : { ...hourBefore(now), ...NO_POSTS, ...wrong };
  return { name, endpoint, rule, parameters, status: 422, expects: ERROR_BODY };
}

/** The refusal that all endpoints with HTTP Basic share. */
function unauthorized(name: string, endpoint: Check['endpoint'], rest = ''): Check {
  return {
    name: `${name} without login`,
    endpoint,
    rule: 'Without the email and password of a console login, a request is 401.',
    login: 'none',
    rest,
    status: 401,
    expects: [...ERROR_BODY, ASKS_FOR_BASIC],
  };
}

/**
 * The checks, in the order in which they are sent. None of them adds, changes or creates anything; a search of them is for one
 * hour, or for a word that no post has, unless it says how many posts it may get.
 */
export const CHECKS: readonly Check[] = [
  // Search: login
  unauthorized('search', 'posts'),
  {
    name: 'search with a wrong password',
    endpoint: 'posts',
    rule: 'A wrong password is 401.',
    login: 'wrong',
    parameters: () => NO_POSTS,
    status: 401,
    expects: [...ERROR_BODY, ASKS_FOR_BASIC],
  },
  {
    name: 'search with bad parameters and without login',
    endpoint: 'posts',
    rule: 'The login is checked before the parameters.',
    login: 'none',
    parameters: () => ({ maxResults: 1 }),
    status: 401,
  },
  {
    name: 'search with a bad body and without login',
    endpoint: 'posts',
    rule: 'The login is checked before the body.',
    method: 'POST',
    login: 'none',
    body: '{',
    status: 401,
  },
  // Search: posts
  {
    name: 'a page of posts',
    endpoint: 'posts',
    rule: 'A search answers with posts, newest first.',
    parameters: ONE_PAGE,
    maxPosts: 10,
    status: 200,
    expects: [
      hasResults(10),
      NEWEST_FIRST,
      tagged(TAG),
      equals('requestParameters.maxResults', 10, '`requestParameters` repeats maxResults.'),
      ...ECHOES_LAST_30_DAYS,
    ],
  },
  {
    name: 'the next page of posts',
    endpoint: 'posts',
    rule: 'The identical request with `next` is answered with the page after it.',
    parameters: input => {
      const next = memberOf(input.seen.get('a page of posts')?.json, 'next');
      return typeof next === 'string' ? { ...ONE_PAGE(input), next } : undefined;
    },
    maxPosts: 10,
    status: 200,
    expects: [hasResults(10), NEWEST_FIRST, continues('a page of posts')],
  },
  {
    name: 'a search by POST that finds nothing',
    endpoint: 'posts',
    rule: 'A search by POST is the same as by GET; without `next` a page is the last one.',
    method: 'POST',
    parameters: ({ now }) => ({ ...NO_POSTS, ...hourBefore(now) }),
    status: 200,
    expects: [
      hasResults(0),
      member('next', 'nothing', value => value === undefined),
      equals('requestParameters.maxResults', 100, 'maxResults is 100 by default.'),
    ],
  },
  {
    name: 'the oldest minutes of 30day',
    endpoint: 'posts',
    rule: '30day reaches back 31 days.',
    parameters: ({ now }) => ({
      ...NO_POSTS,
      ...dates(now - 31 * DAY + 5 * MINUTE, now - 31 * DAY + 65 * MINUTE),
    }),
    status: 200,
    expects: [hasResults(0)],
  },
  refused('before the oldest minutes of 30day', 'posts', '30day reaches back 31 days.', now =>
    dates(now - 31 * DAY - 5 * MINUTE, now - 31 * DAY + 60 * MINUTE),
  ),
  refused('a toDate in the future', 'posts', 'Dates in the future are refused.', now => ({
    toDate: formatTimestamp(now + 10 * MINUTE),
  })),
  // Search: what is refused
  {
    name: 'no query',
    endpoint: 'posts',
    rule: '`query` is required.',
    parameters: ({ now }) => hourBefore(now),
    status: 422,
    expects: ERROR_BODY,
  },
  refused('a query of 2049 characters', 'posts', 'A query has at most 2048 characters.', {
    query: 'snow '.repeat(410).slice(0, 2049),
  }),
  refused('a query of negated terms', 'posts', 'A rule of negated terms alone is invalid.', {
    query: '-snow',
  }),
  refused('maxResults of 9', 'posts', 'maxResults is 10 to 500.', { maxResults: 9 }),
  refused('maxResults of 501', 'posts', 'maxResults is 10 to 500.', { maxResults: 501 }),
  refused('a date in another form', 'posts', 'Dates are YYYYMMDDHHMM.', () => ({
    fromDate: '2024-01-31',
  })),
  refused('fromDate after toDate', 'posts', 'fromDate is before toDate.', now =>
    dates(now - HOUR, now - 2 * HOUR),
  ),
  refused('a next of no response', 'posts', '`next` is copied unmodified from a response.', {
    next: 'bm90LWEtbmV4dA==',
  }),
  {
    name: 'a body that is not JSON',
    endpoint: 'posts',
    rule: 'Invalid JSON is 400.',
    method: 'POST',
    body: '{',
    status: 400,
    expects: ERROR_BODY,
  },
  {
    name: 'no body',
    endpoint: 'posts',
    rule: 'A POST without JSON is 400.',
    method: 'POST',
    body: '',
    status: 400,
    expects: ERROR_BODY,
  },
  {
    name: 'an address that does not exist',
    endpoint: 'posts',
    rule: 'A wrong address is 404.',
    rest: '.nothing',
    status: 404,
  },
  // Counts
  unauthorized('counts', 'counts'),
  {
    name: 'counts by hour',
    endpoint: 'counts',
    rule: 'Counts are by hour by default.',
    parameters: ({ now }) => ({ ...NO_POSTS, ...hourBefore(now) }),
    status: 200,
    expects: [
      buckets('hour'),
      TOTALS,
      equals('requestParameters.bucket', 'hour', '`requestParameters` has the bucket.'),
    ],
  },
  {
    name: 'counts by minute',
    endpoint: 'counts',
    rule: 'Counts are by day, hour or minute.',
    parameters: ({ now, query }) => ({ query, bucket: 'minute', ...hourBefore(now) }),
    status: 200,
    expects: [
      buckets('minute'),
      TOTALS,
      equals('requestParameters.bucket', 'minute', '`requestParameters` has the bucket.'),
    ],
  },
  refused('a bucket of a week', 'counts', 'bucket is day, hour or minute.', { bucket: 'week' }),
  // The full archive
  {
    name: 'the first minute of the archive',
    endpoint: 'allPosts',
    rule: 'fullarchive begins on 21 March 2006.',
    parameters: () => ({ ...NO_POSTS, ...dates(FIRST_POST, FIRST_POST + MINUTE) }),
    status: 200,
    expects: [
      hasResults(0),
      equals('requestParameters.fromDate', FIRST_MINUTE, '`requestParameters` repeats the dates.'),
    ],
  },
  refused('before the first minute', 'allPosts', 'fullarchive begins on 21 March 2006.', () =>
    dates(FIRST_POST - MINUTE, FIRST_POST + MINUTE),
  ),
  {
    name: 'counts of 62 days',
    endpoint: 'allCounts',
    rule: 'A response has counts of at most 31 days, and `next` for the rest.',
    parameters: () => ({
      ...NO_POSTS,
      bucket: 'day',
      ...dates(FIRST_POST, FIRST_POST + 62 * DAY),
    }),
    status: 200,
    expects: [buckets('day'), TOTALS, ...SPANS_31_DAYS],
  },
  // Jobs
  unauthorized('the list of jobs', 'jobs', '.json'),
  {
    name: 'the list of jobs',
    endpoint: 'jobs',
    rule: 'The list has the jobs, and what was delivered in total.',
    rest: '.json',
    status: 200,
    expects: [
      member('jobs', 'jobs, each with a status', isListOfJobs),
      ...['jobCount', 'jobDaysRun', 'activityCount'].map(name =>
        member(`delivered.${name}`, 'a whole number', isWhole),
      ),
    ],
  },
  {
    name: 'a job that does not exist',
    endpoint: 'jobs',
    rule: 'An unknown job is 404.',
    rest: '/0000000000.json',
    status: 404,
  },
  // Rules of the replay stream
  unauthorized('the list of rules', 'rules', '.json'),
  {
    name: 'the list of rules',
    endpoint: 'rules',
    rule: 'Each rule has value, tag (null if it has none) and id.',
    rest: '.json',
    status: 200,
    expects: [
      member('rules', 'an array of {value, tag, id}', isListOfRules),
      member('sent', 'a time', isText),
      header(
        'content-encoding',
        /^gzip$/i,
        'gzip',
        'Lists of rules are compressed where gzip is accepted.',
      ),
    ],
  },
  {
    name: 'the list of rules without gzip',
    endpoint: 'rules',
    rule: 'Responses are not compressed where gzip is not accepted.',
    rest: '.json',
    headers: IDENTITY,
    status: 200,
    expects: [header('content-encoding', /^(identity)?$/i, 'none')],
  },
  {
    name: 'rules by a body of another form',
    endpoint: 'rules',
    rule: 'A body of another form is 400, with the form in the message.',
    method: 'POST',
    rest: '.json?_method=get',
    body: '{"ids":[1]}',
    status: 400,
    expects: [...ERROR_BODY, message(/rule_ids/, 'a text with rule_ids')],
  },
  // Streams, of which none is opened
  unauthorized('a replay', 'replay'),
  {
    name: 'a replay without gzip',
    endpoint: 'replay',
    rule: 'A stream without `Accept-Encoding: gzip` is 406.',
    headers: IDENTITY,
    parameters: ({ now }) => dates(now - 3 * HOUR, now - 2 * HOUR),
    status: 406,
    expects: ERROR_BODY,
  },
  {
    name: 'a replay of the last minutes',
    endpoint: 'replay',
    rule: 'The toDate of a replay is at least 30 minutes before now.',
    parameters: ({ now }) => dates(now - HOUR, now - 20 * MINUTE),
    status: 406,
    expects: [...ERROR_BODY, message(/toDate/, 'a text with toDate')],
  },
  unauthorized('the compliance stream', 'compliance'),
  {
    name: 'the compliance stream without gzip',
    endpoint: 'compliance',
    rule: 'A stream without `Accept-Encoding: gzip` is 406.',
    headers: IDENTITY,
    parameters: () => ({ partition: 1 }),
    status: 406,
    expects: ERROR_BODY,
  },
  // Usage
  unauthorized('usage', 'usage'),
  {
    name: 'usage',
    endpoint: 'usage',
    rule: 'Without dates, usage is by month, for this month and the two before it.',
    status: 200,
    expects: [
      equals('bucket', 'month'),
      member('account.name', 'a text', isText),
      member('publishers', 'an array', Array.isArray),
      member('fromDate', 'the first minute two months before this one', (value, { now }) => {
        const date = new Date(now);
        const first = Date.UTC(date.getUTCFullYear(), date.getUTCMonth() - 2);
        return value === formatTimestamp(first);
      }),
    ],
  },
  // Engagement totals
  {
    name: 'engagement totals without a signature',
    endpoint: 'totals',
    rule: 'Errors of engagement totals are {"errors":[…]}, and requests are signed.',
    method: 'POST',
    login: 'none',
    body: '{"tweet_ids":["1"],"engagement_types":["favorites"],"groupings":{"a":{"group_by":["tweet.id"]}}}',
    status: 401,
    expects: [
      member(
        'errors',
        'an array of texts',
        value => Array.isArray(value) && value.length > 0 && value.every(isText),
      ),
    ],
  },
  // Rates
  {
    name: 'more requests than a second allows',
    endpoint: 'posts',
    rule: 'More than 20 requests in a second are 429, which is checked before the parameters.',
    parameters: () => ({ maxResults: 1 }),
    burst: 25,
    status: 429,
    expects: [
      ...ERROR_BODY,
      header('retry-after', /^\d+$/, 'seconds', 'A 429 says after how many seconds to try again.'),
    ],
  },
];

const STATUSES = [
  ...['open', 'opened', 'estimating', 'quoted', 'accepted', 'rejected'],
  ...['running', 'completed', 'delivered', 'failed'],
];

function isListOfJobs(value: unknown): boolean {
  return (
    Array.isArray(value) &&
    value.every(
      job => isText(memberOf(job, 'title')) && STATUSES.includes(String(memberOf(job, 'status'))),
    )
  );
}

function isListOfRules(value: unknown): boolean {
  return (
    Array.isArray(value) &&
    value.every(rule => {
      const tag = memberOf(rule, 'tag');
      const id = /^\d+$/.test(String(memberOf(rule, 'id')));
      return isText(memberOf(rule, 'value')) && (tag === null || isText(tag)) && id;
    })
  );
}
