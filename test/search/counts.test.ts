import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { DataError, HttpError, IncompleteError, OptionError } from '../../src/base/errors.js';
import { formatTimestamp, HOUR } from '../../src/base/time.js';
import type { Cursor } from '../../src/flow/flow.js';
import { pipeline } from '../../src/flow/pipeline.js';
import { Progress } from '../../src/flow/progress.js';
import { type CountBucket, type CountsOptions, counts } from '../../src/search/counts.js';
import { collect } from '../../src/sinks/collect.js';
import { cut, reset, ScriptedServer, status } from '../http/scripted-server.js';
import { countPages, raw, testAccount } from './paged-service.js';

const JANUARY = { fromDate: '202401010000', toDate: '202401310000' } as const;
const SNOW: CountsOptions = { query: 'snow', product: 'fullarchive', ...JANUARY };
const ECHO = { requestParameters: { bucket: 'hour', ...JANUARY } };

let server: ScriptedServer;

beforeEach(async () => {
  server = await new ScriptedServer().start();
  server.otherwise = countPages(100);
});
afterEach(() => server.stop());

const expected: CountBucket[] = Array.from({ length: 720 }, (_, i) => {
  const at = Date.UTC(2024, 0, 1) + i * HOUR;
  return { timePeriod: formatTimestamp(at), start: new Date(at), count: (at / HOUR) % 97 };
});

describe('the buckets of counts()', () => {
  it('are those of every page, including partial buckets at the ends of the window', async () => {
    const all = await pipeline(counts(testAccount(server), SNOW), collect());
    expect(all).toEqual(expected);
    expect(server.received.length).toBe(8);
    const [first, second] = server.received;
    expect(first?.url).toBe('/base/search/fullarchive/accounts/acme%20corp/prod/counts.json');
    expect(first?.params).toEqual({ query: 'snow', bucket: 'hour', ...JANUARY });
    expect(second?.params).toEqual({ ...first?.params, next: expect.any(String) });
  });

  it('cover the whole window even if the account has a shard', async () => {
    const shard = { index: 2, of: 8 };
    const shared = testAccount(server, { shard });
    expect(await pipeline(counts(shared, SNOW), collect())).toEqual(expected);
    expect(() => counts(testAccount(server), { ...SNOW, shard } as CountsOptions)).toThrow(
      /^counts: unknown option `shard`/,
    );
  });

  it('have the order in which the service sends them', async () => {
    server.otherwise = countPages(100, { order: 'descending' });
    expect(await pipeline(counts(testAccount(server), SNOW), collect())).toEqual(
      expected.toReversed(),
    );
  });

  it.each(['day', 'hour', 'minute'] as const)(
    'are the same per %s for a GET and a POST request',
    async bucket => {
      server.otherwise = countPages(10_000);
      const options: CountsOptions = {
        query: 'é "& 🎉"',
        product: '30day',
        bucket,
        fromDate: '202401300000',
      };
      const posted = await pipeline(counts(testAccount(server), options), collect());
      const got = await pipeline(
        counts(testAccount(server), { ...options, method: 'GET' }),
        collect(),
      );
      expect(got).toEqual(posted);
      expect(posted.length).toBe({ day: 2, hour: 36, minute: 2160 }[bucket]);
      expect(server.received.map(({ params }) => [params.bucket, params.query])).toEqual([
        [bucket, 'é "& 🎉"'],
        [bucket, 'é "& 🎉"'],
      ]);
    },
  );

  it('continue from any cursor with the remaining buckets', async () => {
    let seen = 0;
    for await (const { items, cursor } of counts(testAccount(server), SNOW).batches()) {
      seen += items.length;
      const resume = JSON.parse(JSON.stringify(cursor)) as Cursor;
      const rest = await pipeline(counts(testAccount(server), { ...SNOW, resume }), collect());
      expect(rest).toEqual(expected.slice(seen));
    }
    expect(seen).toBe(720);
  });

  it('are each returned exactly once despite faults of the service', async () => {
    const page = { results: [{ timePeriod: '202401010000', count: 1 }], totalCount: 1, ...ECHO };
    server.script.push(
      status(503),
      reset,
      countPages(100),
      cut(page, 'length'),
      cut(page, 'chunked'),
      cut(page, 'document'),
      status(429, '', { 'retry-after': '7' }),
    );
    expect(await pipeline(counts(testAccount(server), SNOW), collect())).toEqual(expected);
  });

  it('increase the fraction and the received count of the progress', async () => {
    const progress = new Progress();
    const fractions: number[] = [];
    for await (const _batch of counts(testAccount(server), SNOW).batches({ progress }))
      fractions.push(progress.fraction!);
    expect(fractions.slice(0, 7)).toEqual([1, 2, 3, 4, 5, 6, 7].map(n => (n * 100) / 720));
    expect(fractions.at(-1)).toBe(1);
    expect(progress.received).toBe(720);
  });

  it.each([
    ['bucket', { bucket: 'week' }],
    ['bucket', { bucket: 'toString' }],
    ['limit', { limit: 10 }],
    ['maxResults', { maxResults: 500 }],
    ['tag', { tag: 'weather' }],
    ['pages', { pages: 1 }],
    ['slices', { slices: 2 }],
    ['query', { query: '' }],
    ['product', { product: 'all' }],
    ['toDate', { toDate: '202401010000' }],
  ])('are not requested with an invalid %s, which causes an OptionError', (option, options) => {
    const act = () => counts(testAccount(server), { ...SNOW, ...options } as CountsOptions);
    expect(act).toThrow(OptionError);
    expect(act).toThrow(`\`${option}\``);
    expect(server.sockets.size).toBe(0);
  });

  const buckets = (results: unknown, more: object = {}) =>
    raw(JSON.stringify({ results, ...ECHO, ...more }));
  it.each([
    ['no results', raw('{"totalCount":0}'), 'results'],
    ['a bucket without a period', buckets([{ count: 1 }]), 'not a count'],
    [
      'a bucket with an invalid date',
      buckets([{ timePeriod: '202413010000', count: 1 }]),
      'not a count',
    ],
    ['a bucket without a count', buckets([{ timePeriod: '202401010000' }]), 'not a count'],
    ['a negative count', buckets([{ timePeriod: '202401010000', count: -1 }]), 'not a count'],
    ['a fractional count', buckets([{ timePeriod: '202401010000', count: 0.5 }]), 'not a count'],
    ['a count that is text', buckets([{ timePeriod: '202401010000', count: '5' }]), 'not a count'],
    ['a bucket that is null', buckets([null]), 'not a count'],
    ['a bucket that is not JSON', raw('{"results":[{x}]}'), 'not a count'],
    [
      'a total above the sum',
      buckets([{ timePeriod: '202401010000', count: 5 }], { totalCount: 6 }),
      'add up to 6, but their sum is 5',
    ],
    [
      'a total below the sum',
      buckets([{ timePeriod: '202401010000', count: 5 }], { totalCount: 4 }),
      'add up to 4, but their sum is 5',
    ],
    [
      'a total that is text',
      buckets([{ timePeriod: '202401010000', count: 5 }], { totalCount: '5' }),
      'add up to 5, but their sum is 5',
    ],
    ['another bucket', buckets([], { requestParameters: { bucket: 'day' } }), 'bucket'],
    ['other dates', buckets([], { requestParameters: { fromDate: '202401020000' } }), 'fromDate'],
  ])('cause an error for a response with %s', async (_what, reply, message) => {
    const thrown = () =>
      pipeline(counts(testAccount(server), SNOW), collect()).catch((caught: unknown) => caught);
    server.script.push(reply);
    const first = await thrown();
    expect(first).toBeInstanceOf(DataError);
    expect((first as DataError).message).toContain(message);
    server.script.push(countPages(100), reply);
    const later = await thrown();
    expect(later).toBeInstanceOf(IncompleteError);
    expect((later as IncompleteError).cause).toBeInstanceOf(DataError);
    expect((later as IncompleteError).missing[0]).toContain('but for 100 buckets');
  });

  const hours = (from: number, to: number) =>
    expected.slice(from, to).map(({ timePeriod, count }) => ({ timePeriod, count }));
  const page = (results: ReturnType<typeof hours>, next?: string) => buckets(results, { next });
  const gathered = (options: Partial<CountsOptions> = {}) =>
    pipeline(counts(testAccount(server), { ...SNOW, ...options }), collect());

  it.each([
    ['a last page that stops short of toDate', [page(hours(0, 719))], 'skipped the bucket'],
    [
      'a later page that stops short',
      [page(hours(0, 300), 'a'), page(hours(300, 600))],
      '120 buck',
    ],
    ['a last page that stops short of fromDate', [page(hours(5, 720).reverse())], 'skipped 5 buck'],
    ['a last page without a bucket', [page([])], 'skipped 720 buckets'],
    ['a hole in a page', [page([...hours(0, 9), ...hours(10, 720)])], 'skipped the bucket'],
    ['a hole between pages', [page(hours(0, 9), 'a'), page(hours(12, 720))], 'skipped 3 buckets'],
    [
      'the same bucket twice in a page',
      [page([...hours(0, 720), ...hours(7, 8)])],
      'the bucket 202401010700 twice',
    ],
    [
      'the same bucket in two pages',
      [page(hours(0, 9), 'a'), page(hours(8, 720))],
      '202401010800 twice',
    ],
    ['the same page twice', [page(hours(0, 9), 'a'), page(hours(0, 9), 'b')], '010000 twice'],
  ])('cause an IncompleteError for %s', async (_what, replies, message) => {
    server.script.push(...replies);
    const error = await gathered().catch((caught: unknown) => caught);
    expect(error).toBeInstanceOf(replies.length > 1 ? IncompleteError : DataError);
    expect((error as Error).message).toContain(message);
  });

  it('cause an error if one is missing in the window that the service chose', async () => {
    const noDates = { fromDate: undefined, toDate: undefined };
    server.script.push(page(hours(0, 720)), page(hours(0, 719)));
    expect((await gathered(noDates)).length).toBe(720);
    await expect(gathered(noDates)).rejects.toThrow('skipped the bucket 202401302300');
  });

  it('are complete whatever the order of the pages and of the buckets on a page', async () => {
    const parts = [hours(300, 400), hours(0, 100).reverse(), hours(400, 720), hours(100, 300)];
    for (const [i, part] of parts.entries())
      server.script.push(page(part, i < 3 ? `token ${i}` : undefined));
    expect((await gathered()).length).toBe(720);
  });

  it('cause an error if they start at a `next` token and reach no end of the window', async () => {
    server.script.push(page(hours(500, 720)));
    expect((await gathered({ next: 'token' })).length).toBe(220);
    server.script.push(page(hours(0, 200).reverse()));
    expect((await gathered({ next: 'token' })).length).toBe(200);
    server.script.push(page(hours(500, 719)));
    await expect(gathered({ next: 'token' })).rejects.toThrow('skipped the bucket 202401302300');
  });

  it('may start and end within an hour', async () => {
    const dates = { fromDate: '202401010030', toDate: '202401010230' };
    for (const periods of [
      ['202401010030', '202401010100', '202401010200'],
      ['202401010000', '202401010100', '202401010200'],
      ['202401010030', '202401010130'],
    ]) {
      const results = periods.map(timePeriod => ({ timePeriod, count: 1 }));
      server.script.push(buckets(results, { requestParameters: { bucket: 'hour', ...dates } }));
      expect((await gathered(dates)).map(({ timePeriod }) => timePeriod)).toEqual(periods);
    }
  });

  it('cause an error if `next` repeats', async () => {
    server.otherwise = buckets([], { next: 'again', totalCount: 0 });
    const run = pipeline(counts(testAccount(server), SNOW), collect());
    await expect(run).rejects.toThrow('repeats the `next` token');
    expect(server.received.length).toBe(2);
  });

  const PAGE = '<!DOCTYPE html>\n<title>Sign in to the network</title>';
  it.each([
    [
      { 'content-type': 'text/html; charset=utf-8' },
      'its content-type is text/html; charset=utf-8',
    ],
    [{}, 'its content-type is missing'],
  ])('cause an error with the content type of an HTML page: %j', async (headers, type) => {
    server.otherwise = status(200, PAGE, headers);
    const error = await gathered().catch((caught: unknown) => caught);
    expect(error).toBeInstanceOf(DataError);
    expect((error as Error).message).toContain(`The response is not JSON: ${type}, and it begins`);
    expect((error as Error).message).toContain('<title>Sign in');
    expect(server.received.length).toBe(1);
  });

  it('cause an error for an error response', async () => {
    server.script.push(
      status(401, '{"error":{"message":"Unauthorized: Stream is not enabled for count requests"}}'),
    );
    const run = pipeline(counts(testAccount(server), SNOW), collect());
    await expect(run).rejects.toThrow(HttpError);
  });
});
