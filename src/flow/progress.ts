import type { OnWait, Wait } from '../base/wait.js';

/** The counts of a run so far. Counts of items, bytes and requests never decrease. */
export interface ProgressCounts {
  /** The number of items that the source has delivered, such as activities, buckets or blocks of bytes. */
  readonly received: number;
  /** The number of bytes received or read from disk, before they are inflated. */
  readonly receivedBytes: number;
  /** The number of items that each operator has dropped, by the name of the operator. */
  readonly dropped: ReadonlyMap<string, number>;
  readonly written: number;
  readonly writtenBytes: number;
  /** The completed fraction of the run, from 0 to 1. `undefined` while the total is unknown. */
  readonly fraction: number | undefined;
  /** How far the source has come in its data, as a time in epoch milliseconds. `undefined` if unknown. */
  readonly reached: number | undefined;
  /**
   * The time that the source expects the rest of the run to take, in milliseconds. `undefined` if the source
   * cannot tell.
   */
  readonly leftMs: number | undefined;
  /**
   * How many messages of a JetStream stream were still unread when the last message arrived. `undefined` for
   * other sources.
   */
  readonly behind?: number | undefined;
  /**
   * The current wait of the source, with its reason and its end. `undefined` if the source is not waiting.
   */
  readonly wait: Wait | undefined;
  /**
   * The counts of each branch of `tee`. The run's own numbers, such as `written`, `requests` and `waits`,
   * include the numbers of its branches.
   */
  readonly branches: readonly ProgressCounts[];
  /** The number of requests, including retries. */
  readonly requests: number;
  readonly retries: number;
  /** The number of waits for rate limits, retries and `throttle`, including the current wait. */
  readonly waits: number;
  /**
   * The total duration of the waits in `waits` that have ended, in milliseconds. If two waits overlap, both
   * count in full.
   */
  readonly waitedMs: number;
  /**
   * A message in addition to the counts, for example that nothing was new or that everything was already
   * complete. Until the first page of a search for rules arrives, it tells how many requests are needed.
   */
  readonly note?: string | undefined;
}

/** The counters of one run. Each stage of the run gets this object and adds to it. */
export class Progress {
  received = 0;
  receivedBytes = 0;
  readonly dropped: Map<string, number> = new Map();
  written = 0;
  writtenBytes = 0;
  fraction: number | undefined;
  reached: number | undefined;
  /** When the source expects to end, as a time of `performance.now()`. */
  endsAt: number | undefined;
  note: string | undefined;
  /**
   * The number of files of an incremental source that changed after an earlier run had read them. They are
   * not read again.
   */
  changedFiles = 0;
  /** The number of unread messages for each reader of a JetStream stream. */
  readonly behind: Map<unknown, number> = new Map();
  requests = 0;
  retries = 0;
  waits = 0;
  waitedMs = 0;
  readonly #waits = new Set<{ readonly wait: Wait; readonly endsAt: number }>();

  readonly #branches: Progress[] = [];

  /** Clears the progress line, before a sink writes to the same terminal. The line is drawn again later. */
  clear: () => void = () => {};

  branch(): Progress {
    const branch = new Progress();
    branch.clear = () => this.clear();
    this.#branches.push(branch);
    return branch;
  }

  /**
   * The current wait of this run: the one that started last. If there is none, the current wait of one of its
   * branches.
   */
  get wait(): Wait | undefined {
    return this.#lastWait?.wait;
  }

  /** Milliseconds until the current wait ends, by this machine's clock. */
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

  readonly onRequest = () => {
    this.requests++;
  };

  drop(by: string, items: number): void {
    if (items > 0) this.dropped.set(by, (this.dropped.get(by) ?? 0) + items);
  }

  tell(note: string): void {
    this.note ??= note;
  }

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

/** The counts that are sums over the run and its branches. */
const SUMS = ['written', 'writtenBytes', 'requests', 'retries', 'waits', 'waitedMs'] as const;
type Sums = (typeof SUMS)[number];

function sumsOf(all: readonly Pick<ProgressCounts, Sums>[]): Record<Sums, number> {
  const sums = { written: 0, writtenBytes: 0, requests: 0, retries: 0, waits: 0, waitedMs: 0 };
  for (const counts of all) for (const name of SUMS) sums[name] += counts[name];
  return sums;
}

/** A summary of a run that has ended. */
export interface RunSummary
  extends Pick<ProgressCounts, 'received' | 'receivedBytes' | 'dropped' | Sums> {
  /** `failed` also covers aborted runs. */
  readonly state: 'complete' | 'failed';
  /** If the run has failed, the error with which it rejects. */
  readonly error?: unknown;
  /** The number of files in the result of the run, including files that earlier runs wrote. */
  readonly files: number;
  readonly durationMs: number;
}

/**
 * The message about one run. The same object is published on `millrace:run:start` and, with its summary, on
 * `:end` or `:error`.
 */
export interface RunMessage extends Partial<RunSummary> {}

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
 * The progress of several sources of one run. All sources add to the same counters. The `fraction` of the run
 * is the mean of the fractions of all sources. A source that is not open yet has the fraction 0. If any open
 * source has no fraction, the run has none.
 */
export class ProgressParts {
  readonly #progress: Progress | undefined;
  readonly #fractions: (number | undefined)[];

  constructor(progress: Progress | undefined, count: number) {
    this.#progress = progress;
    this.#fractions = Array.from({ length: count }, () => 0);
  }

  /**
   * Returns the progress for the source at this index. It has a separate fraction, and adds to the shared
   * counters.
   */
  of(index: number): Progress | undefined {
    if (this.#progress === undefined) return undefined;
    this.#set(index, undefined);
    return new Proxy(this.#progress, {
      get: (progress, name) =>
        name === 'fraction' ? this.#fractions[index] : Reflect.get(progress, name, progress),
      set: (progress, name, value) => {
        // The expected end of one source is ignored, because it says nothing about the other sources.
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
