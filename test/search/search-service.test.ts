import { subscribe, unsubscribe } from 'node:diagnostics_channel';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { HttpError, IncompleteError, OptionError } from '../../src/base/errors.js';
import { DAY, floorTo, formatTimestamp, HOUR, MINUTE } from '../../src/base/time.js';
import type { Cursor } from '../../src/flow/flow.js';
import { pipeline } from '../../src/flow/pipeline.js';
import { type AccountOptions, account } from '../../src/http/account.js';
import type { Timing } from '../../src/http/timing.js';
import { counts } from '../../src/search/counts.js';
import { type SearchOptions, search } from '../../src/search/search.js';
import type { RequestFault } from '../../src/service/http/fault-types.js';
import { createService, type Service } from '../../src/service/index.js';
import { collect } from '../../src/sinks/collect.js';
import { impatient, settled } from '../http/virtual-time.js';
import { bySuite, isNightly } from '../suite.js';

let service: Service;
let addresses: Awaited<ReturnType<Service['start']>>;

beforeAll(async () => {
  service = createService({ postsPerMinute: 0.2, limits: 'relaxed' });
  addresses = await service.start();
});
afterAll(() => service.stop());

const local = (options: AccountOptions = {}) =>
  account({ ...addresses, timing: impatient(), limits: { search: [] }, ...options }, {});

/** Returns a window that contains about 900 posts. The query below matches about 100 of them. */
function threeDays(): { fromDate: string; toDate: string } {
  const to = floorTo(DAY, service.clock.now() - DAY);
  return { fromDate: formatTimestamp(to - 3 * DAY), toDate: formatTimestamp(to) };
}

async function linesOf(options: SearchOptions, acme = local()): Promise<string[]> {
  const posts = await pipeline(search(acme, options), collect());
  return posts.map(post => post.raw.toString());
}

describe('search() of the local service', () => {
  const common = {
    query: 'good OR new OR day OR coffee OR rain',
    product: 'fullarchive',
    maxResults: 20,
  } as const;

  describe('for a window of three days', () => {
    let options: typeof common & ReturnType<typeof threeDays>;
    let whole: string[];
    beforeAll(async () => {
      options = { ...common, ...threeDays() };
      whole = await linesOf({ ...options, maxResults: 500 });
    });

    it('returns every post exactly once, newest first', () => {
      expect(whole.length).toBeGreaterThan(60);
      const ids = whole.map(line => BigInt(JSON.parse(line).id_str));
      expect(ids).toEqual(ids.toSorted((a, b) => (a < b ? 1 : -1)));
      expect(new Set(ids).size).toBe(ids.length);
    });

    it.each<[string, Partial<SearchOptions>]>([
      ['in pages of 13', { maxResults: 13 }],
      ['by GET', { method: 'GET' }],
      ['in slices', { slices: 5 }],
    ])('returns the same posts %s', async (_, how) => {
      expect(await linesOf({ ...options, ...how } as SearchOptions)).toEqual(whole);
    });

    it('returns the newest posts up to a limit', async () => {
      expect(await linesOf({ ...options, limit: 43 })).toEqual(whole.slice(0, 43));
    });
  });

  it('finds as many posts as counts() counts', async () => {
    const options = { ...common, ...threeDays() };
    const posts = await pipeline(search(local(), options), collect());
    for (const bucket of ['day', 'hour', 'minute'] as const) {
      const { maxResults: _ours, ...query } = options;
      const buckets = await pipeline(counts(local(), { ...query, bucket }), collect());
      expect(buckets.length).toBe({ day: 3, hour: 72, minute: 4320 }[bucket]);
      expect(buckets.reduce((sum, { count }) => sum + count, 0)).toBe(posts.length);
      const unit = { day: DAY, hour: HOUR, minute: MINUTE }[bucket];
      for (const { start, count } of buckets) {
        const at = start.getTime();
        const inside = posts.filter(post => floorTo(unit, post.postedAt.getTime()) === at);
        expect(inside.length).toBe(count);
      }
    }
  });

  it('delivers posts with the tag of the query', async () => {
    const options = { ...common, ...threeDays(), tag: 'weather ☃', limit: 20 };
    const posts = await pipeline(search(local(), options), collect());
    for (const post of posts) expect(post.tags).toEqual(['weather ☃']);
  });

  it('finds as many posts as counts() counts, both in the default window and in more than 31 days', async () => {
    expect((await linesOf({ query: 'rain', product: '30day' })).length).toBeGreaterThan(20);
    const to = service.clock.now();
    const long = { fromDate: new Date(to - 100 * DAY), toDate: new Date(to - HOUR) };
    const options = { query: 'rain lang:en', product: 'fullarchive', ...long } as const;
    const lines = await linesOf(options);
    const buckets = await pipeline(counts(local(), { ...options, bucket: 'day' }), collect());
    expect(buckets.length).toBeGreaterThanOrEqual(100);
    expect(buckets.reduce((sum, { count }) => sum + count, 0)).toBe(lines.length);
  });

  it('resumes from every cursor while the clock of the service advances', async () => {
    const options = { query: 'rain', product: '30day', maxResults: 20 } as const;
    const cursors: (Cursor | undefined)[] = [];
    const found: string[] = [];
    const seen: number[] = [];
    for await (const { items, cursor } of search(local(), options).batches()) {
      found.push(...items.map(post => post.raw.toString()));
      cursors.push(JSON.parse(JSON.stringify(cursor)));
      seen.push(found.length);
    }
    expect(cursors.length).toBeGreaterThan(1);
    service.clock.advance(90 * MINUTE);
    for (const [i, resume] of cursors.entries())
      expect(await linesOf({ ...options, resume: resume as Cursor })).toEqual(found.slice(seen[i]));
  });

  const faults: RequestFault[] = [
    { kind: 'status', status: 503, times: 5 },
    { kind: 'status', status: 429, retryAfter: 300 },
    { kind: 'cut', afterBytes: 0 },
    { kind: 'cut', afterBytes: 1_000 },
    { kind: 'cut', afterBytes: 1_000, end: 'close' },
    { kind: 'cut', afterBytes: 1_000, end: 'finish' },
    { kind: 'cut', afterBytes: 1_000, inCharacter: true },
    { kind: 'stall', afterBytes: 1_000 },
    { kind: 'flip', atByte: 1_500 },
  ];
  it.each(faults)('loses and repeats no post with the fault %j', async fault => {
    const options = { ...common, ...threeDays() };
    const whole = await linesOf(options);
    const acme = local({ timeouts: { silenceMs: 500 } });
    for (const skip of isNightly ? [0, 1, 3] : [0, 3]) {
      service.faults.plant({ ...fault, skip, endpoint: 'search' });
      expect(await linesOf(options, acme)).toEqual(whole);
      expect(service.faults.list()).toEqual([]);
    }
  });

  it('recovers from a flipped bit that breaks the JSON before the checksum is verified', async () => {
    const options = { ...common, ...threeDays() };
    const whole = await linesOf(options);
    const acme = local({ timeouts: { silenceMs: 200 } });
    for (let atByte = 40; atByte < 4_000; atByte += bySuite(400, 97)) {
      service.faults.plant({ kind: 'flip', atByte, endpoint: 'search' });
      expect(await linesOf(options, acme)).toEqual(whole);
    }
  });

  it('counts the same posts with counts() even if the service times out', async () => {
    const options = { query: 'rain', product: 'fullarchive', ...threeDays() } as const;
    const whole = await pipeline(counts(local(), options), collect());
    service.faults.plant({ kind: 'counts-timeout', buckets: 5, times: 3 });
    expect(await pipeline(counts(local(), options), collect())).toEqual(whole);
    expect(service.faults.list()).toEqual([]);
  });

  it('fails when the password is changed, and resumes with the new password', async () => {
    const options = { ...common, ...threeDays() };
    const whole = await linesOf(options);
    service.faults.plant({ kind: 'status', status: 401, skip: 2, times: 'always' });
    const error = await linesOf(options).catch((caught: unknown) => caught);
    service.faults.clear();
    expect(error).toBeInstanceOf(IncompleteError);
    const resume = (error as IncompleteError).cursor as Cursor;
    expect(await linesOf({ ...options, resume })).toEqual(whole.slice(40));
    const wrong = local({ password: 'not it' });
    await expect(linesOf(options, wrong)).rejects.toThrow(HttpError);
  });

  it('throws before any request for a rule that the product does not support', () => {
    const options = { ...common, ...threeDays(), query: 'snow (rain has:vidoes)' };
    const { maxResults: _, ...countsOptions } = options;
    for (const call of [() => search(local(), options), () => counts(local(), countsOptions)]) {
      expect(call).toThrow(OptionError);
      expect(call).toThrow(
        /^(search|counts): `query` is not a valid rule and was not sent\.\nerror\[\w+\]: .*\n {2}\| snow \(rain has:vidoes\)\n {2}\| +\^+ did you mean `videos`\?/,
      );
    }
  });

  it.each([
    ['fullarchive', '200603220000'],
    ['fullarchive', '200604010000'],
    ['30day', -20],
    ['30day', -2],
  ] as const)(
    'returns the same posts of %s with and without slices (`toDate`: %s, a time or days from now)',
    async (product, to) => {
      const toDate =
        typeof to === 'string' ? to : formatTimestamp(floorTo(DAY, service.clock.now()) + to * DAY);
      const options = { query: 'coffee OR rain', product, toDate } as const;
      const whole = await linesOf(options);
      expect(whole.length).toBeGreaterThan(0);
      const sliced = await linesOf({ ...options, slices: 4 });
      expect(sliced).toEqual(whole.slice(0, sliced.length));
      // During the search, the oldest minute of 30day and one further minute may expire.
      expect(whole.length - sliced.length).toBeLessThanOrEqual(product === '30day' ? 2 : 0);
    },
  );
});

describe('the clock that a search uses', () => {
  it.each([
    ['runs in the process of the service', () => addresses],
    ['only sees its responses', () => ({ ...addresses, serviceTime: undefined })],
  ])('follows the moved clock of the service if the client %s', async (_where, given) => {
    const moved = Date.UTC(2015, 5, 15, 12);
    service.clock.set(moved);
    try {
      const acme = account({ ...given(), timing: impatient(), limits: { search: [] } }, {});
      const to = moved - DAY;
      const window = { fromDate: new Date(to - 2 * DAY), toDate: new Date(to) };
      const posts = await linesOf({ query: 'good OR day', product: '30day', ...window }, acme);
      expect(posts.length).toBeGreaterThan(0);
      expect(Math.abs(acme.clock.now() - service.clock.now())).toBeLessThan(2_000);
    } finally {
      service.clock.reset();
    }
  });
});

/**
 * Runs a client that uses the service's clock. Time passes only while the client waits. Each
 * request takes up to 250 ms on this clock, however busy the machine is.
 */
async function onServiceClock<T>(
  { clock }: Service,
  run: (timing: Timing) => Promise<T>,
): Promise<T> {
  const sentAt = new Map<unknown, number>();
  const requestOf = (message: unknown) => (message as { readonly request: unknown }).request;
  const onSent = (message: unknown) => sentAt.set(requestOf(message), clock.now());
  const onEnd = (message: unknown) => sentAt.delete(requestOf(message));
  const ends = ['undici:request:headers', 'undici:request:error'];
  clock.freeze();
  subscribe('undici:client:sendHeaders', onSent);
  for (const channel of ends) subscribe(channel, onEnd);
  try {
    return await run({
      now: () => clock.now(),
      elapsed: () => clock.now(),
      random: () => 0.5,
      async sleep(ms, signal) {
        for (const end = clock.now() + ms; clock.now() < end; await settled()) {
          signal?.throwIfAborted();
          const latest = Math.min(end, ...[...sentAt.values()].map(at => at + 250));
          clock.set(Math.min(latest, clock.now() + 10));
        }
      },
    });
  } finally {
    unsubscribe('undici:client:sendHeaders', onSent);
    for (const channel of ends) unsubscribe(channel, onEnd);
  }
}

describe('the local service with strict rate limits', () => {
  it('never sends a 429 to a client that limits its own rate', async () => {
    const strict = createService({ postsPerMinute: 1 });
    const addresses = await strict.start();
    const retries: unknown[] = [];
    try {
      const to = floorTo(DAY, strict.clock.now() - DAY);
      const options = {
        query: 'coffee',
        product: 'fullarchive',
        fromDate: formatTimestamp(to - 2 * HOUR),
        toDate: formatTimestamp(to),
      } as const;
      await onServiceClock(strict, async timing => {
        const onRetry = (retrying: unknown) => retries.push(retrying);
        const acme = account({ ...addresses, timing, onRetry }, {});
        await Promise.all(
          Array.from({ length: 50 }, (_, i) =>
            i % 2 === 0
              ? pipeline(search(acme, { ...options, limit: 10 }), collect())
              : pipeline(counts(acme, options), collect()),
          ),
        );
      });
      expect(retries).toEqual([]);
    } finally {
      await strict.stop();
    }
  });
});
