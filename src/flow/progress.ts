import type { OnWait, Wait } from '../wait.js';

/** What a run has done so far. Counts never decrease. */
export interface ProgressCounts {
  /** Items that the source delivered: activities, buckets, or blocks of bytes. */
  readonly received: number;
  /** Bytes received or read from disk, before they are inflated. */
  readonly receivedBytes: number;
  /** Items left out, by the name of the operator. */
  readonly dropped: ReadonlyMap<string, number>;
  readonly written: number;
  readonly writtenBytes: number;
  /** The part that is done, 0 to 1; `undefined` while the total is unknown. */
  readonly fraction: number | undefined;
  /** The time that the source has reached, epoch milliseconds. */
  readonly reached: number | undefined;
  /** While the source waits: for what, and until when. */
  readonly wait: Wait | undefined;
}

/** The counters of one run. It is part of the pull, so that each stage can add to it. */
export class Progress implements ProgressCounts {
  received = 0;
  receivedBytes = 0;
  readonly dropped: Map<string, number> = new Map();
  written = 0;
  writtenBytes = 0;
  fraction: number | undefined;
  reached: number | undefined;
  readonly #waits = new Set<{ readonly wait: Wait; readonly endsAt: number }>();

  /** Of several waits that which began last. */
  get wait(): Wait | undefined {
    return [...this.#waits].at(-1)?.wait;
  }

  /** Milliseconds until `wait` ends, by this machine's clock. */
  get waitLeftMs(): number {
    return Math.max(0, ([...this.#waits].at(-1)?.endsAt ?? 0) - performance.now());
  }

  /** Takes a wait, and returns the function that ends it. */
  readonly onWait: OnWait = wait => {
    const entry = { wait, endsAt: performance.now() + wait.waitMs };
    this.#waits.add(entry);
    return () => this.#waits.delete(entry);
  };

  drop(by: string, items: number): void {
    if (items > 0) this.dropped.set(by, (this.dropped.get(by) ?? 0) + items);
  }

  /** A copy of the counts. */
  counts(): ProgressCounts {
    const { received, receivedBytes, written, writtenBytes, fraction, reached, wait } = this;
    const dropped = new Map(this.dropped);
    return {
      ...{ received, receivedBytes, dropped, written, writtenBytes },
      ...{ fraction, reached, wait },
    };
  }
}
