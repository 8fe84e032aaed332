import { DAY, FIRST_POST, floorTo, formatTimestamp, HOUR, MINUTE } from '../../base/time.js';
import type { Family } from '../../http/rate-limits.js';
import type { SettingName, UrlSettingName } from '../../http/settings.js';
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
  isNonEmptyText,
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

/** The families of checks. `--only` selects some of them. */
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

export interface CheckedEndpoint {
  readonly family: CheckFamily;
  readonly base: UrlSettingName;
  /**
   * The path relative to the base address. A name in braces, such as `{account}`, stands for the setting of
   * that name.
   */
  readonly path: string;
  readonly limits: Family;
  readonly kind?: string;
  /** The settings that the endpoint needs, in addition to the settings that `path` names in braces. */
  readonly needs: readonly SettingName[];
}

const LOGIN = ['email', 'password'] as const;
const SEARCH = { base: 'baseUrl', limits: 'search', needs: LOGIN } as const;
const STREAM = 'accounts/{account}/publishers/{publisher}';

export const CHECKED_ENDPOINTS = {
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

export interface CheckInput {
  /** The service's time in epoch milliseconds. */
  readonly now: number;
  readonly query: string;
  readonly seen: Seen;
}

/** The parameters of a request. They are sent in the query string of a GET, or in the JSON body of a POST. */
type Parameters = Readonly<Record<string, string | number>>;

interface CheckRow {
  readonly rule: string;
  readonly method?: 'GET' | 'POST';
  /** The credentials of the request. @default 'right' */
  readonly login?: 'right' | 'wrong' | 'none';
  /** Returns the parameters, or `undefined` to skip the check because earlier responses lack the data for it. */
  readonly parameters?: (input: CheckInput) => Parameters | undefined;
  /** The body of the request, instead of parameters. */
  readonly body?: string;
  readonly rest?: string;
  readonly headers?: Readonly<Record<string, string>>;
  /**
   * If set, sends this many requests at once in order to exceed a rate limit, and checks the first response
   * with the expected status. A check with `burst` runs only if the user asks for it.
   */
  readonly burst?: number;
  readonly maxPosts?: number;
  /** The expected status. @default 200 */
  readonly status?: number;
  readonly expects?: readonly Expectation[];
}

export interface Check extends CheckRow {
  readonly name: string;
  readonly endpoint: keyof typeof CHECKED_ENDPOINTS;
  readonly status: number;
}

/** A query for a word that no post contains, so that a search returns no posts. */
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
 * Creates a check with one invalid parameter. All other parameters are valid: the query matches no posts, and
 * the window is one hour.
 *
 * @param wrong The invalid parameter. If it is a date, a function that takes the time of the request.
 */
function refused(rule: string, wrong: Parameters | ((now: number) => Parameters)): CheckRow {
  const parameters = ({ now }: CheckInput): Parameters =>
    typeof wrong === 'function'
      ? { ...NO_POSTS, ...wrong(now) }
      : { ...hourBefore(now), ...NO_POSTS, ...wrong };
  return { rule, parameters, status: 422, expects: ERROR_BODY };
}

function unauthorized(rest = ''): CheckRow {
  return {
    rule: 'Without the email and password of a console login, a request is 401.',
    login: 'none',
    rest,
    status: 401,
    expects: [...ERROR_BODY, ASKS_FOR_BASIC],
  };
}

function checksOf(
  endpoint: Check['endpoint'],
  rows: Readonly<Record<string, CheckRow>>,
): readonly Check[] {
  return Object.entries(rows).map(([name, row]) => ({ status: 200, ...row, name, endpoint }));
}

/**
 * The checks, in the order in which they are sent. No check changes anything at the service. To return few
 * posts, each search asks for one hour, for a word that no post contains, or for at most `maxPosts` posts.
 */
export const CHECKS: readonly Check[] = [
  ...checksOf('posts', {
    'search without login': unauthorized(),
    'search with a wrong password': {
      rule: 'A wrong password is 401.',
      login: 'wrong',
      parameters: () => NO_POSTS,
      status: 401,
      expects: [...ERROR_BODY, ASKS_FOR_BASIC],
    },
    'search with bad parameters and without login': {
      rule: 'The login is checked before the parameters.',
      login: 'none',
      parameters: () => ({ maxResults: 1 }),
      status: 401,
    },
    'search with a bad body and without login': {
      rule: 'The login is checked before the body.',
      method: 'POST',
      login: 'none',
      body: '{',
      status: 401,
    },
    'a page of posts': {
      rule: 'A search answers with posts, newest first.',
      parameters: ONE_PAGE,
      maxPosts: 10,
      expects: [
        hasResults(10),
        NEWEST_FIRST,
        tagged(TAG),
        equals('requestParameters.maxResults', 10, '`requestParameters` repeats maxResults.'),
        ...ECHOES_LAST_30_DAYS,
      ],
    },
    'the next page of posts': {
      rule: 'The identical request with `next` is answered with the page after it.',
      parameters: input => {
        const next = memberOf(input.seen.get('a page of posts')?.json, 'next');
        return typeof next === 'string' ? { ...ONE_PAGE(input), next } : undefined;
      },
      maxPosts: 10,
      expects: [hasResults(10), NEWEST_FIRST, continues('a page of posts')],
    },
    'a search by POST that finds nothing': {
      rule: 'A search by POST is the same as by GET; without `next` a page is the last one.',
      method: 'POST',
      parameters: ({ now }) => ({ ...NO_POSTS, ...hourBefore(now) }),
      expects: [
        hasResults(0),
        member('next', 'nothing', value => value === undefined),
        equals('requestParameters.maxResults', 100, 'maxResults is 100 by default.'),
      ],
    },
    'the oldest minutes of 30day': {
      rule: '30day reaches back 31 days.',
      parameters: ({ now }) => ({
        ...NO_POSTS,
        ...dates(now - 31 * DAY + 5 * MINUTE, now - 31 * DAY + 65 * MINUTE),
      }),
      expects: [hasResults(0)],
    },
    'before the oldest minutes of 30day': refused('30day reaches back 31 days.', now =>
      dates(now - 31 * DAY - 5 * MINUTE, now - 31 * DAY + 60 * MINUTE),
    ),
    'a toDate in the future': refused('Dates in the future are refused.', now => ({
      toDate: formatTimestamp(now + 10 * MINUTE),
    })),
    'no query': {
      rule: '`query` is required.',
      parameters: ({ now }) => hourBefore(now),
      status: 422,
      expects: ERROR_BODY,
    },
    'a query of 2049 characters': refused('A query has at most 2048 characters.', {
      query: 'snow '.repeat(410).slice(0, 2049),
    }),
    'a query of negated terms': refused('A rule of negated terms alone is invalid.', {
      query: '-snow',
    }),
    'maxResults of 9': refused('maxResults is 10 to 500.', { maxResults: 9 }),
    'maxResults of 501': refused('maxResults is 10 to 500.', { maxResults: 501 }),
    'a date in another form': refused('Dates are YYYYMMDDHHMM.', () => ({
      fromDate: '2024-01-31',
    })),
    'fromDate after toDate': refused('fromDate is before toDate.', now =>
      dates(now - HOUR, now - 2 * HOUR),
    ),
    'a next of no response': refused('`next` is copied unmodified from a response.', {
      next: 'bm90LWEtbmV4dA==',
    }),
    'a body that is not JSON': {
      rule: 'Invalid JSON is 400.',
      method: 'POST',
      body: '{',
      status: 400,
      expects: ERROR_BODY,
    },
    'no body': {
      rule: 'A POST without JSON is 400.',
      method: 'POST',
      body: '',
      status: 400,
      expects: ERROR_BODY,
    },
    'an address that does not exist': {
      rule: 'A wrong address is 404.',
      rest: '.nothing',
      status: 404,
    },
  }),
  ...checksOf('counts', {
    'counts without login': unauthorized(),
    'counts by hour': {
      rule: 'Counts are by hour by default.',
      parameters: ({ now }) => ({ ...NO_POSTS, ...hourBefore(now) }),
      expects: [
        buckets('hour'),
        TOTALS,
        equals('requestParameters.bucket', 'hour', '`requestParameters` has the bucket.'),
      ],
    },
    'counts by minute': {
      rule: 'Counts are by day, hour or minute.',
      parameters: ({ now, query }) => ({ query, bucket: 'minute', ...hourBefore(now) }),
      expects: [
        buckets('minute'),
        TOTALS,
        equals('requestParameters.bucket', 'minute', '`requestParameters` has the bucket.'),
      ],
    },
    'a bucket of a week': refused('bucket is day, hour or minute.', { bucket: 'week' }),
  }),
  ...checksOf('allPosts', {
    'the first minute of the archive': {
      rule: 'fullarchive begins on 21 March 2006.',
      parameters: () => ({ ...NO_POSTS, ...dates(FIRST_POST, FIRST_POST + MINUTE) }),
      expects: [
        hasResults(0),
        equals(
          'requestParameters.fromDate',
          FIRST_MINUTE,
          '`requestParameters` repeats the dates.',
        ),
      ],
    },
    'before the first minute': refused('fullarchive begins on 21 March 2006.', () =>
      dates(FIRST_POST - MINUTE, FIRST_POST + MINUTE),
    ),
  }),
  ...checksOf('allCounts', {
    'counts of 62 days': {
      rule: 'A response has counts of at most 31 days, and `next` for the rest.',
      parameters: () => ({
        ...NO_POSTS,
        bucket: 'day',
        ...dates(FIRST_POST, FIRST_POST + 62 * DAY),
      }),
      expects: [buckets('day'), TOTALS, ...SPANS_31_DAYS],
    },
  }),
  ...checksOf('jobs', {
    'the list of jobs without login': unauthorized('.json'),
    'the list of jobs': {
      rule: 'The list has the jobs, and what was delivered in total.',
      rest: '.json',
      expects: [
        member('jobs', 'jobs, each with a status', isListOfJobs),
        ...['jobCount', 'jobDaysRun', 'activityCount'].map(name =>
          member(`delivered.${name}`, 'a whole number', isWhole),
        ),
      ],
    },
    'a job that does not exist': {
      rule: 'An unknown job is 404.',
      rest: '/0000000000.json',
      status: 404,
    },
  }),
  ...checksOf('rules', {
    'the list of rules without login': unauthorized('.json'),
    'the list of rules': {
      rule: 'Each rule has value, tag (null if it has none) and id.',
      rest: '.json',
      expects: [
        member('rules', 'an array of {value, tag, id}', isListOfRules),
        member('sent', 'a time', isNonEmptyText),
        header(
          'content-encoding',
          /^gzip$/i,
          'gzip',
          'Lists of rules are compressed where gzip is accepted.',
        ),
      ],
    },
    'the list of rules without gzip': {
      rule: 'Responses are not compressed where gzip is not accepted.',
      rest: '.json',
      headers: IDENTITY,
      expects: [header('content-encoding', /^(identity)?$/i, 'none')],
    },
    'rules by a body of another form': {
      rule: 'A body of another form is 400, with the form in the message.',
      method: 'POST',
      rest: '.json?_method=get',
      body: '{"ids":[1]}',
      status: 400,
      expects: [...ERROR_BODY, message(/rule_ids/, 'a string with rule_ids')],
    },
  }),
  ...checksOf('replay', {
    // The service must refuse each of these requests, so no stream is opened.
    'a replay without login': unauthorized(),
    'a replay without gzip': {
      rule: 'A stream without `Accept-Encoding: gzip` is 406.',
      headers: IDENTITY,
      parameters: ({ now }) => dates(now - 3 * HOUR, now - 2 * HOUR),
      status: 406,
      expects: ERROR_BODY,
    },
    'a replay of the last minutes': {
      rule: 'The toDate of a replay is at least 30 minutes before now.',
      parameters: ({ now }) => dates(now - HOUR, now - 20 * MINUTE),
      status: 406,
      expects: [...ERROR_BODY, message(/toDate/, 'a string with toDate')],
    },
  }),
  ...checksOf('compliance', {
    'the compliance stream without login': unauthorized(),
    'the compliance stream without gzip': {
      rule: 'A stream without `Accept-Encoding: gzip` is 406.',
      headers: IDENTITY,
      parameters: () => ({ partition: 1 }),
      status: 406,
      expects: ERROR_BODY,
    },
  }),
  ...checksOf('usage', {
    'usage without login': unauthorized(),
    usage: {
      rule: 'Without dates, usage is by month, for this month and the two before it.',
      expects: [
        equals('bucket', 'month'),
        member('account.name', 'a string', isNonEmptyText),
        member('publishers', 'an array', Array.isArray),
        member('fromDate', 'the first minute two months before this one', (value, { now }) => {
          const date = new Date(now);
          const first = Date.UTC(date.getUTCFullYear(), date.getUTCMonth() - 2);
          return value === formatTimestamp(first);
        }),
      ],
    },
  }),
  ...checksOf('totals', {
    'engagement totals without a signature': {
      rule: 'Errors of engagement totals are {"errors":[…]}, and requests are signed.',
      method: 'POST',
      login: 'none',
      body: '{"tweet_ids":["1"],"engagement_types":["favorites"],"groupings":{"a":{"group_by":["tweet.id"]}}}',
      status: 401,
      expects: [
        member(
          'errors',
          'an array of strings',
          value => Array.isArray(value) && value.length > 0 && value.every(isNonEmptyText),
        ),
      ],
    },
  }),
  ...checksOf('posts', {
    // This check comes last, because it uses up the rate limit.
    'more requests than a second allows': {
      rule: 'More than 20 requests in a second are refused with 429, even if their parameters are wrong.',
      parameters: () => ({ maxResults: 1 }),
      burst: 25,
      status: 429,
      expects: [
        ...ERROR_BODY,
        header(
          'retry-after',
          /^\d+$/,
          'seconds',
          'A 429 says after how many seconds to try again.',
        ),
      ],
    },
  }),
];

const STATUSES = [
  ...['open', 'opened', 'estimating', 'quoted', 'accepted', 'rejected'],
  ...['running', 'completed', 'delivered', 'failed'],
];

function isListOfJobs(value: unknown): boolean {
  return (
    Array.isArray(value) &&
    value.every(
      job =>
        isNonEmptyText(memberOf(job, 'title')) &&
        STATUSES.includes(String(memberOf(job, 'status'))),
    )
  );
}

function isListOfRules(value: unknown): boolean {
  return (
    Array.isArray(value) &&
    value.every(rule => {
      const tag = memberOf(rule, 'tag');
      const id = /^\d+$/.test(String(memberOf(rule, 'id')));
      return isNonEmptyText(memberOf(rule, 'value')) && (tag === null || isNonEmptyText(tag)) && id;
    })
  );
}
