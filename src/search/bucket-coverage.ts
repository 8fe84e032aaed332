import { DataError } from '../errors.js';
import { formatTimestamp, parseTimestamp } from '../time.js';
import type { EchoedWindow } from './fetch-page.js';

/** A range of adjacent buckets: `from` inclusive, `to` exclusive, counted in buckets since 1970. */
interface Stretch {
  from: number;
  to: number;
}

/**
 * The buckets that one run of `counts` has received, in any order. The service sends every bucket
 * of the window once, including empty ones, so a repeated or missing bucket is an error
 * of the service that would make a sum wrong.
 */
export class BucketCoverage {
  readonly #lengthMs: number;
  /** One range, unless pages are out of order. */
  readonly #stretches: Stretch[] = [];
  #latestStart = Number.NEGATIVE_INFINITY;

  constructor(lengthMs: number) {
    this.#lengthMs = lengthMs;
  }

  /** @throws DataError If the bucket was received before. */
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
   * Must be called after the last page.
   *
   * @param isWhole Whether this run started at the first page. If not, earlier pages, which this run
   * has not seen, have one end of the window.
   * @throws DataError If buckets of the window are missing.
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
