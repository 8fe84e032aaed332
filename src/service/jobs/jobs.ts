import { randomInt } from 'node:crypto';
import { setMaxListeners } from 'node:events';
import type { ServiceContext } from '../context.js';
import type { RateWindow } from '../http/rate-window.js';
import type { CreateRequest } from './create-request.js';
import type { Job, JobRule } from './job.js';
import { JobLife, type JobWorld } from './job-runner.js';
import { JobStore } from './job-store.js';
import { Slots } from './slots.js';
import { Turns } from './turns.js';

/** All jobs of the account, those of earlier runs of the service too. */
export class Jobs {
  /** How many may be made in an hour and in a UTC day (service.md section 8). */
  readonly creationWindows: readonly RateWindow[];
  readonly #context: ServiceContext;
  readonly #store: JobStore;
  readonly #turns: Turns;
  readonly #world: JobWorld;
  readonly #stopping = new AbortController();
  readonly #lives = new Map<string, JobLife>();
  readonly #running = new Set<Promise<void>>();
  #opened: Promise<void> | undefined;
  #lastNumber = 0;

  constructor(context: ServiceContext) {
    const { settings, clock } = context;
    const { jobsEstimating, jobsRunning } = settings.limits;
    this.#context = context;
    // Every job listens.
    setMaxListeners(0, this.#stopping.signal);
    this.#store = new JobStore(settings.stateFolder);
    this.#turns = new Turns(clock);
    this.creationWindows = [
      context.quotas.window('jobsPerDayRate'),
      context.quotas.window('jobsPerHourRate'),
    ];
    this.#world = {
      context,
      store: this.#store,
      turns: this.#turns,
      estimating: new Slots(jobsEstimating),
      running: new Slots(jobsRunning),
      signal: this.#stopping.signal,
    };
  }

  /**
   * Goes on with the jobs that were kept; the second time nothing.
   *
   * @throws StorageError when they cannot be read.
   */
  open(): Promise<void> {
    this.#opened ??= this.#load();
    return this.#opened;
  }

  /** Kept when it resolves. The title has to be free. */
  async create(
    { title, format, window }: CreateRequest,
    rules: readonly JobRule[],
  ): Promise<JobLife> {
    const now = this.#context.clock.now();
    const job: Job = {
      uuid: this.#newUuid(),
      number: ++this.#lastNumber,
      title,
      format,
      ...window,
      rules,
      requestedBy: this.#context.settings.email,
      requestedAt: now,
      status: 'opened',
      since: now,
    };
    const life = new JobLife(job, [], this.#world);
    // Before it is kept: its title is taken, and it counts.
    this.#lives.set(job.uuid, life);
    for (const rate of this.creationWindows) rate.count();
    try {
      await this.#store.save(job);
    } catch (error) {
      this.#lives.delete(job.uuid);
      throw error;
    }
    this.#start(life);
    return life;
  }

  /** Expired ones, too. */
  find(uuid: string): JobLife | undefined {
    return this.#lives.get(uuid);
  }

  /** In the order in which they were made; without the expired. */
  list(): readonly JobLife[] {
    return [...this.#lives.values()].filter(life => !life.expired);
  }

  hasTitle(title: string): boolean {
    return this.list().some(({ job }) => job.title === title);
  }

  dataFile(job: Job, segment: number): Promise<string> {
    return this.#store.dataFile(job, segment);
  }

  /** Waits until all is done that is due by the clock, or for so many milliseconds of real time. */
  settled(atMostMs?: number): Promise<void> {
    return this.#turns.settled(atMostMs);
  }

  /** Stops where the jobs are; a new `Jobs` with the same folder goes on from there. */
  async close(): Promise<void> {
    this.#stopping.abort(new Error('The service stops'));
    await this.#opened?.catch(() => {});
    await Promise.all(this.#running);
    await this.#store.close();
  }

  async #load(): Promise<void> {
    const kept = await this.#store.load();
    for (const { job, files } of kept) {
      this.#lives.set(job.uuid, new JobLife(job, files, this.#world));
      this.#lastNumber = job.number;
      for (const rate of this.creationWindows) rate.count(job.requestedAt);
    }
    // Who was at work before the service stopped is again, before those who waited.
    const atWork = ({ job: { status } }: JobLife) =>
      status === 'estimating' || status === 'running';
    const lives = [...this.#lives.values()].sort((a, b) => a.job.since - b.job.since);
    for (const life of lives.filter(atWork)) this.#start(life);
    for (const life of lives.filter(life => !atWork(life))) this.#start(life);
  }

  #start(life: JobLife): void {
    const { signal } = this.#stopping;
    const running = this.#turns
      .during(() => life.run())
      .catch(error => {
        if (!signal.aborted) this.#context.settings.onError(error);
      })
      .finally(() => this.#running.delete(running));
    this.#running.add(running);
  }

  #newUuid(): string {
    for (;;) {
      const uuid = Array.from({ length: 10 }, () => randomInt(36).toString(36)).join('');
      if (!this.#lives.has(uuid)) return uuid;
    }
  }
}
