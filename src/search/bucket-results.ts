import { DataError } from '../errors.js';
import { excerpt } from '../json/excerpt.js';
import { mergeRanges, overlap } from '../minute-ranges.js';
import {
  DAY,
  floorTo,
  formatTimestamp,
  HOUR,
  MINUTE,
  parseTimestamp,
  type Window,
} from '../time.js';
import type { EchoedWindow, Page } from './fetch-page.js';
import type { Params } from './query.js';
import type { QueryPosition } from './query-cursor.js';
import type { Results } from './run-query.js';

/** The length of the spans of time that `counts` counts. */
export type Bucket = 'day' | 'hour' | 'minute';

/** The number of matching posts in one span of time. */
export interface CountBucket {
  /** The start of the bucket in the service's form: `YYYYMMDDHHMM`, UTC. */
  readonly timePeriod: string;
  readonly start: Date;
  readonly count: number;
}

/** In milliseconds. */
export const BUCKET_LENGTHS: Readonly<Record<Bucket, number>> = {
  day: DAY,
  hour: HOUR,
  minute: MINUTE,
};

/** The buckets of one run of `counts`. The service sends every bucket of the window exactly once. */
export class BucketResults implements Results<CountBucket> {
  readonly #params: Params;
  readonly #lengthMs: number;
  readonly #isWhole: boolean;
  readonly #coverage: BucketCoverage;

  /** @param isWhole Whether the run started at the first page. */
  constructor(bucket: Bucket, params: Params, isWhole: boolean) {
    this.#params = params;
    this.#lengthMs = BUCKET_LENGTHS[bucket];
    this.#isWhole = isWhole;
    this.#coverage = new BucketCoverage(this.#lengthMs);
  }

  parse(bytes: Buffer, origin: string): CountBucket {
    const text = bytes.toString();
    const { timePeriod, count } = parseObject(text, origin);
    const start = typeof timePeriod === 'string' ? parseTimestamp(timePeriod) : undefined;
    if (start === undefined || !Number.isSafeInteger(count) || (count as number) < 0)
      throw notBucket(text, origin);
    return { timePeriod: timePeriod as string, start: new Date(start), count: count as number };
  }

  receive(page: Page<CountBucket>): void {
    checkTotal(page);
    for (const { start } of page.items) this.#coverage.add(start.getTime());
    if (page.next === undefined)
      this.#coverage.end({ ...this.#params, ...page.window }, this.#isWhole);
  }

  timeOf({ start }: CountBucket): number {
    return start.getTime();
  }

  fractionOf({ from, to }: Window, { items }: QueryPosition): number {
    return (items * this.#lengthMs) / (to - from);
  }

  missing({ window, items }: QueryPosition): string {
    const { fromDate = 'the start', toDate = 'now' } = window;
    return `counts from ${fromDate} to ${toDate}, but for ${items} buckets`;
  }
}

function parseObject(text: string, origin: string): { readonly [key: string]: unknown } {
  try {
    return JSON.parse(text) ?? {};
  } catch (cause) {
    throw notBucket(text, origin, cause);
  }
}

function notBucket(text: string, origin: string, cause?: unknown): DataError {
  return new DataError(`A result is not a count of a bucket: ${excerpt(text)}`, {
    cause,
    position: { origin },
  });
}

function checkTotal({ items, rest: { totalCount } }: Page<CountBucket>): void {
  const sum = items.reduce((total, { count }) => total + count, 0);
  if (totalCount !== undefined && totalCount !== sum)
    throw new DataError(
      `The service says that the counts of a page add up to ${String(totalCount)}, but their sum is ${sum}`,
    );
}

/**
 * The buckets that one run of `counts` has received, in any order. The service sends every bucket
 * of the window once, including empty ones, so a repeated or missing bucket is an error
 * of the service that would make a sum wrong.
 */
class BucketCoverage {
  readonly #lengthMs: number;
  /** In order; one range, unless pages are out of order. */
  #covered: readonly Window[] = [];
  #latestStart = Number.NEGATIVE_INFINITY;

  constructor(lengthMs: number) {
    this.#lengthMs = lengthMs;
  }

  /** @throws DataError If the bucket was received before. */
  add(start: number): void {
    const from = floorTo(this.#lengthMs, start);
    const bucket = { from, to: from + this.#lengthMs };
    if (this.#covered.some(one => overlap(one, bucket) !== undefined))
      throw new DataError(`The service counts the bucket ${formatTimestamp(start)} twice`);
    this.#latestStart = Math.max(this.#latestStart, start);
    this.#covered = mergeRanges([...this.#covered, bucket], () => true);
  }

  /**
   * Must be called after the last page.
   *
   * @param isWhole Whether this run started at the first page. If not, earlier pages, which this run
   * has not seen, have one end of the window.
   * @throws DataError If buckets of the window are missing.
   */
  end({ fromDate, toDate }: EchoedWindow, isWhole: boolean): void {
    const [first, second] = this.#covered;
    if (first !== undefined && second !== undefined) this.#leftOut(first.to, second.from);
    const from = fromDate === undefined ? undefined : parseTimestamp(fromDate);
    const to = toDate === undefined ? undefined : parseTimestamp(toDate);
    if (from === undefined || to === undefined) return;
    const start = floorTo(this.#lengthMs, from);
    const end = floorTo(this.#lengthMs, to + this.#lengthMs - 1);
    const reachesStart = first !== undefined && first.from <= start;
    const reachesEnd = this.#latestStart + this.#lengthMs >= to;
    if (isWhole ? reachesStart && reachesEnd : reachesStart || reachesEnd) return;
    if (first !== undefined && !reachesEnd) this.#leftOut(first.to, end);
    this.#leftOut(start, first?.from ?? end);
  }

  #leftOut(from: number, to: number): never {
    const count = (to - from) / this.#lengthMs;
    const [first, last] = [from, to - this.#lengthMs].map(formatTimestamp);
    throw new DataError(
      `The service says that it has no more, but left out ${count === 1 ? `the bucket ${first}` : `${count} buckets, from ${first} to ${last}`}`,
    );
  }
}
