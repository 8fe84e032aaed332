import { readFile } from 'node:fs/promises';
import path from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { IncompleteError, OptionError } from '../../src/base/errors.js';
import { DAY, floorTo, formatTimestamp } from '../../src/base/time.js';
import type { Cursor, Sink } from '../../src/flow/flow.js';
import { pipeline } from '../../src/flow/pipeline.js';
import { Progress } from '../../src/flow/progress.js';
import { type Account, account } from '../../src/http/account.js';
import { compose } from '../../src/operators/compose.js';
import { mapAsync } from '../../src/operators/map-async.js';
import type { Activity } from '../../src/post/activity.js';
import type { Budget } from '../../src/search/budget.js';
import { search } from '../../src/search/search.js';
import { createService, type Service } from '../../src/service/index.js';
import { collect } from '../../src/sinks/collect.js';
import { committed } from '../../src/sinks/committed.js';
import { csv } from '../../src/sinks/csv.js';
import { files } from '../../src/sinks/files.js';
import { parquet } from '../../src/sinks/parquet.js';
import { tee } from '../../src/sinks/tee.js';
import { impatient } from '../http/virtual-time.js';
import { StandIn } from '../sinks/stand-in.js';
import { temporaryFolder } from '../temporary-folder.js';

let service: Service;
let acme: Account;
const TO = floorTo(DAY, Date.UTC(2024, 4, 9));
const WINDOW = {
  product: 'fullarchive',
  fromDate: formatTimestamp(TO - 3 * DAY),
  toDate: formatTimestamp(TO),
  maxResults: 10,
} as const;
const QUERY = { query: 'good OR coffee', ...WINDOW } as const;
const RULES = {
  rules: [{ value: 'good' }, { value: 'coffee OR new' }, { value: 'good day' }],
  queryLimits: { clauses: 2 },
  ...WINDOW,
} as const;

beforeAll(async () => {
  service = createService({ postsPerMinute: 0.2, limits: 'relaxed' });
  const addresses = await service.start();
  service.clock.change({ frozen: true });
  service.clock.set(TO + DAY);
  acme = account({ ...addresses, timing: impatient(), limits: { search: [] } }, {});
});
afterAll(() => service.stop());

interface Ended {
  readonly posts: readonly Activity[];
  readonly requests: number;
  readonly received: number;
  readonly error: IncompleteError | undefined;
}

async function ended(flow: ReturnType<typeof search>): Promise<Ended> {
  let requests = 0;
  const count = () => requests++;
  service.on('request', count);
  const posts: Activity[] = [];
  const progress = new Progress();
  let error: unknown;
  try {
    for await (const { items } of flow.batches({ progress })) posts.push(...items);
  } catch (caught) {
    error = caught;
  }
  service.off('request', count);
  if (error !== undefined) expect(error).toBeInstanceOf(IncompleteError);
  return {
    posts,
    requests,
    received: progress.received,
    error: error as IncompleteError | undefined,
  };
}

const idsOf = (posts: readonly Activity[]) => posts.map(({ id }) => id);

describe('the budget of a search', () => {
  it.each([
    ['a query', { requests: 3 }, QUERY],
    ['a query', { posts: 35 }, QUERY],
    ['a query', { requests: 2, posts: 1_000 }, QUERY],
    ['rules', { requests: 3 }, RULES],
    ['rules', { posts: 35 }, RULES],
  ] as const)(
    'is never exceeded in a search for %s, and later runs find the remaining posts: %j',
    async (_what, budget, options) => {
      const { requests = Number.POSITIVE_INFINITY, posts = Number.POSITIVE_INFINITY } =
        budget as Budget;
      const whole = await ended(search(acme, options));
      expect(whole.error).toBe(undefined);
      const found: string[] = [];
      let resume: Cursor | undefined;
      let all = 0;
      for (let runs = 0; runs < 100; runs++) {
        const run = await ended(search(acme, { ...options, budget, resume }));
        found.push(...idsOf(run.posts));
        all += run.requests;
        expect(run.requests).toBeLessThanOrEqual(requests);
        expect(run.received).toBeLessThanOrEqual(posts);
        if (run.error === undefined) break;
        // The run has used as many requests as the budget allows.
        if (posts > 100) expect(run.requests).toBe(requests);
        expect(run.error.reason).toBe('budget');
        expect(run.error.retryable).toBe(false);
        expect(run.error.message).toMatch(/budget.*pass the cursor of this error as `resume`/s);
        resume = JSON.parse(JSON.stringify(run.error.cursor));
      }
      expect(found).toEqual(idsOf(whole.posts));
      expect(all).toBe(whole.requests);
    },
  );

  it('does not affect a search that needs exactly the budget', async () => {
    const whole = await ended(search(acme, QUERY));
    const { requests } = whole;
    const again = await ended(search(acme, { ...QUERY, budget: { requests } }));
    expect({ ...again, posts: idsOf(again.posts) }).toEqual({
      ...whole,
      posts: idsOf(whole.posts),
    });
    const less = await ended(search(acme, { ...QUERY, budget: { requests: requests - 1 } }));
    expect(less.error?.reason).toBe('budget');
    expect(less.error?.message).toContain(
      `The budget of ${requests - 1} requests for this run is spent`,
    );
  });

  it('is used up to the last post if pages are full', async () => {
    const run = await ended(search(acme, { ...QUERY, budget: { posts: 30 } }));
    expect([run.requests, run.received, run.error?.reason]).toEqual([3, 30, 'budget']);
  });

  it('includes every attempt of a request, even if no page was received', async () => {
    service.faults.plant({ kind: 'status', status: 503, times: 2 });
    const run = await ended(search(acme, { ...QUERY, budget: { requests: 3 } }));
    expect([run.requests, run.posts.length, run.error?.reason]).toEqual([3, 10, 'budget']);
    service.faults.plant({ kind: 'status', status: 503, times: 2 });
    const none = await ended(search(acme, { ...QUERY, budget: { requests: 2 } }));
    expect([none.requests, none.posts.length, none.error?.reason]).toEqual([2, 0, 'budget']);
    expect(none.error?.cursor).toBe(undefined);
    expect(service.faults.list()).toEqual([]);
  });

  async function untilComplete(sink: () => Sink<Activity, unknown>): Promise<number> {
    let requests = 0;
    const count = () => requests++;
    service.on('request', count);
    const once = () =>
      pipeline(search(acme, { ...QUERY, budget: { requests: 2 } }), sink()).then(
        () => undefined,
        (error: unknown) => error,
      );
    let runs = 0;
    for (let error = await once(); error !== undefined; error = await once()) {
      expect(error).toMatchObject({ code: 'ERR_INCOMPLETE', reason: 'budget' });
      expect(++runs).toBeLessThan(100);
    }
    service.off('request', count);
    return requests;
  }

  it.each(['jsonl', 'jsonl.gz', 'parquet'])(
    'limits each run with a checkpoint, and all paid posts are committed: %s',
    async kind => {
      const folder = await temporaryFolder();
      const checkpoint = path.join(folder, 'checkpoint.json');
      const to = { path: path.join(folder, `{day}.${kind}`), checkpoint };
      const { posts } = await ended(search(acme, QUERY));
      const requests = await untilComplete(() =>
        kind === 'parquet' ? parquet({ ...to, columns: ['id'] }) : files(to),
      );
      expect(requests).toBe(Math.ceil(posts.length / 10));
      const { files: written } = JSON.parse(await readFile(checkpoint, 'utf8'));
      expect(written.reduce((sum: number, { posts }: { posts: number }) => sum + posts, 0)).toBe(
        posts.length,
      );
      if (kind !== 'jsonl') return;
      const texts = await Promise.all(
        written.map(({ path: name }: { path: string }) =>
          readFile(path.resolve(folder, name), 'utf8'),
        ),
      );
      const lines = texts.flatMap((text: string) => text.trim().split('\n'));
      expect(lines.toSorted()).toEqual(posts.map(({ raw }) => String(raw)).toSorted());
    },
  );

  it('limits each run of committed(), and all paid posts are committed', async () => {
    let saved: string | undefined;
    const rows: string[] = [];
    const { posts } = await ended(search(acme, QUERY));
    const requests = await untilComplete(() =>
      committed<Activity>({
        load: () => saved,
        write: items => void rows.push(...idsOf(items)),
        save: state => {
          saved = state;
        },
        waitMs: 60_000,
      }),
    );
    expect(requests).toBe(Math.ceil(posts.length / 10));
    expect(rows).toEqual(idsOf(posts));
  });

  it('limits each run of tee(), and all paid posts are committed in every branch', async () => {
    const folder = await temporaryFolder();
    const checkpoint = path.join(folder, 'checkpoint.json');
    const { posts } = await ended(search(acme, QUERY));
    const requests = await untilComplete(() =>
      tee(
        compose(
          mapAsync(async (post: Activity) => post),
          files({ path: path.join(folder, 'a.jsonl') }),
        ),
        csv({ path: path.join(folder, 'b.csv'), columns: ['id'] }),
        collect(),
        { checkpoint },
      ),
    );
    expect(requests).toBe(Math.ceil(posts.length / 10));
    const lines = await readFile(path.join(folder, 'a.jsonl'), 'utf8');
    expect(lines.trim().split('\n')).toEqual(posts.map(({ raw }) => String(raw)));
    const ids = await readFile(path.join(folder, 'b.csv'), 'utf8');
    expect(ids.trim().split(/\r?\n/).slice(1)).toEqual(idsOf(posts));
  });

  it.each([1, 3, 1000])(
    'limits each run of tee() with committed() of %i rows, and all paid posts are committed',
    async rows => {
      const folder = await temporaryFolder();
      const { posts } = await ended(search(acme, QUERY));
      const target = new StandIn<Activity>();
      const requests = await untilComplete(() =>
        tee(
          files({ path: path.join(folder, 'a.jsonl') }),
          committed({ ...target.transactions, rows, waitMs: 60_000 }),
        ),
      );
      expect(requests).toBe(Math.ceil(posts.length / 10));
      expect(idsOf(target.rows)).toEqual(idsOf(posts));
      const lines = await readFile(path.join(folder, 'a.jsonl'), 'utf8');
      expect(lines.trim().split('\n')).toEqual(posts.map(({ raw }) => String(raw)));
    },
  );

  it('ends no run in the middle of a range that committed() has to write again', async () => {
    let saved: string | undefined;
    let rows: string[] = [];
    let fails = true;
    const { posts } = await ended(search(acme, QUERY));
    const once = (budget: Budget) =>
      pipeline(
        search(acme, { ...QUERY, budget }),
        committed<Activity>({
          load: () => saved,
          write: items => {
            if (fails) throw new TypeError('broken');
            rows = [...rows, ...idsOf(items)];
          },
          save: state => {
            saved = state;
          },
          waitMs: 60_000,
        }),
      ).catch((error: unknown) => error);
    expect(await once({ requests: 4 })).toBeInstanceOf(TypeError);
    fails = false;
    const before = saved;
    expect(before).toContain('"pending"');
    expect(await once({ requests: 2 })).toMatchObject({ reason: 'budget' });
    expect(saved).toBe(before);
    expect(rows).toEqual([]);
    expect(await once({ requests: 4 })).toMatchObject({ reason: 'budget' });
    expect(rows).toEqual(idsOf(posts).slice(0, 40));
    await once({});
    expect(rows).toEqual(idsOf(posts));
  });

  it('causes an OptionError if a search could not respect it', () => {
    const refused = (options: object) => () => search(acme, { ...QUERY, ...options });
    expect(refused({ budget: { posts: 9 } })).toThrow(OptionError);
    expect(refused({ budget: { posts: 9 } })).toThrow(
      /`budget.posts` is 9, and a page may have 10/,
    );
    expect(refused({ budget: { posts: 10 } })).not.toThrow();
    expect(refused({ budget: { requests: 0 } })).toThrow(/`budget.requests` must be/);
    expect(refused({ budget: { request: 5 } })).toThrow(/did you mean `budget.requests`/);
    expect(refused({ budget: { requests: 5 }, slices: 2 })).toThrow(
      /`budget` cannot be combined with `slices`/,
    );
    expect(refused({ budget: {}, slices: 2 })).not.toThrow();
    expect(() => search(acme, { ...RULES, budget: { posts: 9 } })).toThrow(OptionError);
  });

  it('makes a search into collect() reject when it is spent', async () => {
    const run = pipeline(search(acme, { ...QUERY, budget: { requests: 1 } }), collect());
    await expect(run).rejects.toThrow(IncompleteError);
  });
});
