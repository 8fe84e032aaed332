import { DAY, formatTimestamp, parseTimestamp } from '../../src/base/time.js';
import type { AccountOptions } from '../../src/http/account.js';
import { account } from '../../src/http/account.js';
import { realTime, type Timing } from '../../src/http/timing.js';
import { json, type Received, type Reply, type ScriptedServer } from '../http/scripted-server.js';
import { impatient } from '../http/virtual-time.js';

export const PASSWORD = 'canary pa55/word"';
const NOW = Date.UTC(2024, 0, 31, 12, 0);

export interface TestPost {
  readonly at: number;
  readonly bytes: string;
}

/** Creates posts at irregular times in January 2024, newest first. Their ids are above 2^53. */
export function januaryPosts(count: number): TestPost[] {
  const from = Date.UTC(2024, 0, 1);
  return Array.from({ length: count }, (_, i) => {
    const at = from + Math.floor(((count - i - 0.5) / count) * 30 * DAY);
    const id = 1_740_000_000_000_000_001n + BigInt(count - i) * 4n;
    const date = new Date(at)
      .toUTCString()
      .replace(/^(\w+), (\d+) (\w+) (\d+) (\S+) GMT$/, '$1 $3 $2 $5 +0000 $4');
    const text = JSON.stringify(`post ${i} "é🎉" ],[{}`);
    return { at, bytes: `{"id":${id}, "id_str":"${id}","created_at":"${date}",  "text":${text}}` };
  });
}

export function searchPages(posts: readonly TestPost[], { gzip = false } = {}): Reply {
  return async (response, request) => {
    const { fromDate, toDate, maxResults, next } = request.params as Record<string, string>;
    const to = toDate === undefined ? NOW : parseTimestamp(toDate)!;
    const from = fromDate === undefined ? to - 30 * DAY : parseTimestamp(fromDate)!;
    const most = Number(maxResults ?? 100);
    const found = posts.filter(({ at }) => at >= from && at < to);
    const start = placeOf(request, next);
    if (start === undefined)
      return json({ error: { message: 'Not the same request' } })(response, request);
    const page = found.slice(start, start + most);
    const more = start + most < found.length;
    const rest = {
      ...(more ? { next: tokenOf(request, start + most) } : {}),
      requestParameters: {
        maxResults: most,
        fromDate: formatTimestamp(from),
        toDate: formatTimestamp(to),
      },
    };
    const body = `{ "results" : [ ${page.map(post => post.bytes).join(' , ')} ] , ${JSON.stringify(rest).slice(1)}`;
    return raw(body, gzip)(response, request);
  };
}

export function countPages(perPage: number, { order = 'ascending' } = {}): Reply {
  return (response, request) => {
    const { fromDate, toDate, bucket, next } = request.params as Record<string, string>;
    const to = toDate === undefined ? NOW : parseTimestamp(toDate)!;
    const from = fromDate === undefined ? to - 30 * DAY : parseTimestamp(fromDate)!;
    const length = { day: DAY, hour: DAY / 24, minute: DAY / 1440 }[bucket ?? 'hour']!;
    const all: { timePeriod: string; count: number }[] = [];
    for (let at = from; at < to; at += length)
      all.push({ timePeriod: formatTimestamp(at), count: (at / length) % 97 });
    if (order === 'descending') all.reverse();
    const start = placeOf(request, next) ?? 0;
    const results = all.slice(start, start + perPage);
    const totalCount = results.reduce((sum, { count }) => sum + count, 0);
    const more = start + perPage < all.length;
    return json({
      results,
      totalCount,
      ...(more ? { next: tokenOf(request, start + perPage) } : {}),
      requestParameters: {
        bucket: bucket ?? 'hour',
        fromDate: formatTimestamp(from),
        toDate: formatTimestamp(to),
      },
    })(response, request);
  };
}

export function raw(body: string, gzip = false): Reply {
  return async (response, request) => {
    if (!gzip) return response.end(body);
    const { gzipSync } = await import('node:zlib');
    response.setHeader('content-encoding', 'gzip');
    return void (request.method && response.end(gzipSync(body)));
  };
}

function tokenOf({ params }: Received, offset: number): string {
  const { next: _next, ...rest } = params;
  return Buffer.from(JSON.stringify([offset, asText(rest)])).toString('base64');
}

/**
 * Returns the offset of the page that a token requests. Returns undefined if the token is invalid,
 * because another parameter has changed.
 */
function placeOf({ params }: Received, next: string | undefined): number | undefined {
  if (next === undefined) return 0;
  const { next: _next, ...rest } = params;
  const [offset, other] = JSON.parse(Buffer.from(next, 'base64').toString());
  return JSON.stringify(other) === JSON.stringify(asText(rest)) ? offset : undefined;
}

function asText(params: Readonly<Record<string, unknown>>): Record<string, string> {
  return Object.fromEntries(Object.entries(params).map(([name, value]) => [name, String(value)]));
}

/**
 * Real time, as an object that no other account shares. Accounts with the same timing, name and origin share
 * their rate limits. The port of a server may be that of an earlier server in this process, whose accounts
 * had other limits.
 */
export function ownRealTime(): Timing {
  return { ...realTime };
}

/** Creates an account that has no rate limits and does not wait before retries. */
export function testAccount(server: ScriptedServer, options: AccountOptions = {}) {
  return account(
    {
      baseUrl: `${server.url}/base/`,
      account: 'acme corp',
      label: 'prod',
      email: 'me@acme.test',
      password: PASSWORD,
      timing: { ...impatient(), now: () => NOW },
      limits: { search: [] },
      timeouts: { silenceMs: 2_000 },
      ...options,
    },
    {},
  );
}
