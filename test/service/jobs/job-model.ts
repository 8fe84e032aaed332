import { DAY, floorTo, SECOND } from '../../../src/base/time.js';
import type { JobState } from '../../../src/service/jobs/job-record.js';

export interface ModelDwell {
  readonly opened: number;
  readonly estimating: number;
  readonly accepted: number;
  readonly running: number;
  readonly completed: number;
}

interface ModelJob {
  readonly title: string;
  status: JobState | 'gone';
  since: number;
  /** The time of the next change of state, unless the job is waiting for its turn. */
  due: number;
  /** Whether the job is waiting for its turn. */
  inLine: boolean;
}

export class JobModel {
  readonly jobs: ModelJob[] = [];
  now: number;
  readonly #dwell: ModelDwell;
  readonly #atOnce: number;

  constructor(now: number, dwell: ModelDwell, atOnce: number) {
    this.now = now;
    this.#dwell = dwell;
    this.#atOnce = atOnce;
  }

  create(title: string): void {
    const due = this.now + this.#dwell.opened;
    this.jobs.push({ title, status: 'opened', since: this.now, due, inLine: false });
  }

  decide(title: string, decision: 'accept' | 'reject'): boolean {
    const job = this.jobs.findLast(({ title: other }) => other === title);
    if (job?.status !== 'quoted') return false;
    const expiry = job.due;
    if (decision === 'accept') this.#enter(job, 'accepted', this.now);
    else Object.assign(job, { status: 'rejected', since: this.now, due: expiry });
    return true;
  }

  statuses(): Record<string, string> {
    const live = this.jobs.filter(({ status }) => status !== 'gone');
    return Object.fromEntries(live.map(({ title, status }) => [title, status]));
  }

  advance(ms: number): void {
    const end = this.now + ms;
    for (;;) {
      const next = this.jobs
        .filter(({ status, inLine, due }) => status !== 'gone' && !inLine && due <= end)
        .sort((a, b) => a.due - b.due)[0];
      if (next === undefined) break;
      this.now = next.due;
      this.#step(next);
    }
    this.now = end;
  }

  #step(job: ModelJob): void {
    const { status } = job;
    if (status === 'opened') this.#queue(job, 'estimating');
    else if (status === 'accepted') this.#queue(job, 'running');
    else if (status === 'estimating') {
      this.#enter(job, 'quoted', this.now);
      this.#letIn('estimating', 'opened');
    } else if (status === 'running') {
      this.#enter(job, 'completed', this.now);
      this.#letIn('running', 'accepted');
    } else if (status === 'completed') this.#enter(job, 'delivered', this.now);
    else job.status = 'gone';
  }

  #queue(job: ModelJob, status: 'estimating' | 'running'): void {
    if (this.jobs.filter(other => other.status === status).length < this.#atOnce)
      this.#enter(job, status, this.now);
    else job.inLine = true;
  }

  #letIn(status: 'estimating' | 'running', from: JobState): void {
    const first = this.jobs
      .filter(job => job.status === from && job.inLine)
      .sort((a, b) => a.due - b.due)[0];
    if (first !== undefined) this.#enter(first, status, this.now);
  }

  #enter(job: ModelJob, status: JobState, at: number): void {
    const { accepted = Number.NaN } = job as ModelJob & { accepted?: number };
    if (status === 'accepted') Object.assign(job, { accepted: at });
    const lasts: Partial<Record<JobState, number>> = { ...this.#dwell, quoted: 15 * DAY };
    const end = status === 'delivered' ? accepted + 15 * DAY : at + (lasts[status] ?? 0);
    // Responses show times in whole seconds, so jobs expire at whole seconds.
    const due = status === 'delivered' || status === 'quoted' ? floorTo(SECOND, end) : end;
    Object.assign(job, { status, since: at, due, inLine: false });
  }
}
