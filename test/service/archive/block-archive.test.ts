import fc from 'fast-check';
import { describe, expect, it, onTestFinished, vi } from 'vitest';
import { floorTo, HOUR, MINUTE, SECOND, SEGMENT, type Window } from '../../../src/base/time.js';
import { Activity } from '../../../src/post/activity.js';
import { newestFirst, type SortKey } from '../../../src/service/archive/archive.js';
import { type Block, type BlockStore, DocumentSet } from '../../../src/service/archive/block.js';
import { BlockArchive } from '../../../src/service/archive/block-archive.js';
import { newestPost } from '../../../src/service/archive/look-up-post.js';
import { bySuite } from '../../suite.js';

const START = Date.UTC(2024, 4, 1);

function blockOf(times: readonly number[]): Block {
  return {
    count: times.length,
    timeAt: document => times[document] as number,
    idAt: document => String(times[document]),
    postings: () => new DocumentSet(times.length),
    load: async documents =>
      documents.map(document => new Activity(Buffer.from(`{"id_str":"${times[document]}"}`))),
  };
}

it('the scan of an archive returns a post at the first moment of a segment in that segment only', async () => {
  const edge = START + SEGMENT;
  // The last post of the first segment and the first post of the second segment are in the same
  // block.
  const blocks = [
    blockOf([edge, edge - SECOND, START]),
    blockOf([edge + SEGMENT, edge + SEGMENT - SECOND, edge + SECOND]),
  ];
  const middle = edge + SECOND;
  const ranges = [
    { from: START, to: middle },
    { from: middle, to: edge + 2 * SEGMENT },
  ];
  const store: BlockStore = {
    within: () => ranges,
    open: async range => blocks[ranges.indexOf(range)] as Block,
    close: async () => {},
  };
  const archive = new BlockArchive('original', store);
  const found: (readonly [number, readonly number[]])[] = [];
  for await (const { segment, posts } of archive.scan({ from: START, to: edge + 2 * SEGMENT }))
    found.push([segment, posts.map(({ at }) => at)]);
  expect(found).toEqual([
    [START, [START, edge - SECOND]],
    [edge, [edge, middle, edge + SEGMENT - SECOND]],
    [edge + SEGMENT, [edge + SEGMENT]],
  ]);
});

const window = { from: START, to: START + 600 * SECOND };
const all = { kind: 'and', nodes: [], start: 0, end: 0 } as const;

/** Returns an archive that cannot count its posts without reading them. */
function archiveOf(times: readonly number[]) {
  const middle = START + 300 * SECOND;
  const newestFirst = times.toSorted((a, b) => b - a);
  const store: BlockStore = {
    within: (_window, newest) => {
      const ranges = [
        { from: START, to: middle },
        { from: middle, to: window.to },
      ];
      return newest ? ranges.reverse() : ranges;
    },
    open: async ({ from, to }) => blockOf(newestFirst.filter(at => at >= from && at < to)),
    close: async () => {},
  };
  return new BlockArchive('original', store);
}

function slowClock() {
  let now = 0;
  const clock = vi.spyOn(performance, 'now').mockImplementation(() => ++now);
  onTestFinished(() => void clock.mockRestore());
}

describe('counting posts of an archive with a deadline', () => {
  it('stops within a bucket, and reports which part of the window is counted', async () => {
    slowClock();
    const times = Array.from({ length: 600 }, (_, i) => START + i * SECOND);
    const archive = archiveOf(times);
    const counted = async (newestFirst: boolean) => {
      const options = { deadlineMs: 8, newestFirst };
      return archive.counts({ tree: all, matches: () => true }, window, HOUR, options);
    };
    const newest = await counted(true);
    expect(newest.counted.to).toBe(window.to);
    expect(newest.counted.from).toBeGreaterThan(window.from);
    const seconds = (newest.counted.to - newest.counted.from) / SECOND;
    expect(seconds).toBeGreaterThan(0);
    expect(newest.buckets).toEqual([{ start: START, count: seconds }]);
    const oldest = await counted(false);
    expect(oldest.counted.from).toBe(window.from);
    expect(oldest.counted.to).toBeLessThan(window.to);
    expect(oldest.buckets[0]?.count).toBe((oldest.counted.to - window.from) / SECOND);
  });

  it.each([true, false])(
    'counts the posts of a second completely or not at all (newest first: %s)',
    async newestFirst => {
      slowClock();
      const times = [...Array(300).fill(START + 2 * SECOND), START + SECOND, START + 3 * SECOND];
      const archive = archiveOf(times);
      const found = new Set<number>();
      for (let deadlineMs = 0; deadlineMs < 40; deadlineMs++) {
        const rule = { tree: all, matches: () => true };
        const options = { deadlineMs, newestFirst };
        const { buckets, counted } = await archive.counts(rule, window, HOUR, options);
        const covered = times.filter(at => at >= counted.from && at < counted.to).length;
        expect(buckets.reduce((sum, { count }) => sum + count, 0)).toBe(covered);
        found.add(covered);
      }
      expect([...found].toSorted((a, b) => a - b)).toEqual([0, 302]);
    },
  );

  it('returns the counts of the reported part for any posts, order and deadline', async () => {
    slowClock();
    await fc.assert(
      fc.asyncProperty(
        fc.array(fc.nat(599), { maxLength: 900 }),
        fc.nat(40),
        fc.boolean(),
        fc.constantFrom(MINUTE, HOUR),
        async (seconds, deadlineMs, newestFirst, bucketMs) => {
          const times = seconds.map(second => START + second * SECOND);
          const options = { deadlineMs, newestFirst };
          const rule = { tree: all, matches: () => true };
          const { buckets, counted } = await archiveOf(times).counts(
            rule,
            window,
            bucketMs,
            options,
          );
          expect(newestFirst ? counted.to : counted.from).toBe(
            newestFirst ? window.to : window.from,
          );
          const expected: { start: number; count: number }[] = [];
          for (let start = floorTo(bucketMs, counted.from); start < counted.to; start += bucketMs) {
            const from = Math.max(start, counted.from);
            const to = Math.min(start + bucketMs, counted.to);
            expected.push({ start, count: times.filter(at => at >= from && at < to).length });
          }
          expect(buckets).toEqual(counted.from < counted.to ? expected : []);
        },
      ),
      { numRuns: bySuite(13, 500) },
    );
  });
});

it('a search for the newest post reads no other post of its block', async () => {
  const times = Array.from({ length: 1000 }, (_, i) => START + (1000 - i) * SECOND);
  const block = blockOf(times);
  const read: number[] = [];
  const windows: Window[] = [];
  const store: BlockStore = {
    within(window) {
      windows.push(window);
      return [{ from: START, to: START + 1001 * SECOND }];
    },
    open: async () => ({
      ...block,
      load(documents) {
        read.push(...documents);
        return block.load(documents);
      },
    }),
    close: async () => {},
  };
  const archive = new BlockArchive('original', store);
  expect((await newestPost(archive, START + 500 * SECOND))?.at).toBe(START + 500 * SECOND);
  expect(read.length).toBeLessThanOrEqual(2);
  // Without a limit, the archive would list every block since 2006.
  expect(windows.map(({ from, to }) => to - from)).toEqual([MINUTE]);
});

describe('searching an archive with a deadline', () => {
  it('stops within a block, and continues there on the next page', async () => {
    slowClock();
    const times = Array.from({ length: 600 }, (_, i) => START + i * SECOND);
    const rule = { tree: all, matches: () => false };
    const first = await archiveOf(times).search(rule, window, { limit: 10, deadlineMs: 4 });
    expect(first).toMatchObject({ posts: [], more: false });
    expect(first.reached?.at).toBeGreaterThan(START + 300 * SECOND);
    expect(first.reached?.at).toBeLessThan(window.to - SECOND);
    expect(await archiveOf(times).search(rule, window, { limit: 10 })).toEqual({
      posts: [],
      more: false,
    });
  });

  it('finds each post exactly once over all pages, for any posts, limit and deadline', async () => {
    slowClock();
    await fc.assert(
      fc.asyncProperty(
        fc.uniqueArray(fc.nat(599), { maxLength: 600 }),
        fc.integer({ min: 1, max: 9 }),
        fc.nat(40),
        fc.integer({ min: 1, max: 200 }),
        async (seconds, limit, deadlineMs, nth) => {
          const times = seconds.map(second => START + second * SECOND);
          const matches = ({ id }: Activity) => (Number(id) / SECOND) % nth === 0;
          const archive = archiveOf(times);
          const found: number[] = [];
          let after: SortKey | undefined;
          for (;;) {
            const options = { limit, after, deadlineMs };
            const page = await archive.search({ tree: all, matches }, window, options);
            found.push(...page.posts.map(({ at }) => at));
            const next = page.more ? page.posts.at(-1) : page.reached;
            if (next === undefined) break;
            if (after !== undefined) expect(newestFirst(after, next)).toBeLessThan(0);
            after = next;
          }
          const expected = times.filter(at => (at / SECOND) % nth === 0);
          expect(found).toEqual(expected.toSorted((a, b) => b - a));
        },
      ),
    );
  });
});
