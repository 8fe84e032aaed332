import type { Format } from '../../activity/activity.js';
import { floorTo, SECOND, SEGMENT, type Window } from '../../time.js';
import { EventLoopYield } from '../event-loop-yield.js';
import type {
  Archive,
  ArchivedPost,
  ArchiveQuery,
  CountedBucket,
  CountsAnswer,
  CountsOptions,
  Place,
  ScannedSegment,
  SearchAnswer,
  SearchOptions,
} from './archive.js';
import type { Block, Blocks } from './block.js';
import { type Candidates, candidates } from './candidates.js';
import type { Ordinals } from './ordinals.js';

/** Posts that are read at once to see whether they match. */
const BATCH = 128;

/** The archive over blocks: what a block's index cannot decide, the posts themselves do. */
export class BlockArchive implements Archive {
  readonly format: Format;
  readonly #blocks: Blocks;
  readonly #now: () => number;

  /** No post after `now` is served. */
  constructor(format: Format, blocks: Blocks, now: () => number = () => Number.POSITIVE_INFINITY) {
    this.format = format;
    this.#blocks = blocks;
    this.#now = now;
  }

  async search(
    rule: ArchiveQuery,
    window: Window,
    { limit, after, signal }: SearchOptions,
  ): Promise<SearchAnswer> {
    const work = new EventLoopYield(signal);
    const span = this.#span(window);
    const newest =
      after === undefined ? span : { ...span, to: Math.min(span.to, after.at + SECOND) };
    const posts: ArchivedPost[] = [];
    for (const stretch of [...this.#blocks.within(newest)].reverse()) {
      await work.pause();
      const block = await this.#blocks.open(stretch);
      const [start, end] = range(block, newest, after);
      if (start === end) continue;
      const wanted = limit + 1 - posts.length;
      const part = { block, start, end, ...candidates(rule.tree, block) };
      for await (const ordinals of matching(rule, part, work, wanted)) {
        const kept = ordinals.slice(0, limit - posts.length);
        posts.push(...(await archived(block, kept, signal)));
        if (kept.length < ordinals.length) return { posts, more: true };
      }
    }
    return { posts, more: false };
  }

  async counts(
    rule: ArchiveQuery,
    window: Window,
    bucketMs: number,
    { deadlineMs = Number.POSITIVE_INFINITY, signal }: CountsOptions = {},
  ): Promise<CountsAnswer> {
    const work = new EventLoopYield(signal);
    const started = performance.now();
    const first = floorTo(bucketMs, window.from);
    const buckets: CountedBucket[] = [];
    for (let start = first; start < window.to; start += bucketMs) buckets.push({ start, count: 0 });
    const counts = new Float64Array(buckets.length);
    let reached = window.to;
    for (const stretch of this.#blocks.within(this.#span(window))) {
      await work.pause();
      const whole = Math.floor((stretch.from - first) / bucketMs);
      if (whole > 0 && performance.now() - started > deadlineMs) {
        reached = first + whole * bucketMs;
        break;
      }
      const block = await this.#blocks.open(stretch);
      const [start, end] = range(block, this.#span(window), undefined);
      const part = { block, start, end, ...candidates(rule.tree, block) };
      await count(rule, part, work, { first, bucketMs, counts });
    }
    const complete = buckets.filter(bucket => bucket.start < reached);
    return {
      buckets: complete.map((bucket, i) => ({ ...bucket, count: counts[i] as number })),
      reached,
    };
  }

  async *scan(
    window: Window,
    { signal }: { readonly signal?: AbortSignal | undefined } = {},
  ): AsyncGenerator<ScannedSegment> {
    const work = new EventLoopYield(signal);
    const span = this.#span(window);
    let pending: { segment: number; posts: ArchivedPost[] } | undefined;
    for (const stretch of this.#blocks.within(span)) {
      const block = await this.#blocks.open(stretch);
      const [start, end] = range(block, span, undefined);
      for (let newest = end; newest > start; ) {
        await work.pause();
        const segment = floorTo(SEGMENT, block.timeAt(newest - 1));
        let oldest = newest;
        while (newest > start && block.timeAt(newest - 1) < segment + SEGMENT) newest--;
        const ordinals = Array.from({ length: oldest - newest }, () => --oldest);
        const posts = await archived(block, ordinals, signal);
        // A segment may be cut by the edge of a block.
        if (pending?.segment === segment) {
          pending.posts.push(...posts);
          continue;
        }
        if (pending !== undefined) yield pending;
        pending = { segment, posts: [...posts] };
      }
    }
    if (pending !== undefined) yield pending;
  }

  close(): Promise<void> {
    return this.#blocks.close();
  }

  #span({ from, to }: Window): Window {
    return { from, to: Math.min(to, this.#now() + 1) };
  }
}

/** Ordinals of a block's posts in a window and older than a place: from the first to the second. */
function range(block: Block, { from, to }: Window, after: Place | undefined): [number, number] {
  let start = firstWhere(block.count, ordinal => block.timeAt(ordinal) < to);
  if (after !== undefined) {
    const id = BigInt(after.id);
    start = Math.max(
      start,
      firstWhere(block.count, ordinal => {
        const at = block.timeAt(ordinal);
        return at < after.at || (at === after.at && BigInt(block.idAt(ordinal)) < id);
      }),
    );
  }
  const end = firstWhere(block.count, ordinal => block.timeAt(ordinal) < from);
  return [Math.min(start, end), end];
}

/** The least number below `count` that holds, or `count`; those that hold come last. */
function firstWhere(count: number, holds: (n: number) => boolean): number {
  let low = 0;
  let high = count;
  while (low < high) {
    const middle = (low + high) >>> 1;
    if (holds(middle)) high = middle;
    else low = middle + 1;
  }
  return low;
}

/** What of a block a window leaves, and which posts of it may match. */
interface Part extends Candidates {
  readonly block: Block;
  readonly start: number;
  readonly end: number;
}

/** Ordinals of matches, newest first, some at a time; at least `wanted` where there are as many. */
async function* matching(
  rule: ArchiveQuery,
  { block, ordinals, exact, start, end }: Part,
  work: EventLoopYield,
  wanted: number,
): AsyncGenerator<readonly number[]> {
  if (exact) {
    const found: number[] = [];
    for (const ordinal of ordinals.members(start, end)) {
      found.push(ordinal);
      if (found.length >= wanted) break;
    }
    yield found;
    return;
  }
  for (const batch of batches(ordinals, start, end)) yield verified(rule, block, batch, work);
}

interface Tally {
  /** Start of the first bucket. */
  readonly first: number;
  readonly bucketMs: number;
  readonly counts: Float64Array;
}

async function count(
  rule: ArchiveQuery,
  { block, ordinals, exact, start, end }: Part,
  work: EventLoopYield,
  { first, bucketMs, counts }: Tally,
): Promise<void> {
  const bucketOf = (ordinal: number) => Math.floor((block.timeAt(ordinal) - first) / bucketMs);
  const add = (bucket: number, n: number) => {
    counts[bucket] = (counts[bucket] as number) + n;
  };
  if (!exact) {
    for (const batch of batches(ordinals, start, end))
      for (const ordinal of await verified(rule, block, batch, work)) add(bucketOf(ordinal), 1);
    return;
  }
  for (let newest = start; newest < end; ) {
    const bucket = bucketOf(newest);
    const since = first + bucket * bucketMs;
    const next = Math.min(
      firstWhere(block.count, ordinal => block.timeAt(ordinal) < since),
      end,
    );
    add(bucket, ordinals.count(newest, next));
    newest = next;
  }
}

function* batches(ordinals: Ordinals, start: number, end: number): Generator<readonly number[]> {
  let batch: number[] = [];
  for (const ordinal of ordinals.members(start, end)) {
    batch.push(ordinal);
    if (batch.length < BATCH) continue;
    yield batch;
    batch = [];
  }
  if (batch.length > 0) yield batch;
}

async function verified(
  rule: ArchiveQuery,
  block: Block,
  ordinals: readonly number[],
  work: EventLoopYield,
): Promise<readonly number[]> {
  await work.pause();
  const activities = await block.load(ordinals, work.signal);
  return ordinals.filter((_, i) => {
    const activity = activities[i];
    return activity !== undefined && rule.matches(activity);
  });
}

async function archived(
  block: Block,
  ordinals: readonly number[],
  signal: AbortSignal | undefined,
): Promise<readonly ArchivedPost[]> {
  const activities = await block.load(ordinals, signal);
  return activities.map((activity, i) => {
    const ordinal = ordinals[i] as number;
    return { at: block.timeAt(ordinal), id: block.idAt(ordinal), activity };
  });
}
