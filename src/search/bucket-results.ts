import { DataError } from '../errors.js';
import { excerpt } from '../json/excerpt.js';
import { DAY, HOUR, MINUTE, parseTimestamp, type Window } from '../time.js';
import { BucketCoverage } from './bucket-coverage.js';
import type { Page } from './fetch-page.js';
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

const LENGTHS_MS: Readonly<Record<Bucket, number>> = { day: DAY, hour: HOUR, minute: MINUTE };

/** The buckets of one run of `counts`. The service sends every bucket of the window exactly once. */
export class BucketResults implements Results<CountBucket> {
  readonly #params: Params;
  readonly #lengthMs: number;
  readonly #isWhole: boolean;
  readonly #coverage: BucketCoverage;

  /** @param isWhole Whether the run started at the first page. */
  constructor(bucket: Bucket, params: Params, isWhole: boolean) {
    this.#params = params;
    this.#lengthMs = LENGTHS_MS[bucket];
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
