import { randomInt } from 'node:crypto';
import { setMaxListeners } from 'node:events';
import { readFile } from 'node:fs/promises';
import type { RateWindow } from '../http/quotas.js';
import type { KnownRule } from '../http/rule-bodies.js';
import type { ServiceContext } from '../service-context.js';
import type { CreateRequest } from './create-request.js';
import { IdleTracker } from './idle-tracker.js';
import type { DataFile, JobRecord } from './job-record.js';
import { type JobDependencies, JobRunner, Semaphore } from './job-runner.js';
import { JobStore } from './job-store.js';

interface StoredJob {
  readonly job: JobRecord;
  readonly files: DataFile[];
}

interface KeptFile extends DataFile {
  /** The compressed file in base64. */
  readonly gzip: string;
}

export interface KeptJob {
  readonly job: JobRecord;
  readonly files: readonly KeptFile[];
}

/** All jobs of the account, including those from earlier runs of the service. */
export class ServiceJobs {
  readonly creationWindows: readonly RateWindow[];
  readonly #shared: JobDependencies;
  readonly #stopping = new AbortController();
  readonly #runners = new Map<string, JobRunner>();
  readonly #running = new Set<Promise<void>>();
  #lastNumber = 0;

  constructor(context: ServiceContext) {
    const { settings, clock } = context;
    const { jobsEstimating, jobsRunning } = settings.limits;
    // Each job adds a listener to the signal. Without this call, Node would warn of a leak.
    setMaxListeners(0, this.#stopping.signal);
    this.creationWindows = [
      context.quotas.window('jobsPerDayRate'),
      context.quotas.window('jobsPerHourRate'),
    ];
    this.#shared = {
      context,
      store: new JobStore(settings.stateFolder),
      idle: new IdleTracker(clock),
      estimating: new Semaphore(jobsEstimating),
      running: new Semaphore(jobsRunning),
      signal: this.#stopping.signal,
    };
  }

  /**
   * Loads the stored jobs and continues them.
   *
   * @throws StorageError if the jobs cannot be read.
   */
  async open(): Promise<void> {
    this.#continue(await this.#shared.store.load());
  }

  /** Creates a job. Resolves once it is stored. The title must not be in use. */
  async create(
    { title, format, window }: CreateRequest,
    rules: readonly KnownRule[],
  ): Promise<JobRunner> {
    const now = this.#shared.context.clock.now();
    const job: JobRecord = {
      uuid: this.#newUuid(),
      number: ++this.#lastNumber,
      title,
      format,
      ...window,
      rules,
      requestedBy: this.#shared.context.settings.email,
      requestedAt: now,
      status: 'opened',
      since: now,
    };
    const runner = new JobRunner(job, [], this.#shared);
    // The runner is added before the write, so that a concurrent create sees the title and counts
    // this job.
    this.#runners.set(job.uuid, runner);
    for (const rate of this.creationWindows) rate.count(now);
    try {
      await this.#shared.store.save(job);
    } catch (error) {
      this.#runners.delete(job.uuid);
      for (const rate of this.creationWindows) rate.uncount(now);
      throw error;
    }
    this.#start(runner);
    return runner;
  }

  /** Finds a job, even if it has expired. */
  find(uuid: string): JobRunner | undefined {
    return this.#runners.get(uuid);
  }

  /** Returns all jobs that have not expired, in the order of their creation. */
  list(): readonly JobRunner[] {
    return [...this.#runners.values()].filter(runner => !runner.expired);
  }

  hasTitle(title: string): boolean {
    return this.list().some(({ job }) => job.title === title);
  }

  dataFile(job: JobRecord, segment: number): Promise<string> {
    return this.#shared.store.dataFile(job, segment);
  }

  /** Waits until everything that is due by the clock is done, at most `maxWaitMs` milliseconds of real time. */
  settled(maxWaitMs?: number): Promise<void> {
    return this.#shared.idle.settled(maxWaitMs);
  }

  /** Returns all jobs with the bytes of their files. `add` accepts them, also in another `ServiceJobs`. */
  kept(): Promise<readonly KeptJob[]> {
    return this.#withBytes(this.#runners.values());
  }

  /**
   * Returns the jobs in the state folder without continuing them, for a service that is not open. The folder
   * is then free for another service again.
   *
   * @throws StorageError if the jobs cannot be read, or another service uses the folder.
   */
  async keptInFolder(): Promise<readonly KeptJob[]> {
    const { store } = this.#shared;
    try {
      return await this.#withBytes(await store.load());
    } finally {
      await store.close();
    }
  }

  async #withBytes(jobs: Iterable<StoredJob>): Promise<readonly KeptJob[]> {
    const kept: KeptJob[] = [];
    for (const { job, files } of jobs) {
      const keptFiles: KeptFile[] = [];
      for (const file of job.gone ? [] : files) {
        const bytes = await readFile(await this.dataFile(job, file.segment));
        keptFiles.push({ ...file, gzip: bytes.toString('base64') });
      }
      kept.push({ job, files: keptFiles });
    }
    return kept;
  }

  /** Adds jobs and continues them. @throws StorageError */
  async add(jobs: readonly KeptJob[]): Promise<void> {
    const { store } = this.#shared;
    const stored: StoredJob[] = [];
    for (const { job, files } of jobs) {
      await store.save(job);
      const list: DataFile[] = [];
      for (const { gzip, ...file } of files) {
        const path = await this.dataFile(job, file.segment);
        await store.writeDataFile(path, Buffer.from(gzip, 'base64'));
        await store.addFile(job, file);
        list.push(file);
      }
      stored.push({ job, files: list });
    }
    this.#continue(stored);
  }

  /** Stops and removes all jobs, then closes. @throws StorageError */
  async remove(): Promise<void> {
    this.#stopping.abort(new Error('The jobs are reset'));
    await Promise.all(this.#running);
    for (const { job } of this.#runners.values()) await this.#shared.store.remove(job);
    await this.close();
  }

  /** Stops all jobs in their current state. A new `ServiceJobs` with the same folder continues them. */
  async close(): Promise<void> {
    this.#stopping.abort(new Error('The service is stopping'));
    await Promise.all(this.#running);
    await this.#shared.store.close();
  }

  /** @param jobs The jobs in the order of their creation. */
  #continue(jobs: readonly StoredJob[]): void {
    for (const { job, files } of jobs) {
      this.#runners.set(job.uuid, new JobRunner(job, files, this.#shared));
      this.#lastNumber = job.number;
      for (const rate of this.creationWindows) rate.count(job.requestedAt);
    }
    // Jobs that were working when the service stopped start first, because only a limited number of jobs may
    // work at the same time.
    const atWork = ({ job: { status } }: JobRunner) =>
      status === 'estimating' || status === 'running';
    const runners = [...this.#runners.values()].sort((a, b) => a.job.since - b.job.since);
    for (const runner of runners.filter(atWork)) this.#start(runner);
    for (const runner of runners.filter(runner => !atWork(runner))) this.#start(runner);
  }

  #start(runner: JobRunner): void {
    const { signal } = this.#stopping;
    const running = this.#shared.idle
      .track(() => runner.run())
      .catch(error => {
        if (!signal.aborted) this.#shared.context.settings.onError(error);
      })
      .finally(() => this.#running.delete(running));
    this.#running.add(running);
  }

  #newUuid(): string {
    for (;;) {
      const uuid = Array.from({ length: 10 }, () => randomInt(36).toString(36)).join('');
      if (!this.#runners.has(uuid)) return uuid;
    }
  }
}
