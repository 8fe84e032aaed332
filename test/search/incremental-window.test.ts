import { readFile } from 'node:fs/promises';
import path from 'node:path';
import { describe, expect, it } from 'vitest';
import { IncompleteError } from '../../src/base/errors.js';
import {
  DAY,
  floorTo,
  formatTimestamp,
  HOUR,
  MINUTE,
  parseTimestamp,
  SECOND,
} from '../../src/base/time.js';
import type { Flow } from '../../src/flow/flow.js';
import { pipeline } from '../../src/flow/pipeline.js';
import type { ProgressCounts } from '../../src/flow/progress.js';
import { account } from '../../src/http/account.js';
import { dedupe } from '../../src/operators/dedupe.js';
import type { Activity } from '../../src/post/activity.js';
import { nextWindow } from '../../src/search/incremental-window.js';
import type { Query, QueryGap } from '../../src/search/query.js';
import type { QueryPosition } from '../../src/search/query-cursor.js';
import { type SearchOptions, search } from '../../src/search/search.js';
import { files } from '../../src/sinks/files.js';
import { impatient } from '../http/virtual-time.js';
import { temporaryFolder } from '../temporary-folder.js';
import { unchecked } from '../unchecked.js';
import {
  addresses,
  allPosts,
  Crash,
  crashAfter,
  FROM,
  idsOf,
  linesIn,
  local,
  NIGHTLY,
  outputs,
  run,
  START,
  searchable,
  service,
  setUpService,
} from './nightly-search.js';

setUpService();

describe('search() with `incremental`', () => {
  describe('in a second run within the same minute', () => {
    const again = async () => {
      const folder = await temporaryFolder();
      service.clock.set(floorTo(MINUTE, START));
      await run(folder);
      const stored = () => readFile(path.join(folder, '2024-05-09.jsonl'));
      const before = await stored();
      const told: ProgressCounts[] = [];
      service.clock.advance(20 * SECOND);
      let requests = 0;
      const count = () => requests++;
      service.on('request', count);
      const { added } = await pipeline(search(local(), NIGHTLY), files(outputs(folder)), {
        progress: counts => told.push(counts),
      });
      service.off('request', count);
      return { added, told, requests, before, after: await stored() };
    };

    it('reports no new posts in its progress and result', async () => {
      const { added, told } = await again();
      expect(added).toBe(0);
      expect(told.at(-1)).toMatchObject({ note: 'nothing new', received: 0, written: 0 });
    });

    it('sends no request', async () => {
      expect((await again()).requests).toBe(0);
    });

    it('leaves the files unchanged', async () => {
      const { before, after } = await again();
      expect(after).toEqual(before);
    });
  });

  it('requests no minutes that are still in the future of the service if the local clock is ahead', async () => {
    const folder = await temporaryFolder();
    service.clock.set(START);
    const ahead = () => {
      const { serviceTime: _, ...others } = addresses;
      const timing = { ...impatient(), now: () => service.clock.now() + 3 * HOUR };
      return account({ ...others, timing, limits: { search: [] } }, {});
    };
    const once = () => pipeline(search(ahead(), NIGHTLY), dedupe(), files(outputs(folder)));
    await once();
    service.clock.advance(5 * HOUR);
    await once();
    service.clock.advance(MINUTE);
    await pipeline(search(local(), NIGHTLY), dedupe(), files(outputs(folder)));
    expect(idsOf(await linesIn(folder))).toEqual(idsOf(await allPosts(searchable())));
  });

  it('ends at the newest searchable minute of the service if the local clock is 50 s ahead', async () => {
    service.clock.set(START);
    const { serviceTime: _, ...others } = addresses;
    const timing = { ...impatient(), now: () => service.clock.now() + 50 * SECOND };
    const ahead = account({ ...others, timing, limits: { search: [] } }, {});
    const ends = new Set<string | undefined>();
    for await (const { cursor } of search(ahead, NIGHTLY).batches())
      ends.add(JSON.parse(JSON.stringify(cursor ?? {})).window?.toDate);
    expect([...ends]).toEqual([searchable()]);
  });

  it('reports minutes that are too old for 30day as a gap, and continues after them', async () => {
    const folder = await temporaryFolder();
    service.clock.set(START);
    const common = { ...NIGHTLY, product: '30day', maxResults: 500 } as const;
    const once = (options: Partial<SearchOptions> = {}) =>
      pipeline(search(local(), { ...common, ...options }), files(outputs(folder)));
    const first = await once();
    const end = searchable();
    service.clock.advance(40 * DAY);
    const error = await once().catch(error => error);
    expect(error).toBeInstanceOf(IncompleteError);
    const gaps: QueryGap[] = [];
    const second = await once({ onGap: gap => void gaps.push(gap) });
    expect(gaps).toEqual([{ fromDate: end, toDate: expect.any(String), reason: 'expired' }]);
    expect(error.missing).toEqual([`${end} to ${gaps[0]?.toDate}`]);
    expect(second.added).toBeGreaterThan(0);
    expect(second.posts).toBe(first.posts + (second.added ?? 0));
  });

  const { query, ...others } = NIGHTLY;
  const rules = query.split(' OR ').map(value => ({ value }));
  it.each([
    ['before its first page', { query }, 0, 0],
    ['before a slice', { query, slices: 3, maxResults: 10 }, 20, 40],
    ['within a slice', { query, slices: 3, maxResults: 10 }, 59, 5],
    ['between queries', { rules, queryLimits: { clauses: 2 } }, 60, 20],
    ['between slices of queries', { rules, slices: 4, queryLimits: { clauses: 2 } }, 60, 20],
  ] as const)(
    'continues a run that was interrupted %s after the minutes that 30day has lost since then',
    async (_, given, crash, again) => {
      const folder = await temporaryFolder();
      service.clock.set(START);
      const gaps: QueryGap[] = [];
      const once = async (after?: number, onGap?: (gap: QueryGap) => void) => {
        const options = { ...others, maxResults: 100, ...given, product: '30day', onGap } as const;
        const flow: Flow<Activity> = search(local(), options);
        return pipeline(flow, crashAfter(after), files(outputs(folder)));
      };
      const end = searchable();
      await expect(once(crash)).rejects.toThrow(Crash);
      service.clock.advance(30 * DAY);
      await expect(once()).rejects.toThrow('has not fetched its window in time');
      const onGap = (gap: QueryGap) => void gaps.push(gap);
      await expect(once(again, onGap)).rejects.toThrow(Crash);
      service.clock.advance(6 * HOUR);
      // This run completes the interrupted window, and ends within the next window.
      await expect(once(200, onGap)).rejects.toThrow(Crash);
      expect(gaps[0]?.fromDate).toBe(FROM);
      const from = gaps
        .map(({ toDate }) => toDate)
        .sort()
        .at(-1) as string;
      const left = await allPosts(end, from);
      const ids = idsOf(await linesIn(folder));
      expect(new Set(ids).size).toBe(ids.length);
      expect(ids).toEqual(expect.arrayContaining(idsOf(left)));
    },
  );
});

/** Returns the next window of an incremental search whose last run ended at `toDate`. */
function nextAfter(toDate: string, options: Partial<Query> = {}) {
  const clock = { now: () => Date.UTC(2024, 4, 9, 12, 30, 20) };
  return nextWindow(
    unchecked<Query>({
      product: '30day',
      params: {},
      source: 'search',
      account: { clock },
      ...options,
    }),
    unchecked<QueryPosition>({ done: true, window: { toDate } }),
    undefined,
    new AbortController().signal,
  );
}

it('nextWindow reports a gap only if the last run ended before the oldest minute of 30day', async () => {
  const gaps: QueryGap[] = [];
  await nextAfter('202401010000', { onGap: gap => void gaps.push(gap) });
  const earliest = gaps[0]?.toDate as string;
  expect(await nextAfter(earliest)).toMatchObject({ fromDate: earliest });
  const before = formatTimestamp((parseTimestamp(earliest) as number) - MINUTE);
  await expect(nextAfter(before)).rejects.toThrow(IncompleteError);
});

it('nextWindow continues at the end of the last run for fullarchive, however long ago that is', async () => {
  const window = await nextAfter('202401010000', { product: 'fullarchive' });
  expect(window.fromDate).toBe('202401010000');
});

it.each([
  [MINUTE, '202404081232'],
  [HOUR, '202404081300'],
  [DAY, '202404090000'],
])(
  'nextWindow continues after a gap at the first whole unit of %i ms that 30day still has',
  async (runsEndAt, fromDate) => {
    const window = await nextAfter('202401010000', { runsEndAt, onGap: () => {} });
    expect(window.fromDate).toBe(fromDate);
  },
);
