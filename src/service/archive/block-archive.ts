import type { Format } from '../../activity/activity.js';
import { floorTo, SECOND, SEGMENT, type Window } from '../../time.js';
import { EventLoopYield } from '../event-loop-yield.js';
import {
  type Archive,
  type ArchivedPost,
  type ArchiveQuery,
  type CountedBucket,
  type CountsOptions,
  type CountsResult,
  newestFirst,
  type ScannedSegment,
  type ScanOptions,
  type SearchOptions,
  type SearchResult,
  type SortKey,
} from './archive.js';
import type { Block, BlockStore } from './block.js';
import { candidateDocuments } from './candidate-documents.js';
import type { DocumentSet } from './document-set.js';

/** The number of posts that are read together to test whether they match. */
const BATCH = 128;

/** A bucket that is being counted. */
type Bucket = { -readonly [K in keyof CountedBucket]: CountedBucket[K] };

/**
 * An archive over blocks. Posts are read only for delivery, or if the index of a block cannot decide
 * a match.
 */
export class BlockArchive implements Archive {
  readonly format: Format;
  protected readonly now: () => number;
  readonly #blocks: BlockStore;

  /** No post after `now` is served. */
  constructor(
    format: Format,
    blocks: BlockStore,
    now: () => number = () => Number.POSITIVE_INFINITY,
  ) {
    this.format = format;
    this.#blocks = blocks;
    this.now = now;
  }

  async search(
    rule: ArchiveQuery,
    window: Window,
    { limit, after, signal }: SearchOptions,
  ): Promise<SearchResult> {
    const work = new EventLoopYield(signal);
    const span = this.#span(window);
    const newest =
      after === undefined ? span : { ...span, to: Math.min(span.to, after.at + SECOND) };
    const posts: ArchivedPost[] = [];
    for (const range of [...this.#blocks.within(newest)].reverse()) {
      await work.pause();
      const block = await this.#blocks.open(range);
      const [start, end] = documentRange(block, newest, after);
      if (start === end) continue;
      const { documents, exact } = candidateDocuments(rule.tree, block);
      const size = exact ? limit + 1 - posts.length : BATCH;
      for (const batch of batches(documents, start, end, size)) {
        const found = exact ? batch : await verifiedMatches(rule, block, batch, work);
        const kept = found.slice(0, limit - posts.length);
        posts.push(...(await loadPosts(block, kept, signal)));
        if (kept.length < found.length) return { posts, more: true };
      }
    }
    return { posts, more: false };
  }

  async counts(
    rule: ArchiveQuery,
    window: Window,
    bucketMs: number,
    { deadlineMs = Number.POSITIVE_INFINITY, signal }: CountsOptions = {},
  ): Promise<CountsResult> {
    const work = new EventLoopYield(signal);
    const started = performance.now();
    const first = floorTo(bucketMs, window.from);
    const buckets: Bucket[] = [];
    for (let start = first; start < window.to; start += bucketMs) buckets.push({ start, count: 0 });
    const bucketAt = (at: number) => buckets[Math.floor((at - first) / bucketMs)] as Bucket;
    let reached = window.to;
    for (const range of this.#blocks.within(this.#span(window))) {
      await work.pause();
      const whole = Math.floor((range.from - first) / bucketMs);
      if (whole > 0 && performance.now() - started > deadlineMs) {
        reached = first + whole * bucketMs;
        break;
      }
      const block = await this.#blocks.open(range);
      const [start, end] = documentRange(block, this.#span(window));
      const { documents, exact } = candidateDocuments(rule.tree, block);
      if (exact) {
        for (let newest = start; newest < end; ) {
          const bucket = bucketAt(block.timeAt(newest));
          const next = firstWhere(end, document => block.timeAt(document) < bucket.start);
          bucket.count += documents.count(newest, next);
          newest = next;
        }
        continue;
      }
      for (const batch of batches(documents, start, end, BATCH))
        for (const document of await verifiedMatches(rule, block, batch, work))
          bucketAt(block.timeAt(document)).count++;
    }
    return { buckets: buckets.filter(({ start }) => start < reached), reached };
  }

  async *scan(
    window: Window,
    { wanted, signal }: ScanOptions = {},
  ): AsyncGenerator<ScannedSegment> {
    const work = new EventLoopYield(signal);
    const span = this.#span(window);
    let pending: { segment: number; posts: ArchivedPost[] } | undefined;
    for (const range of this.#blocks.within(span)) {
      const block = await this.#blocks.open(range);
      const [start, end] = documentRange(block, span);
      for (let newest = end; newest > start; ) {
        await work.pause();
        const segment = floorTo(SEGMENT, block.timeAt(newest - 1));
        let oldest = newest;
        while (newest > start && block.timeAt(newest - 1) < segment + SEGMENT) newest--;
        const documents: number[] = [];
        while (oldest > newest) {
          const document = --oldest;
          if (work.isDue) await work.pause();
          if (wanted?.({ at: block.timeAt(document), id: block.idAt(document) }) ?? true)
            documents.push(document);
        }
        if (documents.length === 0) continue;
        const posts = await loadPosts(block, documents, signal);
        // A segment may span two blocks.
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
    return { from, to: Math.min(to, this.now() + 1) };
  }
}

/** The range of documents of a block that are in a window and after a sort key: first and end. */
function documentRange(block: Block, { from, to }: Window, after?: SortKey): [number, number] {
  let start = firstWhere(block.count, document => block.timeAt(document) < to);
  if (after !== undefined) {
    const keyOf = (document: number) => ({ at: block.timeAt(document), id: block.idAt(document) });
    const next = firstWhere(block.count, document => newestFirst(after, keyOf(document)) < 0);
    start = Math.max(start, next);
  }
  const end = firstWhere(block.count, document => block.timeAt(document) < from);
  return [Math.min(start, end), end];
}

/**
 * The first number below `count` for which `holds` is true, or `count`. A binary search: all later
 * numbers hold, too.
 */
export function firstWhere(count: number, holds: (n: number) => boolean): number {
  let low = 0;
  let high = count;
  while (low < high) {
    const middle = (low + high) >>> 1;
    if (holds(middle)) high = middle;
    else low = middle + 1;
  }
  return low;
}

function* batches(
  documents: DocumentSet,
  start: number,
  end: number,
  size: number,
): Generator<readonly number[]> {
  let batch: number[] = [];
  for (const document of documents.members(start, end)) {
    batch.push(document);
    if (batch.length < size) continue;
    yield batch;
    batch = [];
  }
  if (batch.length > 0) yield batch;
}

async function verifiedMatches(
  rule: ArchiveQuery,
  block: Block,
  documents: readonly number[],
  work: EventLoopYield,
): Promise<readonly number[]> {
  await work.pause();
  const activities = await block.load(documents, work.signal);
  return documents.filter((_, i) => {
    const activity = activities[i];
    return activity !== undefined && rule.matches(activity);
  });
}

async function loadPosts(
  block: Block,
  documents: readonly number[],
  signal: AbortSignal | undefined,
): Promise<readonly ArchivedPost[]> {
  const activities = await block.load(documents, signal);
  return activities.map((activity, i) => {
    const document = documents[i] as number;
    return { at: block.timeAt(document), id: block.idAt(document), activity };
  });
}
