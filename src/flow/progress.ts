import type { OnWait, Wait } from '../base/wait.js';

/** What a run has done so far. Counts never decrease. */
export interface ProgressCounts {
  /** Items that the source delivered: activities, buckets, or blocks of bytes. */
  readonly received: number;
  /** Bytes received or read from disk, before they are inflated. */
  readonly receivedBytes: number;
  /** The number of dropped items, by the name of the operator. */
  readonly dropped: ReadonlyMap<string, number>;
  readonly written: number;
  readonly writtenBytes: number;
  /** The part that is done, 0 to 1; `undefined` while the total is unknown. */
  readonly fraction: number | undefined;
  /** The time that the source has reached, epoch milliseconds. */
  readonly reached: number | undefined;
  /** Milliseconds that the source itself expects the rest to take; `undefined` where it cannot tell. */
  readonly leftMs: number | undefined;
  /** Messages of a stream that its reader has not got yet, as of the last one that it got; `undefined` for other sources. */
  readonly behind?: number | undefined;
  /** While the source waits: for what, and until when. */
  readonly wait: Wait | undefined;
  /** The counts of each branch of `tee`; `written` and `dropped` of the run include them. */
  readonly branches: readonly ProgressCounts[];
  /** Requests that were sent, retries among them. */
  readonly requests: number;
  readonly retries: number;
  /** Waits for rate limits of the service, retries and `throttle`, also the current one. */
  readonly waits: number;
  /** Milliseconds of the waits that are over; of several at a time, each counts. */
  readonly waitedMs: number;
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
  /** Files of an incremental source that changed after an earlier run read them: they are not read again. */
  changedFiles = 0;
  /** How many messages each reader of a stream has before it. */
  readonly behind: Map<unknown, number> = new Map();
  requests = 0;
  retries = 0;
  waits = 0;
  waitedMs = 0;
  readonly #waits = new Set<{ readonly wait: Wait; readonly endsAt: number }>();

  readonly #branches: Progress[] = [];

  /** Clears the line that shows the progress, before a sink writes to the same terminal. It is drawn again later. */
  clear: () => void = () => {};

  /** The counters of one more branch of `tee`. */
  branch(): Progress {
    const branch = new Progress();
    branch.clear = () => this.clear();
    this.#branches.push(branch);
    return branch;
  }

  /** The current wait; if there are several, the one that started last. */
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
    const began = performance.now();
    this.waits++;
    if (wait.reason === 'retry') this.retries++;
    const entry = { wait, endsAt: performance.now() + wait.waitMs };
    this.#waits.add(entry);
    return () => {
      if (this.#waits.delete(entry)) this.waitedMs += performance.now() - began;
    };
  };

  /** Counts a request. */
  readonly onRequest = () => {
    this.requests++;
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
    const behind = [...this.behind.values()];
    const branches = this.#branches.map(branch => branch.counts());
    const all: Pick<ProgressCounts, Sums | 'dropped'>[] = [this, ...branches];
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
      ...(behind.length > 0 && { behind: behind.reduce((sum, messages) => sum + messages) }),
      ...(note !== undefined && { note }),
      ...sumsOf(all),
    };
  }
}

/** Counts of a run to which the counts of its branches are added. */
const SUMS = ['written', 'writtenBytes', 'requests', 'retries', 'waits', 'waitedMs'] as const;
type Sums = (typeof SUMS)[number];

function sumsOf(all: readonly Pick<ProgressCounts, Sums>[]): Record<Sums, number> {
  const sums = { written: 0, writtenBytes: 0, requests: 0, retries: 0, waits: 0, waitedMs: 0 };
  for (const counts of all) for (const name of SUMS) sums[name] += counts[name];
  return sums;
}

/** What a run has done, once it is over. */
export interface RunSummary
  extends Pick<ProgressCounts, 'received' | 'receivedBytes' | 'dropped' | Sums> {
  /** `failed` also for a run that was aborted. */
  readonly state: 'complete' | 'failed';
  /** What a failed run rejects with. */
  readonly error?: unknown;
  /** The files of its result, also those that earlier runs wrote. */
  readonly files: number;
  readonly durationMs: number;
}

/** The object of one run, on `millrace:run:start`, and then, with its summary, on `:end` or `:error`. */
export interface RunMessage extends Partial<RunSummary> {}

/** The summary of a run that has ended now with this result, or with an error. */
export function summaryOf(
  progress: Progress,
  startedAt: number,
  end: { readonly result: unknown } | { readonly error: unknown },
): RunSummary {
  const { received, receivedBytes, dropped, ...counts } = progress.counts();
  const isComplete = 'result' in end;
  return {
    state: isComplete ? 'complete' : 'failed',
    ...(isComplete ? {} : { error: end.error }),
    received,
    receivedBytes,
    dropped,
    ...sumsOf([counts]),
    files: isComplete ? filesOf(end.result) : 0,
    durationMs: performance.now() - startedAt,
  };
}

/** Counts the files in the result of a sink, or in the results of the branches of `tee`. */
function filesOf(result: unknown): number {
  if (Array.isArray(result)) return result.reduce((sum: number, one) => sum + filesOf(one), 0);
  const { files } = Object(result) as { readonly files?: unknown };
  return Array.isArray(files) ? files.length : 0;
}

/**
 * The progress of several sources of one run. All sources add to the same counters. The fraction is the mean over all
 * sources; a source that is not open yet counts as 0. If any open source has no fraction, the mean is `undefined`.
 */
export class ProgressParts {
  readonly #progress: Progress | undefined;
  readonly #fractions: (number | undefined)[];

  constructor(progress: Progress | undefined, count: number) {
    this.#progress = progress;
    this.#fractions = Array.from({ length: count }, () => 0);
  }

  /** What a source is opened with. */
  of(index: number): Progress | undefined {
    if (this.#progress === undefined) return undefined;
    this.#set(index, undefined);
    return new Proxy(this.#progress, {
      get: (progress, name) =>
        name === 'fraction' ? this.#fractions[index] : Reflect.get(progress, name, progress),
      set: (progress, name, value) => {
        // What one source expects of itself says nothing of the others.
        if (name === 'endsAt') return true;
        if (name !== 'fraction') return Reflect.set(progress, name, value, progress);
        this.#set(index, value);
        return true;
      },
    });
  }

  done(index: number): void {
    this.#set(index, 1);
  }

  #set(index: number, fraction: number | undefined): void {
    this.#fractions[index] = fraction;
    if (this.#progress === undefined) return;
    let sum = 0;
    for (const one of this.#fractions) sum += one ?? Number.NaN;
    this.#progress.fraction = Number.isNaN(sum) ? undefined : sum / this.#fractions.length;
  }
}
