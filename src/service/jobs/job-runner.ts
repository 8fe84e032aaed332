import { parseTimestamp } from '../../base/time.js';
import type { Archive } from '../archive/archive.js';
import type { ServiceContext } from '../service-context.js';
import { estimateJob, quoteOf } from './estimate.js';
import { generateFiles } from './generate-files.js';
import type { IdleTracker } from './idle-tracker.js';
import {
  type DataFile,
  expired,
  expiryOf,
  type JobChange,
  type JobPhase,
  type JobRecord,
} from './job-record.js';
import type { JobStore } from './job-store.js';

export interface JobDependencies {
  readonly context: ServiceContext;
  readonly store: JobStore;
  readonly idle: IdleTracker;
  readonly estimating: Semaphore;
  readonly running: Semaphore;
  /** Fires when the service stops. After a restart, each job continues from its record. */
  readonly signal: AbortSignal;
}

/**
 * Takes a job through its states. A state lasts until its work is done, and at least for its dwell time
 * (`jobDwellMs`) by the service's clock. Each state begins at its scheduled time, even if the clock jumps
 * past several states.
 */
export class JobRunner {
  readonly files: DataFile[];
  #job: JobRecord;
  readonly #dependencies: JobDependencies;
  /** The completed fraction of the state's work, 0 to 1. */
  #progress = 0;
  #queued = false;
  /** The running write of the decision to accept or reject the job; absent if no such write is running. */
  #deciding: Promise<void> | undefined;
  #semaphore: Semaphore | undefined;
  #wakeDecided: (() => void) | undefined;
  readonly #onProgress = (fraction: number) => {
    this.#progress = fraction;
  };

  constructor(job: JobRecord, files: DataFile[], dependencies: JobDependencies) {
    this.#job = job;
    this.files = files;
    this.#dependencies = dependencies;
  }

  get job(): JobRecord {
    return this.#job;
  }

  /** Whether the job waits for the semaphore, which another job holds. */
  get queued(): boolean {
    return this.#queued;
  }

  /** Whether the job has expired, so that requests for it are answered with 404. */
  get expired(): boolean {
    return this.#job.gone === true || this.#now >= this.expiresAt;
  }

  get expiresAt(): number {
    return expiryOf(this.#job, this.#dependencies.context.settings.limits.jobRetentionMs);
  }

  get percentComplete(): number {
    const { status, since } = this.#job;
    if (status === 'completed' || status === 'delivered') return 100;
    if (status !== 'estimating' && status !== 'running') return 0;
    const dwellMs = this.#dwell[status];
    const passed = dwellMs === 0 ? 1 : (this.#now - since) / dwellMs;
    return Math.floor(100 * Math.min(Math.max(passed, 0), this.#progress, 1));
  }

  /** Runs the job from its current state to the end. Rejects if the service stops. */
  async run(): Promise<void> {
    while (this.#job.gone !== true) await this.#change(await this.#next());
  }

  /**
   * Accepts or rejects a quoted job. Resolves to false if the job is in another state, and to true once the
   * decision is stored.
   */
  async decide(status: 'accepted' | 'rejected', by: string): Promise<boolean> {
    // Waits until an earlier decision is stored, because it takes effect only then. If storing it fails, this
    // decision may take effect.
    while (this.#deciding !== undefined) await this.#deciding.catch(() => {});
    const quoted = this.#job;
    const now = this.#now;
    if (quoted.status !== 'quoted' || this.expired) return false;
    const decided: JobRecord = { ...quoted, status, since: now, acceptedBy: by, acceptedAt: now };
    this.#deciding = this.#dependencies.store.save(decided);
    try {
      await this.#deciding;
    } finally {
      this.#deciding = undefined;
    }
    // The job may have expired during the write.
    if (this.#job !== quoted) return false;
    this.#job = decided;
    this.#wakeDecided?.();
    return true;
  }

  get #now(): number {
    return this.#dependencies.context.clock.now();
  }

  get #dwell() {
    return this.#dependencies.context.settings.jobDwellMs;
  }

  /** Returns the next transition; `undefined` if the customer's decision has already changed the job. */
  async #next(): Promise<JobChange | undefined> {
    const { job } = this;
    const { idle, signal, estimating, running } = this.#dependencies;
    switch (job.status) {
      case 'opened':
      case 'accepted': {
        const isNew = job.status === 'opened';
        const due = job.since + this.#dwell[isNew ? 'opened' : 'accepted'];
        await idle.waitUntil(due, signal);
        const since = await this.#take(isNew ? estimating : running, due);
        return { status: isNew ? 'estimating' : 'running', since };
      }
      case 'estimating':
        return this.#estimate();
      case 'quoted':
        return (await this.#decided()) ? undefined : expired(job, this.#now);
      case 'running':
        return this.#run();
      case 'completed': {
        const since = job.since + this.#dwell.completed;
        await idle.waitUntil(since, signal);
        return this.#fails('validation', since) ?? { status: 'delivered', since };
      }
      default:
        await idle.waitUntil(this.expiresAt, signal);
        return expired(job, this.#now);
    }
  }

  async #change(change: JobChange | undefined): Promise<void> {
    if (change === undefined) return;
    const { store, context } = this.#dependencies;
    if (change.gone) this.files.length = 0;
    this.#progress = 0;
    this.#job = { ...this.#job, ...change };
    try {
      if (change.gone) await store.removeFiles(this.#job);
      await store.save(this.#job);
    } catch (error) {
      // A full disk must not stop the job. The next save writes the whole record again.
      context.settings.onError(error);
    }
  }

  #estimate(): Promise<JobChange> {
    const { context, signal } = this.#dependencies;
    const { job } = this;
    return this.#work('estimating', async archive => {
      const onProgress = this.#onProgress;
      const estimated = await estimateJob(job, { archive, signal, onProgress });
      return since => ({
        status: 'quoted',
        since,
        quote: quoteOf(job, estimated, context.settings, since),
      });
    });
  }

  #run(): Promise<JobChange> {
    const { context, store, signal } = this.#dependencies;
    const { job, files } = this;
    return this.#work('running', async archive => {
      await generateFiles(job, {
        archive,
        store,
        files,
        signal,
        infoLine: context.settings.jobInfoLine,
        onWritten: ids => context.usage.delivered('historical', ids),
        onProgress: this.#onProgress,
      });
      const suspect = context.faults.matchJob('suspect-minutes', job.title);
      const suspectMinutes = suspect?.minutes
        .map(minute => parseTimestamp(minute) ?? 0)
        .filter(minute => job.from <= minute && minute < job.to);
      return since => ({ status: 'completed', since, completedAt: since, suspectMinutes });
    });
  }

  /**
   * Does the work of `estimating` or `running`, then waits until the dwell time of this state is over. A
   * semaphore limits how many jobs are in the state at the same time.
   */
  async #work(
    phase: 'estimating' | 'running',
    work: (archive: Archive) => Promise<(since: number) => JobChange>,
  ): Promise<JobChange> {
    const { context, idle, signal } = this.#dependencies;
    const { since } = this.#job;
    // A job in this state usually holds the semaphore already. After a restart of the service, it does not.
    if (this.#semaphore === undefined) await this.#take(this.#dependencies[phase], since);
    const due = since + this.#dwell[phase];
    const startedAt = performance.now();
    let change: ((since: number) => JobChange) | undefined;
    try {
      change = await work(await context.archive(this.#job.format));
    } catch (error) {
      signal.throwIfAborted();
      context.settings.onError(error);
    }
    const workMs = Math.ceil(performance.now() - startedAt);
    if (change !== undefined) await idle.waitUntil(due, signal);
    // The state ends when its dwell time and its work are over, even if a test has moved the clock far ahead.
    // The end is never in the future.
    const end = Math.max(since, Math.min(this.#now, Math.max(due, since + workMs)));
    const result = this.#fails(phase, end, change === undefined) ?? change?.(end);
    this.#semaphore?.release(end);
    this.#semaphore = undefined;
    return result as JobChange;
  }

  /**
   * Returns the transition to `failed` if a planted fault matches this job and phase, or if `failed` is true.
   */
  #fails(phase: JobPhase, since: number, failed = false): JobChange | undefined {
    const { faults } = this.#dependencies.context;
    const planted = faults.matchJob(
      'job-failure',
      this.#job.title,
      fault => fault.during === phase,
    );
    return planted !== undefined || failed
      ? { status: 'failed', since, failure: phase }
      : undefined;
  }

  async #take(semaphore: Semaphore, at: number): Promise<number> {
    const since = await this.#dependencies.idle.wait<number>(this.#dependencies.signal, wake => {
      this.#queued = semaphore.isFull;
      semaphore.acquire(at, wake);
      return undefined;
    });
    this.#queued = false;
    this.#semaphore = semaphore;
    return since;
  }

  /** Waits for the customer's decision. Resolves to false if the quote expires first. */
  async #decided(): Promise<boolean> {
    const { idle, signal, context } = this.#dependencies;
    const { expiresAt } = this;
    if (this.#now >= expiresAt) return false;
    let cancel: (() => void) | undefined;
    const decided = await idle.wait<boolean>(signal, wake => {
      cancel = context.clock.at(expiresAt, () => wake(false));
      this.#wakeDecided = () => wake(true);
      return cancel;
    });
    cancel?.();
    return decided;
  }
}

interface Waiter {
  readonly at: number;
  readonly acquired: (at: number) => void;
}

/** Limits how many jobs work at the same time. All other jobs wait in a queue. Times are by the service's clock. */
export class Semaphore {
  #free: number;
  readonly #queue: Waiter[] = [];

  constructor(count: number) {
    this.#free = count;
  }

  get isFull(): boolean {
    return this.#free === 0;
  }

  /**
   * Calls `acquired` with the time at which the caller gets a free place. Calls it immediately if a place is
   * free, otherwise during a later `release`.
   *
   * @param at The time of the request.
   */
  acquire(at: number, acquired: (at: number) => void): void {
    if (this.#free > 0) {
      this.#free--;
      acquired(at);
    } else this.#queue.push({ at, acquired });
  }

  release(at: number): void {
    const next = this.#queue.shift();
    if (next === undefined) this.#free++;
    else next.acquired(Math.max(next.at, at));
  }
}
