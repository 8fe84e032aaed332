import { DataError } from '../errors.js';
import { formatTimestamp, parseTimestamp } from '../time.js';
import type { EchoedWindow } from './fetch-page.js';

/** Buckets side by side: `from` inclusive, `to` exclusive, counted in buckets since 1970. */
interface Stretch {
  from: number;
  to: number;
}

/**
 * Which buckets one run of `counts` has received, in whatever order. The service sends every bucket
 * of the window once, those with no post too, so a bucket that comes twice or is left out is an error
 * of the service that would make a sum wrong.
 */
export class BucketCoverage {
  readonly #lengthMs: number;
  /** One, but for pages in an odd order. */
  readonly #stretches: Stretch[] = [];
  #latestStart = Number.NEGATIVE_INFINITY;

  constructor(lengthMs: number) {
    this.#lengthMs = lengthMs;
  }

  /** @throws DataError when the bucket was there before. */
  add(start: number): void {
    const at = Math.floor(start / this.#lengthMs);
    if (this.#stretches.some(({ from, to }) => from <= at && at < to))
      throw new DataError(`The service counts the bucket ${formatTimestamp(start)} twice`);
    this.#latestStart = Math.max(this.#latestStart, start);
    const before = this.#stretches.find(({ to }) => to === at);
    const after = this.#stretches.findIndex(({ from }) => from === at + 1);
    if (before !== undefined && after !== -1)
      before.to = (this.#stretches.splice(after, 1)[0] as Stretch).to;
    else if (before !== undefined) before.to++;
    else if (after !== -1) (this.#stretches[after] as Stretch).from--;
    else this.#stretches.push({ from: at, to: at + 1 });
  }

  /**
   * To be called after the last page.
   *
   * @param isWhole Whether this run began at the first page. If not, pages before it, of which this run
   * knows nothing, hold one end of the window.
   * @throws DataError when buckets of the window are left out.
   */
  end({ fromDate, toDate }: EchoedWindow, isWhole: boolean): void {
    const stretches = this.#stretches.toSorted((a, b) => a.from - b.from);
    const [first, second] = stretches;
    if (first !== undefined && second !== undefined) this.#leftOut(first.to, second.from);
    const from = fromDate === undefined ? undefined : parseTimestamp(fromDate);
    const to = toDate === undefined ? undefined : parseTimestamp(toDate);
    if (from === undefined || to === undefined) return;
    const start = Math.floor(from / this.#lengthMs);
    const end = Math.ceil(to / this.#lengthMs);
    const reachesStart = first !== undefined && first.from <= start;
    const reachesEnd = this.#latestStart + this.#lengthMs >= to;
    if (isWhole ? reachesStart && reachesEnd : reachesStart || reachesEnd) return;
    if (first !== undefined && !reachesEnd) this.#leftOut(first.to, end);
    this.#leftOut(start, first?.from ?? end);
  }

  #leftOut(from: number, to: number): never {
    const [first, last] = [from, to - 1].map(at => formatTimestamp(at * this.#lengthMs));
    throw new DataError(
      `The service says that it has no more, but left out ${to - from === 1 ? `the bucket ${first}` : `${to - from} buckets, from ${first} to ${last}`}`,
    );
  }
}
