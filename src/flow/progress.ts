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
  /** Milliseconds that the source itself expects the rest to take; `undefined` where it cannot tell. */
  readonly leftMs: number | undefined;
  /** While the source waits: for what, and until when. */
  readonly wait: Wait | undefined;
  /** The counts of each branch of `tee`; `written` and `dropped` of the run include them. */
  readonly branches: readonly ProgressCounts[];
  /** What the run has to say besides its counts: that nothing was new, that all was complete before, or, until the first
   * page of a search for rules, how many requests it needs. */
  readonly note?: string | undefined;
}

/** The counters of one run. It is part of the pull, so that each stage can add to it. */
export class Progress {
  received = 0;
  receivedBytes = 0;
  readonly dropped: Map<string, number> = new Map();
  written = 0;
  writtenBytes = 0;
  fraction: number | undefined;
  reached: number | undefined;
  /** When the source expects to end, by `performance.now()`. */
  endsAt: number | undefined;
  note: string | undefined;
  readonly #waits = new Set<{ readonly wait: Wait; readonly endsAt: number }>();

  readonly #branches: Progress[] = [];

  /** The counters of one more branch of `tee`. */
  branch(): Progress {
    const branch = new Progress();
    this.#branches.push(branch);
    return branch;
  }

  /** Of several waits the one that began last. */
  get wait(): Wait | undefined {
    return this.#lastWait?.wait;
  }

  /** Milliseconds until `wait` ends, by this machine's clock. */
  get waitLeftMs(): number {
    return Math.max(0, (this.#lastWait?.endsAt ?? 0) - performance.now());
  }

  get leftMs(): number | undefined {
    return this.endsAt === undefined ? undefined : Math.max(0, this.endsAt - performance.now());
  }

  get #lastWait(): { readonly wait: Wait; readonly endsAt: number } | undefined {
    const waits = this.#branches.flatMap(branch => branch.#lastWait ?? []);
    return [...waits, ...this.#waits].at(-1);
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

  /** Sets the note, unless there is one. */
  tell(note: string): void {
    this.note ??= note;
  }

  /** A copy of the counts. */
  counts(): ProgressCounts {
    const { received, receivedBytes, fraction, reached, leftMs, wait, note } = this;
    const branches = this.#branches.map(branch => branch.counts());
    const all: Pick<ProgressCounts, 'written' | 'writtenBytes' | 'dropped'>[] = [this, ...branches];
    const dropped = new Map<string, number>();
    for (const [name, items] of all.flatMap(counts => [...counts.dropped]))
      dropped.set(name, (dropped.get(name) ?? 0) + items);
    return {
      received,
      receivedBytes,
      dropped,
      fraction,
      reached,
      leftMs,
      wait,
      branches,
      ...(note !== undefined && { note }),
      written: all.reduce((sum, { written }) => sum + written, 0),
      writtenBytes: all.reduce((sum, { writtenBytes }) => sum + writtenBytes, 0),
    };
  }
}
