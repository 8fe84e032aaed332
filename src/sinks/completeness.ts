import { optionError } from '../base/check.js';
import { hold } from '../flow/close-streams.js';
import { batchesOf, type Sink } from '../flow/flow.js';
import { withInternals } from '../flow/internals.js';
import { checkActivities, wrongItem } from '../flow/wrong-item.js';
import type { Activity } from '../post/activity.js';

/** The expected number of posts between `start` and the start of the next bucket. */
export interface ExpectedBucket {
  readonly start: Date;
  readonly count: number;
}

/** A bucket in which the number of received posts differs from the expected number. */
export interface DifferingBucket {
  readonly start: Date;
  readonly expected: number;
  readonly received: number;
}

/** The result of `completeness`, which compares posts with counts. */
export interface Completeness {
  /** Whether each bucket has the expected number of posts, and no post is outside the buckets. */
  readonly complete: boolean;
  readonly expected: number;
  readonly received: number;
  /** The number of posts before the first bucket or after the last bucket. */
  readonly outside: number;
  /** The buckets whose numbers differ, in chronological order. */
  readonly differing: readonly DifferingBucket[];
}

/**
 * Compares posts with the counts of the same query and window, bucket by bucket. The posts can come from a
 * replay or from stored files. Counts include posts that have since been deleted or have lost their geo data,
 * so slightly fewer posts than counted are normal. There can also be more posts than counted, because the rules
 * of a stream match the text of quoted posts, but counts do not. To avoid this, add `-is:quote` to both
 * queries.
 *
 * @param counts Buckets of equal length, such as those from `counts`.
 * @throws OptionError if `counts` is empty.
 * @example
 * const { complete, differing } = await pipeline(
 *   localFiles('out'), gunzip(), jsonLines(), activities(),
 *   completeness(counts(acme, { product: '30day', query: 'snow', bucket: 'minute', fromDate, toDate })),
 * );
 */
export function completeness(counts: AsyncIterable<ExpectedBucket>): Sink<Activity, Completeness> {
  if (typeof counts !== 'object' || counts === null || !(Symbol.asyncIterator in counts))
    throw optionError('completeness', 'counts', 'must be a flow of buckets, see `counts()`');
  const sink: Sink<Activity, Completeness> = async (input, { signal, progress } = {}) => {
    const expected: ExpectedBucket[] = [];
    for await (const { items, origin } of batchesOf(counts, { signal }))
      for (const item of items) expected.push(checkedBucket(item, origin));
    expected.sort((a, b) => a.start.getTime() - b.start.getTime());
    const starts = expected.map(({ start }) => start.getTime());
    const end = endOf(starts);
    const received = new Array<number>(starts.length).fill(0);
    let outside = 0;
    for await (const batch of batchesOf(input, { signal, progress })) {
      checkActivities('completeness', batch);
      for (const { postedAt } of batch.items) {
        const at = postedAt.getTime();
        const index = at < end ? lastAtOrBefore(starts, at) : -1;
        if (index === -1) outside++;
        else received[index] = (received[index] ?? 0) + 1;
      }
    }
    const compared = expected.map(({ start, count }, index) => ({
      start,
      expected: count,
      received: received[index] ?? 0,
    }));
    const differing = compared.filter(bucket => bucket.expected !== bucket.received);
    return {
      complete: differing.length === 0 && outside === 0,
      expected: sum(expected.map(({ count }) => count)),
      received: sum(received) + outside,
      outside,
      differing,
    };
  };
  return withInternals(hold(sink, [counts]), { holdsLocks: true });
}

function checkedBucket(item: unknown, origin: string | undefined): ExpectedBucket {
  const { start, count } = Object(item) as Partial<ExpectedBucket>;
  if (start instanceof Date && Number.isFinite(start.getTime()) && Number.isFinite(count))
    return item as ExpectedBucket;
  const need = 'The option `counts` of completeness() reads buckets of counts';
  throw wrongItem(item, { need, reads: 'buckets of counts', origin });
}

/**
 * Returns the end of the last bucket. The last bucket is assumed to be as long as the shortest other bucket.
 */
function endOf(starts: readonly number[]): number {
  const [first, last] = [starts[0], starts.at(-1)];
  if (first === undefined || last === undefined)
    throw optionError('completeness', 'counts', 'has no buckets to compare the posts with');
  const lengths = starts.slice(1).map((start, index) => start - (starts[index] ?? start));
  return lengths.length === 0 ? Number.POSITIVE_INFINITY : last + Math.min(...lengths);
}

function lastAtOrBefore(starts: readonly number[], at: number): number {
  let [low, high] = [0, starts.length];
  while (low < high) {
    const middle = (low + high) >> 1;
    if ((starts[middle] as number) <= at) low = middle + 1;
    else high = middle;
  }
  return low - 1;
}

function sum(numbers: readonly number[]): number {
  return numbers.reduce((total, number) => total + number, 0);
}
