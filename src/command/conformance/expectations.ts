import { isRecord } from '../../base/record.js';
import { redact } from '../../base/secret.js';
import { DAY, floorTo, formatTimestamp, HOUR, MINUTE, parseTimestamp } from '../../base/time.js';
import { Activity } from '../../post/activity.js';

export interface Observed {
  readonly status: number;
  readonly headers: Readonly<Record<string, string | undefined>>;
  readonly text: string;
  /** The body, parsed so that large ids keep all digits. `undefined` if the body is not JSON. */
  readonly json: unknown;
  readonly now: number;
}

/** The responses to earlier checks, by the name of the check. */
export type Seen = ReadonlyMap<string, Observed>;

export interface Mismatch {
  readonly what: string;
  readonly expected: string;
  readonly got: string;
  /** The rule of the service that the response breaks, in words. Absent if it is the rule of the check. */
  readonly rule?: string | undefined;
}

/**
 * An expectation about a response, in addition to its status. Returns a mismatch if the response does not
 * meet it.
 */
export type Expectation = (observed: Observed, seen: Seen) => Mismatch | undefined;

export function memberOf(json: unknown, path: string): unknown {
  let value = json;
  for (const name of path.split('.'))
    value = isRecord(value) ? Reflect.get(value, name) : undefined;
  return value;
}

export function inJson(value: unknown): string {
  const text = redact(value === undefined ? 'nothing' : (JSON.stringify(value) ?? String(value)));
  return text.length > 80 ? `${text.slice(0, 79)}…` : text;
}

export function header(
  name: string,
  pattern: RegExp,
  expected: string,
  rule?: string,
): Expectation {
  return ({ headers }) =>
    pattern.test(headers[name] ?? '')
      ? undefined
      : { what: `header ${name}`, expected, got: inJson(headers[name]), rule };
}

export const JSON_TYPE = header(
  'content-type',
  /^application\/json\b/i,
  'application/json',
  'Responses are JSON.',
);

export const ASKS_FOR_BASIC = header(
  'www-authenticate',
  /^Basic\b/i,
  'Basic',
  'A 401 asks for HTTP Basic.',
);

export function member(
  path: string,
  expected: string,
  accepts: (value: unknown, observed: Observed) => boolean,
  rule?: string,
): Expectation {
  return observed => {
    const value = memberOf(observed.json, path);
    if (accepts(value, observed)) return undefined;
    return { what: `body ${path}`, expected, got: inJson(value), rule };
  };
}

export function equals(path: string, wanted: string | number, rule?: string): Expectation {
  return member(path, inJson(wanted), value => value === wanted, rule);
}

export const isNonEmptyText = (value: unknown): boolean =>
  typeof value === 'string' && value !== '';
export const isWhole = (value: unknown): boolean => Number.isSafeInteger(value);

export const ERROR_BODY: readonly Expectation[] = [
  member('error.message', 'a string', isNonEmptyText, 'An error is {"error":{"message","sent"}}.'),
  member(
    'error.sent',
    'an ISO 8601 time',
    value => typeof value === 'string' && !Number.isNaN(Date.parse(value)),
    'An error is {"error":{"message","sent"}}.',
  ),
];

/**
 * Expects `error.message` of the body to match the pattern. A mismatch shows `expected`, which describes such
 * a message.
 */
export function message(pattern: RegExp, expected: string): Expectation {
  return member(
    'error.message',
    expected,
    value => typeof value === 'string' && pattern.test(value),
    'The message names what is wrong.',
  );
}

const DEFAULT_WINDOW = 'Without dates, the 30 days before the request are searched.';

/** Expects the default dates in a response to a request without dates: the 30 days before the request. */
export const ECHOES_LAST_30_DAYS: readonly Expectation[] = [
  member(
    'requestParameters.toDate',
    'the current minute',
    (value, { now }) => Math.abs((dateOf(value) ?? 0) - now) <= 3 * MINUTE,
    DEFAULT_WINDOW,
  ),
  ({ json }) => {
    const to = dateOf(memberOf(json, 'requestParameters.toDate'));
    const from = memberOf(json, 'requestParameters.fromDate');
    if (to === undefined || dateOf(from) === to - 30 * DAY) return undefined;
    return {
      what: 'body requestParameters.fromDate',
      expected: formatTimestamp(to - 30 * DAY),
      got: inJson(from),
      rule: DEFAULT_WINDOW,
    };
  },
];

function dateOf(value: unknown): number | undefined {
  return typeof value === 'string' ? parseTimestamp(value) : undefined;
}

/** Returns the posts in a response. Their members may be missing or invalid. */
function postsOf({ json }: Observed): readonly Activity[] {
  const results = memberOf(json, 'results');
  return Array.isArray(results)
    ? results.filter(isRecord).map(post => new Activity(Buffer.from(JSON.stringify(post))))
    : [];
}

function postedAt(post: Activity | undefined): number | undefined {
  try {
    return post?.postedAt.getTime();
  } catch {
    return undefined;
  }
}

export function hasResults(max: number): Expectation {
  return ({ json }) => {
    const results = memberOf(json, 'results');
    const count = Array.isArray(results) ? results.length : undefined;
    if (count !== undefined && count <= max) return undefined;
    const got = count === undefined ? inJson(results) : `${count} results`;
    const rule = 'A response has at most maxResults posts in `results`.';
    return { what: 'body results', expected: `an array of at most ${max}`, got, rule };
  };
}

export const NEWEST_FIRST: Expectation = observed => {
  const times = postsOf(observed).map(postedAt);
  const wrong = times.findIndex((time, i) => i > 0 && !(Number(time) <= Number(times[i - 1])));
  if (wrong === -1) return undefined;
  const at = (index: number) => {
    const time = times[index];
    return time === undefined ? 'no time' : new Date(time).toISOString();
  };
  return {
    what: `body results[${wrong}]`,
    expected: `a post that is not newer than ${at(wrong - 1)}`,
    got: at(wrong),
    rule: 'Posts come newest first.',
  };
};

export function tagged(tag: string): Expectation {
  return observed => {
    const posts = postsOf(observed);
    const wrong = posts.findIndex(post => !post.tags.includes(tag));
    if (wrong === -1) return undefined;
    return {
      what: `body results[${wrong}] matching_rules`,
      expected: `the tag ${inJson(tag)}`,
      got: inJson(posts[wrong]?.matchingRules),
      rule: 'The tag of the request is in `matching_rules` of each post.',
    };
  };
}

/** Expects that the page continues the page of an earlier check. */
export function continues(name: string): Expectation {
  return (observed, seen) => {
    const before = seen.get(name);
    const last = before && postedAt(postsOf(before).at(-1));
    const first = postedAt(postsOf(observed)[0]);
    if (last === undefined || first === undefined || first <= last) return undefined;
    return {
      what: 'body results[0]',
      expected: `a post that is not newer than ${new Date(last).toISOString()}`,
      got: new Date(first).toISOString(),
      rule: 'The page of `next` continues where the previous page ended.',
    };
  };
}

interface Bucket {
  readonly at: number | undefined;
  readonly count: unknown;
}

function bucketsOf({ json }: Observed): readonly Bucket[] {
  const results = memberOf(json, 'results');
  return Array.isArray(results)
    ? results.map(bucket => ({
        at: dateOf(memberOf(bucket, 'timePeriod')),
        count: memberOf(bucket, 'count'),
      }))
    : [];
}

const BUCKET_MS = { day: DAY, hour: HOUR, minute: MINUTE };

/** Expects counts for consecutive days, hours or minutes, in ascending order and without gaps. */
export function buckets(length: keyof typeof BUCKET_MS): Expectation {
  const step = BUCKET_MS[length];
  return observed => {
    const all = bucketsOf(observed);
    const rule = `Counts are {"timePeriod","count"} for each ${length}, in ascending order.`;
    if (all.length === 0)
      return {
        what: 'body results',
        expected: 'buckets',
        got: inJson(memberOf(observed.json, 'results')),
        rule,
      };
    const wrong = all.findIndex(
      ({ at, count }, i) =>
        at === undefined ||
        !isWhole(count) ||
        floorTo(step, at) !== at ||
        (i > 0 && at !== Number(all[i - 1]?.at) + step),
    );
    if (wrong === -1) return undefined;
    const before = all[wrong - 1]?.at;
    const expected = `a whole count of ${before === undefined ? `a whole ${length}` : formatTimestamp(before + step)}`;
    const { results } = observed.json as { readonly results: readonly unknown[] };
    return { what: `body results[${wrong}]`, expected, got: inJson(results[wrong]), rule };
  };
}

export const TOTALS: Expectation = observed => {
  const sum = bucketsOf(observed).reduce((total, { count }) => total + Number(count), 0);
  const total = memberOf(observed.json, 'totalCount');
  if (total === sum) return undefined;
  const rule = '`totalCount` is the sum of the counts of the page.';
  return { what: 'body totalCount', expected: inJson(sum), got: inJson(total), rule };
};

/** Expects counts for at most 31 days, and a `next` token to request the rest. */
export const SPANS_31_DAYS: readonly Expectation[] = [
  observed => {
    const times = bucketsOf(observed).flatMap(({ at }) => at ?? []);
    const days = times.length === 0 ? 0 : (Math.max(...times) - Math.min(...times)) / DAY + 1;
    if (days <= 31) return undefined;
    return { what: 'body results', expected: 'at most 31 days', got: `${days} days` };
  },
  member('next', 'a string', isNonEmptyText),
];
