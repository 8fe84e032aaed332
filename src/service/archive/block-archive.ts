import { floorTo, SECOND, SEGMENT, type Window } from '../../base/time.js';
import type { Format } from '../../post/activity.js';
import { Deadline, EventLoopYield } from '../event-loop-yield.js';
import {
  type Archive,
  type ArchivedPost,
  type ArchiveQuery,
  type CountsOptions,
  type CountsResult,
  newestFirst,
  type ScannedSegment,
  type ScanOptions,
  type SearchOptions,
  type SearchResult,
  type SortKey,
} from './archive.js';
import type { Block, BlockStore, DocumentSet } from './block.js';
import { candidateDocuments } from './candidate-documents.js';

const POSTS_PER_TEST = 128;

/**
 * An archive made of blocks, each with an index. A post is read only to deliver it, or if the index cannot
 * decide whether it matches.
 */
export class BlockArchive implements Archive {
  readonly format: Format;
  protected readonly now: () => number;
  readonly #blocks: BlockStore;

  /** Posts later than the time that `now` returns are not served. */
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
    { limit, after, deadlineMs, signal }: SearchOptions,
  ): Promise<SearchResult> {
    const work = new EventLoopYield(signal);
    const span = this.#span(window);
    const newest =
      after === undefined ? span : { ...span, to: Math.min(span.to, after.at + SECOND) };
    const deadline = new Deadline(deadlineMs);
    const posts: ArchivedPost[] = [];
    let reached: SortKey | undefined;
    for (const range of this.#blocks.within(newest, true)) {
      if (reached !== undefined && deadline.isPast) return { posts, more: false, reached };
      await work.pause();
      const block = await this.#blocks.open(range);
      const [start, end] = documentRange(block, newest, after);
      const { documents, exact } = candidateDocuments(rule.tree, block);
      const size = exact ? limit + 1 - posts.length : POSTS_PER_TEST;
      for (const batch of batches(documents.members(start, end), size)) {
        if (reached !== undefined && deadline.isPast) return { posts, more: false, reached };
        const found = exact ? batch : await verifiedMatches(rule, block, batch, work);
        const kept = found.slice(0, limit - posts.length);
        posts.push(...(await loadPosts(block, kept, signal)));
        if (kept.length < found.length) return { posts, more: true };
        reached = keyOf(block, batch.at(-1) as number);
      }
      const edge = { at: range.from, id: '0' };
      // `reached` must never be a position before `after`. If `after` sorts after `edge`, no post of this
      // block was searched, so `reached` keeps its value.
      if (after === undefined || newestFirst(after, edge) < 0) reached = edge;
    }
    return { posts, more: false };
  }

  async counts(
    rule: ArchiveQuery,
    window: Window,
    bucketMs: number,
    options: CountsOptions = {},
  ): Promise<CountsResult> {
    const { newestFirst = false, deadlineMs, signal } = options;
    const work = new EventLoopYield(signal);
    const deadline = new Deadline(deadlineMs);
    const counts = new BucketCounts(window, bucketMs);
    const stopAt = (edge: number) =>
      counts.of(newestFirst ? { ...window, from: edge } : { ...window, to: edge });
    const span = this.#span(window);
    for (const range of this.#blocks.within(span, newestFirst)) {
      if (deadline.isPast)
        return stopAt(
          newestFirst ? Math.min(range.to, window.to) : Math.max(range.from, window.from),
        );
      await work.pause();
      const block = await this.#blocks.open(range);
      const [start, end] = documentRange(block, span);
      const { documents, exact } = candidateDocuments(rule.tree, block);
      if (exact) {
        counts.addAll(block, documents, start, end);
        continue;
      }
      const members = [...documents.members(start, end)];
      if (!newestFirst) members.reverse();
      let last: number | undefined;
      for (const batch of batches(members, POSTS_PER_TEST)) {
        const at = block.timeAt(batch[0] as number);
        // Counting stops between two seconds, so that each post is either counted or left for the
        // next call.
        if (at !== last && deadline.isPast) return stopAt(newestFirst ? at + SECOND : at);
        for (const document of await verifiedMatches(rule, block, batch, work))
          counts.add(block.timeAt(document));
        last = block.timeAt(batch.at(-1) as number);
      }
    }
    return counts.of(window);
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
        // A segment that spans two blocks is yielded once, with the posts of both.
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

class BucketCounts {
  readonly #first: number;
  readonly #bucketMs: number;
  readonly #counts: number[];

  constructor({ from, to }: Window, bucketMs: number) {
    this.#bucketMs = bucketMs;
    this.#first = floorTo(bucketMs, from);
    this.#counts = new Array<number>(Math.max(this.#indexOf(to - 1) + 1, 0)).fill(0);
  }

  add(at: number, count = 1): void {
    const index = this.#indexOf(at);
    this.#counts[index] = (this.#counts[index] as number) + count;
  }

  addAll(block: Block, documents: DocumentSet, start: number, end: number): void {
    for (let newest = start; newest < end; ) {
      const bucket = floorTo(this.#bucketMs, block.timeAt(newest));
      const next = firstWhere(end, document => block.timeAt(document) < bucket);
      this.add(bucket, documents.count(newest, next));
      newest = next;
    }
  }

  /**
   * Returns the buckets of the counted part of the window. The caller must not have added posts outside of
   * this part.
   */
  of(counted: Window): CountsResult {
    const { from, to } = counted;
    if (from >= to) return { buckets: [], counted };
    const [first, last] = [this.#indexOf(from), this.#indexOf(to - 1)];
    const buckets = this.#counts.slice(first, last + 1).map((count, i) => ({
      start: this.#first + (first + i) * this.#bucketMs,
      count,
    }));
    return { buckets, counted };
  }

  #indexOf(at: number): number {
    return Math.floor((at - this.#first) / this.#bucketMs);
  }
}

function keyOf(block: Block, document: number): SortKey {
  return { at: block.timeAt(document), id: block.idAt(document) };
}

/**
 * Returns the range of a block's documents that are in a window and sort after a key. The result is the first
 * document and the exclusive end.
 */
function documentRange(block: Block, { from, to }: Window, after?: SortKey): [number, number] {
  let start = firstWhere(block.count, document => block.timeAt(document) < to);
  if (after !== undefined) {
    const next = firstWhere(
      block.count,
      document => newestFirst(after, keyOf(block, document)) < 0,
    );
    start = Math.max(start, next);
  }
  const end = firstWhere(block.count, document => block.timeAt(document) < from);
  return [Math.min(start, end), end];
}

/**
 * Returns the first number below `count` for which `holds` is true, or `count` if there is none. Because this is
 * a binary search, `holds` must be true for all numbers after the first.
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

function* batches(documents: Iterable<number>, size: number): Generator<readonly number[]> {
  let batch: number[] = [];
  for (const document of documents) {
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
