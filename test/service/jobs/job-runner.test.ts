import { setTimeout } from 'node:timers/promises';
import { describe, expect, it } from 'vitest';
import { DAY } from '../../../src/base/time.js';
import { Clock } from '../../../src/service/clock.js';
import { IdleTracker } from '../../../src/service/jobs/idle-tracker.js';
import type { JobRecord } from '../../../src/service/jobs/job-record.js';
import { JobRunner, Semaphore } from '../../../src/service/jobs/job-runner.js';
import { JobStore } from '../../../src/service/jobs/job-store.js';
import type { ServiceContext } from '../../../src/service/service-context.js';
import { unchecked } from '../../unchecked.js';
import { NOW } from '../local-service.js';
import { MemoryArchive } from '../memory-archive.js';
import { DWELL, type LocalJobs, localJobs, POSTS } from './local-jobs.js';
import { JOB } from './opened-job.js';

async function statuses(jobs: LocalJobs): Promise<Record<string, string>> {
  const list = await jobs.list();
  return Object.fromEntries(list.jobs.map(({ title, status }) => [title, status]));
}

const at = (ms: number) => `${new Date(NOW + ms).toISOString().slice(0, 19)}Z`;

describe('a job in the local service', () => {
  it('has the status opened when it is created, with its URL and a message about the coming quote', async () => {
    const jobs = await localJobs();
    const made = JSON.parse((await jobs.post()).text);
    expect(made).toMatchObject({
      status: 'opened',
      statusMessage: 'Waiting on quote from Gnip.',
      jobURL: expect.stringMatching(/\/jobs\/[a-z0-9]{10}\.json$/),
    });
    const { rules, ...job } = made;
    expect(await jobs.job(/(\w+)\.json$/.exec(made.jobURL)?.[1] ?? '')).toEqual(job);
  });

  it('has the status estimating after the status opened, with a message about its progress', async () => {
    const jobs = await localJobs();
    const uuid = await jobs.create();
    await jobs.move(DWELL - 1);
    expect((await jobs.job(uuid)).status).toBe('opened');
    await jobs.move(1);
    expect(await jobs.job(uuid)).toMatchObject({
      status: 'estimating',
      statusMessage: 'Generating a job quote.',
      percentComplete: 0,
    });
    await jobs.move(DWELL / 2);
    expect(await jobs.job(uuid)).toMatchObject({
      status: 'estimating',
      statusMessage: 'Auto-estimate job is running.',
      percentComplete: 50,
    });
    await jobs.move(DWELL / 2 - 1);
    expect(await jobs.job(uuid)).toMatchObject({
      statusMessage: 'Auto-estimate job has run, time to do some math.',
      percentComplete: 99,
    });
  });

  it('has the status quoted when its estimate is complete', async () => {
    const jobs = await localJobs();
    const uuid = await jobs.create();
    await jobs.move(2 * DWELL);
    expect(await jobs.job(uuid)).toMatchObject({
      status: 'quoted',
      statusMessage: 'Job quoted and awaiting customer acceptance.',
      percentComplete: 0,
      quote: { estimatedActivityCount: 100, expiresAt: at(2 * DWELL + 15 * DAY) },
    });
  });

  it('shows who accepted its quote and when, and cannot be rejected any more', async () => {
    const jobs = await localJobs();
    const uuid = await jobs.bring('quoted');
    await jobs.move(1_000);
    const { status, text } = await jobs.put(uuid, 'accept');
    expect(status).toBe(200);
    const accepted = {
      status: 'accepted',
      statusMessage: 'Job accepted and ready to be queued.',
      acceptedBy: 'dev@example.com',
      acceptedAt: at(2 * DWELL + 1_000),
    };
    expect(JSON.parse(text)).toMatchObject(accepted);
    expect(await jobs.job(uuid)).toMatchObject(accepted);
    for (const decision of ['reject', 'accept'])
      expect(await jobs.put(uuid, decision)).toMatchObject({
        status: 400,
        message: expect.stringContaining(`Cannot ${decision} the job: its status is 'accepted'`),
      });
  });

  it('shows when its quote was rejected, and cannot be accepted any more', async () => {
    const jobs = await localJobs();
    const uuid = await jobs.bring('rejected');
    const rejected = {
      status: 'rejected',
      statusMessage: 'Job quote rejected by customer.',
      acceptedBy: 'dev@example.com',
      acceptedAt: at(2 * DWELL),
    };
    expect(await jobs.job(uuid)).toMatchObject(rejected);
    expect((await jobs.put(uuid, 'accept')).status).toBe(400);
    await jobs.move(DAY);
    expect(await jobs.job(uuid)).toMatchObject(rejected);
  });

  it('increases percentComplete until it is completed, validated and delivered', async () => {
    const jobs = await localJobs();
    const uuid = await jobs.bring('accepted');
    expect(await jobs.job(uuid)).not.toHaveProperty('percentComplete');
    await jobs.move(DWELL);
    const seen: unknown[] = [];
    for (let i = 0; i < 4; i++) {
      const { status, statusMessage, percentComplete } = await jobs.job(uuid);
      seen.push([status, statusMessage, percentComplete]);
      await jobs.move(DWELL / 4);
    }
    const running = ['running', 'Job is being processed.'];
    expect(seen).toEqual([0, 25, 50, 75].map(percent => [...running, percent]));
    const completed = await jobs.job(uuid);
    expect(completed).toMatchObject({
      status: 'completed',
      statusMessage: 'Job completed and awaiting validation.',
      percentComplete: 100,
    });
    expect(completed).not.toHaveProperty('results');
    await jobs.move(DWELL);
    expect(await jobs.job(uuid)).toMatchObject({
      status: 'delivered',
      statusMessage: 'Job delivered and available for download',
      percentComplete: 100,
      results: {
        activityCount: 6,
        fileCount: 6,
        completedAt: at(4 * DWELL),
        dataURL: `${jobs.base}/jobs/${uuid}/results.json`,
        expiresAt: at(2 * DWELL + 15 * DAY),
      },
    });
  });

  it('has 0 % done when it begins to run, although its estimate was complete', async () => {
    let release = () => {};
    class HeldArchive extends MemoryArchive {
      held: Promise<void> | undefined;
      override async *scan(window: Parameters<MemoryArchive['scan']>[0]) {
        await this.held;
        yield* super.scan(window);
      }
    }
    const archive = new HeldArchive(POSTS);
    const jobs = await localJobs({ archive });
    const uuid = await jobs.bring('accepted');
    archive.held = new Promise<void>(resolve => {
      release = resolve;
    });
    try {
      // The test cannot wait until the job is idle, because the job is waiting for the archive.
      jobs.service.clock.advance(2 * DWELL);
      await expect
        .poll(() => jobs.job(uuid), { timeout: 10_000 })
        .toMatchObject({ status: 'running', percentComplete: 0 });
    } finally {
      // Otherwise the service could not stop.
      release();
    }
    await jobs.move(DWELL);
    expect((await jobs.job(uuid)).status).toBe('delivered');
  });

  it('changes its status at the scheduled times, however far the clock is moved', async () => {
    const jobs = await localJobs();
    const uuid = await jobs.create();
    await jobs.move(5 * DAY);
    expect((await jobs.job(uuid)).quote?.expiresAt).toBe(at(2 * DWELL + 15 * DAY));
    await jobs.put(uuid, 'accept');
    await jobs.move(3 * DAY);
    expect((await jobs.job(uuid)).results).toMatchObject({
      completedAt: at(5 * DAY + 2 * DWELL),
      expiresAt: at(20 * DAY),
    });
  });

  it('has the status of the new time after the clock is moved over HTTP', async () => {
    const jobs = await localJobs();
    const uuid = await jobs.create();
    const clock = new URL('/_control/clock', jobs.base).href;
    const moved = { method: 'POST', body: JSON.stringify({ advance: '14d' }) };
    expect((await jobs.ask(clock, moved)).status).toBe(200);
    expect((await jobs.job(uuid)).status).toBe('quoted');
    expect((await jobs.ask(clock, moved)).status).toBe(200);
    expect((await jobs.ask(`/jobs/${uuid}.json`)).status).toBe(404);
  });

  it('changes its status in real time if the clock is not frozen', async () => {
    const jobs = await localJobs({ jobDwellMs: { opened: 0, estimating: 20, running: 0 } });
    jobs.service.clock.reset();
    const uuid = await jobs.create();
    while ((await jobs.job(uuid)).status !== 'quoted') await setTimeout(5);
    await jobs.put(uuid, 'accept');
    while ((await jobs.job(uuid)).status !== 'delivered') await setTimeout(20);
    expect((await jobs.results(uuid)).urlCount).toBe(6);
  });

  it('keeps its status when the clock is set back', async () => {
    const jobs = await localJobs();
    const uuid = await jobs.bring('accepted');
    await jobs.move(-DAY);
    expect((await jobs.job(uuid)).status).toBe('accepted');
    await jobs.move(DAY + 3 * DWELL);
    expect((await jobs.job(uuid)).status).toBe('delivered');
  });
});

it('JobRunner refuses a decision if the quote expires before the decision is stored', async () => {
  const clock = new Clock();
  clock.freeze();
  clock.set(NOW);
  const settings = { limits: { jobRetentionMs: 15 * DAY }, onError: fail };
  const idle = new IdleTracker(clock);
  const store = new JobStore(undefined);
  const quoted: JobRecord = { ...JOB, status: 'quoted', since: NOW };
  const runner = new JobRunner(quoted, [], {
    context: unchecked<ServiceContext>({ clock, settings }),
    store,
    idle,
    estimating: new Semaphore(1),
    running: new Semaphore(1),
    signal: new AbortController().signal,
  });
  const ended = idle.track(() => runner.run());
  const decided = runner.decide('accepted', 'dev@example.com');
  // The record is not stored yet, because nothing was awaited.
  clock.advance(15 * DAY);
  expect(await decided).toBe(false);
  await ended;
  expect(runner.job).toMatchObject({ status: 'quoted', gone: true });
  await store.close();
});

function fail(error: unknown): never {
  throw error;
}

describe('concurrent jobs', () => {
  it('are estimated two at a time, in order', async () => {
    const jobs = await localJobs();
    const uuids: string[] = [];
    for (const title of ['a', 'b', 'c', 'd', 'e']) {
      uuids.push(await jobs.create({ title }));
      await jobs.move(1);
    }
    await jobs.move(DWELL);
    expect(await statuses(jobs)).toEqual({
      a: 'estimating',
      b: 'estimating',
      c: 'opened',
      d: 'opened',
      e: 'opened',
    });
    expect((await jobs.job(uuids[2] as string)).statusMessage).toBe(
      'Request to auto-estimate queued.',
    );
    await jobs.move(DWELL);
    expect(Object.values(await statuses(jobs))).toEqual([
      ...['quoted', 'quoted', 'estimating', 'estimating', 'opened'],
    ]);
    await jobs.move(DWELL);
    expect(Object.values(await statuses(jobs))).toEqual([
      ...['quoted', 'quoted', 'quoted', 'quoted', 'estimating'],
    ]);
  });

  it('run two at a time, in the order in which they were accepted', async () => {
    const jobs = await localJobs();
    const uuids: string[] = [];
    for (const title of ['a', 'b', 'c', 'd']) uuids.push(await jobs.create({ title }));
    await jobs.move(4 * DWELL);
    for (const uuid of uuids.toReversed()) {
      await jobs.put(uuid, 'accept');
      await jobs.move(1);
    }
    await jobs.move(DWELL);
    expect(Object.values(await statuses(jobs))).toEqual([
      ...['accepted', 'accepted', 'running', 'running'],
    ]);
    await jobs.move(DWELL);
    expect(Object.values(await statuses(jobs))).toEqual([
      ...['running', 'running', 'completed', 'completed'],
    ]);
    await jobs.move(2 * DWELL);
    expect(new Set(Object.values(await statuses(jobs)))).toEqual(new Set(['delivered']));
  });

  it('are estimated one at a time if the limit `jobsEstimating` is 1', async () => {
    const jobs = await localJobs({ limits: { jobsEstimating: 1 } });
    for (const title of ['a', 'b']) await jobs.create({ title });
    await jobs.move(DWELL);
    expect(await statuses(jobs)).toEqual({ a: 'estimating', b: 'opened' });
  });
});

describe('a failing job', () => {
  it.each([
    ['estimating', 2, 'Auto-estimate job has failed. Gnip investigating'],
    ['running', 4, 'Failure running job. Gnip investigating'],
    ['validation', 5, 'Job completed but failed validation. Gnip investigating.'],
  ] as const)(
    'ends as failed because of a fault planted for its %s phase',
    async (during, dwells, statusMessage) => {
      const jobs = await localJobs();
      jobs.service.faults.plant({ kind: 'job-failure', during, title: 'small' });
      const other = await jobs.create({ title: 'other' });
      const uuid = await jobs.create();
      await jobs.move(2 * DWELL);
      if (during !== 'estimating') await jobs.put(uuid, 'accept');
      await jobs.move((dwells - 2) * DWELL);
      const failed = await jobs.job(uuid);
      expect(failed).toMatchObject({ status: 'failed', statusMessage });
      expect(failed).not.toHaveProperty('results');
      expect(failed.quote !== undefined).toBe(during !== 'estimating');
      expect((await jobs.ask(`/jobs/${uuid}/results.json`)).status).toBe(404);
      expect((await jobs.put(uuid, 'accept')).status).toBe(400);
      expect((await jobs.job(other)).status).toBe('quoted');
      await jobs.move(15 * DAY);
      expect((await jobs.ask(`/jobs/${uuid}.json`)).status).toBe(404);
    },
  );

  it('does not stop other jobs when the archive cannot be read', async () => {
    class BrokenArchive extends MemoryArchive {
      broken = false;
      override async *scan(window: Parameters<MemoryArchive['scan']>[0]) {
        if (this.broken) throw new Error('The archive is gone');
        yield* super.scan(window);
      }
    }
    const archive = new BrokenArchive(POSTS);
    const jobs = await localJobs({ archive, limits: { jobsEstimating: 1, jobsRunning: 1 } });
    const run = await jobs.bring('accepted', { title: 'run' });
    archive.broken = true;
    const estimate = await jobs.create({ title: 'estimate' });
    await jobs.move(2 * DWELL);
    archive.broken = false;
    const fine = await jobs.bring('delivered', { title: 'fine' });
    for (const uuid of [run, estimate]) expect((await jobs.job(uuid)).status).toBe('failed');
    expect((await jobs.job(fine)).status).toBe('delivered');
    expect(jobs.errors).toEqual([
      new Error('The archive is gone'),
      new Error('The archive is gone'),
    ]);
  });
});
