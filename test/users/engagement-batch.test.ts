import { inspect } from 'node:util';
import fc from 'fast-check';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { DataError, OptionError } from '../../src/base/errors.js';
import { type AccountOptions, account } from '../../src/http/account.js';
import type { GroupBy } from '../../src/users/engagement-request.js';
import { engagementTotals } from '../../src/users/engagement-totals.js';
import { json, type Received, ScriptedServer, status } from '../http/scripted-server.js';
import { bySuite } from '../suite.js';
import { unchecked } from '../unchecked.js';
import { failureOf } from './failure-of.js';

describe('a request that engagementTotals sends', () => {
  const server = new ScriptedServer();
  beforeEach(() => server.start());
  afterEach(() => server.stop());
  const acme = (options: AccountOptions = {}) =>
    account(
      {
        dataUrl: server.url,
        consumerKey: 'key',
        consumerSecret: 'secret',
        accessToken: 'canary-token',
        accessTokenSecret: 'canary-secret',
        retry: { firstWaitMs: 1, maxWaitMs: 1 },
        ...options,
      },
      {},
    );
  const ids = ['1', '20', '300'];

  it('has an unsigned JSON body, and accepts gzip', async () => {
    server.script.push(json({ byPost: {} }, { gzip: true }));
    await engagementTotals(acme(), { ids: ['1060976163948904448'], types: ['replies'] });
    const [{ method, url, headers, body }] = server.received as [Received];
    expect([method, url]).toEqual(['POST', '/insights/engagement/totals']);
    expect(headers['content-type']).toBe('application/json');
    expect(headers['accept-encoding']).toBe('gzip');
    expect(headers.authorization).toMatch(/^OAuth .*oauth_token="canary-token"/);
    expect(body).toBe(
      '{"tweet_ids":["1060976163948904448"],"engagement_types":["replies"],"groupings":{"byPost":{"group_by":["tweet.id","engagement.type"]}}}',
    );
  });

  it('accepts numbers without quotes and counts of any size in the response', async () => {
    const body =
      '{"byPost":{"1":{"favorites":26,"replies":"90071992547409931234"},"20":{"favorites":12345678901234567}}}';
    server.script.push(status(200, body), status(200, body));
    expect((await engagementTotals(acme(), { ids })).totals.byPost).toEqual({
      1: { favorites: '26', replies: '90071992547409931234' },
      20: { favorites: '12345678901234567' },
    });
    const error = await failureOf(engagementTotals(acme(), { ids, counts: 'number' }));
    expect(error).toBeInstanceOf(DataError);
    expect(error.message).toContain("counts: 'bigint'");
  });

  it('fails for a response of another shape, and is retried after a truncated response', async () => {
    for (const body of [
      '[]',
      '{"byPost":[]}',
      '{"byPost":{"1":"5"}}',
      '{"byPost":{"1":{"favorites":"five"}}}',
      '{"byPost":{"1":{"favorites":-1}}}',
      '{"byPost":{"1":{"favorites":1.5}}}',
      '{"byPost":{"1":{"favorites":{}}}}',
      '{"byPost":{"1":{"favorites":[5]}}}',
      '{"byPost":{"1":{"favorites":null}}}',
      `{"byPost":{"1":{"favorites":"${'9'.repeat(31)}"}}}`,
      'null',
    ]) {
      server.script.push(status(200, body));
      const error = await failureOf(engagementTotals(acme(), { ids }));
      expect(error).toBeInstanceOf(DataError);
      expect(error.message).toContain(server.url);
    }
    server.script.push(status(200, '{"byPost":{"1"'), json({ byPost: { 1: {} } }));
    expect((await engagementTotals(acme(), { ids })).totals).toEqual({ byPost: { 1: {} } });
  });

  it('accepts the errors about posts in a response in each known form', async () => {
    server.script.push(
      json({
        byPost: { 300: { favorites: '1' } },
        errors: [
          'Forbidden to access tweets for author id 20: 1',
          '2 Tweet ID(s) are unavailable',
          { code: 1, message: 'internal server error' },
          'Forbidden to access metrics: retweets',
        ],
        unavailable_tweet_ids: ['20', '999'],
        unsupported_for_video_views_tweet_ids: ['300'],
      }),
    );
    expect((await engagementTotals(acme(), { ids })).errors).toEqual([
      { id: '1', message: 'Forbidden to access tweets for author id 20: 1' },
      { id: '20', message: '2 Tweet ID(s) are unavailable' },
      { message: 'internal server error' },
      { message: 'Forbidden to access metrics: retweets' },
      { id: '300', message: 'unsupported_for_video_views_tweet_ids' },
    ]);
  });

  it('does not affect other requests of the same call if the service rejects it', async () => {
    const many = Array.from({ length: 500 }, (_, i) => String(i + 1));
    const refused = JSON.stringify({
      errors: [`Forbidden to access tweets for author id 7: ${many.slice(0, 250).join(', ')}`],
    });
    server.script.push(status(403, refused), json({ byPost: { 251: { favorites: '3' } } }));
    const { totals, errors } = await engagementTotals(acme(), { ids: many });
    expect(totals.byPost).toEqual({ 251: { favorites: '3' } });
    expect(errors.map(({ id }) => id)).toEqual(many.slice(0, 250));
    server.script.push(status(403, refused), status(401, '{"errors":["Access token not found"]}'));
    const error = await failureOf(engagementTotals(acme(), { ids: many }));
    expect(error).toMatchObject({ failure: 'token', status: 401 });
    expect(inspect(error, { depth: 9 })).not.toContain('canary');
  });

  it('is repeated without the posts that caused an error', async () => {
    server.script.push(
      status(403, '{"errors":["Forbidden to access tweets for author id 7: 20"]}'),
      status(400, '{"errors":["Not an id in tweet_ids: 300"]}'),
      json({ byPost: { 1: { favorites: '3' } } }),
    );
    const { totals, errors } = await engagementTotals(acme(), { ids: ['1', '20', '300'] });
    expect(totals.byPost).toEqual({ 1: { favorites: '3' } });
    expect(errors.map(({ id }) => id)).toEqual(['20', '300']);
    expect(server.received.map(({ body }) => JSON.parse(body).tweet_ids)).toEqual([
      ['1', '20', '300'],
      ['1', '300'],
      ['1'],
    ]);
  });

  it('makes the call fail if the service rejects it for a reason other than its posts', async () => {
    const errors = [
      'Forbidden to access tweets for author id 7: 20',
      'Forbidden to access metrics: retweets',
    ];
    server.script.push(status(403, JSON.stringify({ errors })));
    expect(await failureOf(engagementTotals(acme(), { ids }))).toMatchObject({ status: 403 });
    expect(server.received.length).toBe(1);
  });

  it('is not sent if the list of posts is empty', async () => {
    expect(await engagementTotals(acme(), { ids: [] })).toEqual({
      totals: { byPost: {} },
      errors: [],
    });
    expect(server.received).toEqual([]);
  });

  it.each([
    [{ ids: [Number('1050118621198921728')] }, /`ids`.*a number.*lose digits/],
    [{ ids: ['1e3'] }, /"1e3"/],
    [{ ids: '1' }, /`ids`/],
    [{ types: ['impressions'] }, /favorites, retweets, replies, got "impressions"/],
    [{ types: [Math.max] }, /got a function$/],
    [{ types: [] }, /`types`/],
    [{ groupings: {} }, /`groupings`/],
    [{ groupings: { a: {}, b: {}, c: {}, d: {} } }, /one to 3/],
    [{ groupings: { errors: { group_by: ['tweet.id'] } } }, /"errors"/],
    [{ groupings: { a: { group_by: [] } } }, /groupings\.a\.group_by/],
    [{ groupings: { a: { group_by: ['tweet.id', 'tweet.id'] } } }, /each once/],
    [{ groupings: { a: { group_by: ['engagement.day'] } } }, /engagement\.day/],
    [{ groupings: { a: { groupBy: ['tweet.id'] } } }, /groupBy/],
    [{ counts: 'float' }, /`counts`/],
    [{ token: 'abc' }, /`token`/],
    [{ tokn: 1 }, /tokn/],
  ])('is not sent with the wrong options %j', async (options, message) => {
    const error = await failureOf(engagementTotals(acme(), unchecked({ ids, ...options })));
    expect(error).toBeInstanceOf(OptionError);
    expect(error.message).toMatch(message);
    expect(server.received).toEqual([]);
  });

  it('returns counts that are summed with the counts of the other requests, for any number of posts and grouping', async () => {
    const bys: GroupBy[][] = [
      ['tweet.id'],
      ['engagement.type'],
      ['tweet.id', 'engagement.type'],
      ['engagement.type', 'tweet.id'],
    ];
    const types = ['favorites', 'replies'] as const;
    await fc.assert(
      fc.asyncProperty(
        fc.constantFrom(...bys),
        fc.integer({ min: 1, max: 700 }),
        fc.bigInt({ min: 0n, max: 10n ** 24n }),
        async (group_by, total, unit) => {
          const count = (id: string, type: string) => BigInt(id) * (type === 'replies' ? unit : 1n);
          const asked = (request: Received) => request.params.tweet_ids as string[];
          const grouped = (
            of: readonly string[],
            by: readonly GroupBy[],
            id?: string,
            type?: string,
          ): unknown => {
            const [first, ...rest] = by;
            const all = (id === undefined ? of : [id]).flatMap(one =>
              (type === undefined ? types : [type]).map(kind => count(one, kind)),
            );
            if (first === undefined) return String(all.reduce((a, b) => a + b, 0n));
            if (first === 'tweet.id')
              return Object.fromEntries(of.map(one => [one, grouped(of, rest, one, type)]));
            return Object.fromEntries(types.map(kind => [kind, grouped(of, rest, id, kind)]));
          };
          server.otherwise = (response, request) =>
            json({ g: grouped(asked(request), group_by) })(response, request);
          server.received.splice(0);
          const all = Array.from({ length: total }, (_, i) => String(i + 1));
          const { totals } = await engagementTotals(acme(), {
            ids: all,
            types,
            groupings: { g: { group_by } },
          });
          expect(totals.g).toEqual(grouped(all, group_by));
          expect(server.received.map(request => asked(request).length)).toEqual(
            [250, 250, 250]
              .map((most, i) => Math.min(most, Math.max(0, total - i * 250)))
              .filter(n => n > 0),
          );
        },
      ),
      { numRuns: bySuite(3, 120) },
    );
  });
});
