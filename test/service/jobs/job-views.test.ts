import { describe, expect, it } from 'vitest';
import { DAY, HOUR } from '../../../src/base/time.js';
import { NOW } from '../local-service.js';
import { DWELL, localJobs, SMALL } from './local-jobs.js';

describe('the job list of the local service', () => {
  it('is empty at first', async () => {
    const jobs = await localJobs();
    expect(await jobs.list()).toEqual({
      jobs: [],
      delivered: { jobCount: 0, jobDaysRun: 0, activityCount: 0 },
    });
  });

  it('contains each job in brief, with totals if the job is delivered', async () => {
    const jobs = await localJobs();
    const first = await jobs.bring('delivered', { title: 'first' });
    await jobs.move(HOUR);
    await jobs.bring('delivered', {
      title: 'second',
      fromDate: '202405142359',
      toDate: '202405151034',
    });
    const third = await jobs.create({ title: 'third' });
    const { jobs: all, delivered } = await jobs.list();
    expect(all.map(({ title, status }) => [title, status])).toEqual([
      ['first', 'delivered'],
      ['second', 'delivered'],
      ['third', 'opened'],
    ]);
    expect(all[0]).toEqual({
      title: 'first',
      jobURL: `${jobs.base}/jobs/${first}.json`,
      status: 'delivered',
      publisher: 'twitter',
      streamType: 'track_v2',
      fromDate: SMALL.fromDate,
      toDate: SMALL.toDate,
      percentComplete: 100,
      expiresAt: `${new Date(NOW + 2 * DWELL + 15 * DAY).toISOString().slice(0, 19)}Z`,
    });
    expect(all[2]).toEqual({
      title: 'third',
      jobURL: `${jobs.base}/jobs/${third}.json`,
      status: 'opened',
      publisher: 'twitter',
      streamType: 'track_v2',
      fromDate: SMALL.fromDate,
      toDate: SMALL.toDate,
      percentComplete: 0,
    });
    expect(delivered).toEqual({ jobCount: 2, jobDaysRun: 3, activityCount: 12 });
  });
});
