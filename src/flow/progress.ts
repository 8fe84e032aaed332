/** What a run has done so far. Counts never go down. */
export interface ProgressCounts {
  /** Items that the source delivered: activities, buckets, or blocks of bytes. */
  readonly received: number;
  /** Bytes that came over the wire or from disk, as they were stored there. */
  readonly receivedBytes: number;
  /** Items left out, by the operator that did so. */
  readonly dropped: ReadonlyMap<string, number>;
  readonly written: number;
  readonly writtenBytes: number;
  /** How much of the whole is done, 0 to 1; `undefined` while no one knows. */
  readonly fraction: number | undefined;
  /** The time that the source has reached, epoch milliseconds. */
  readonly reached: number | undefined;
  /** Until when the source waits, epoch milliseconds by the service's clock; while it does. */
  readonly waitsUntil: number | undefined;
}

/** The counters of one run. It travels with the pull, so each stage adds what only it knows. */
export class Progress implements ProgressCounts {
  received = 0;
  receivedBytes = 0;
  readonly dropped: Map<string, number> = new Map();
  written = 0;
  writtenBytes = 0;
  fraction: number | undefined;
  reached: number | undefined;
  waitsUntil: number | undefined;

  drop(by: string, items: number): void {
    if (items > 0) this.dropped.set(by, (this.dropped.get(by) ?? 0) + items);
  }

  /** The counts as they are now; they do not change any more. */
  counts(): ProgressCounts {
    const { received, receivedBytes, written, writtenBytes, fraction, reached, waitsUntil } = this;
    const dropped = new Map(this.dropped);
    return {
      ...{ received, receivedBytes, dropped, written, writtenBytes },
      ...{ fraction, reached, waitsUntil },
    };
  }
}
