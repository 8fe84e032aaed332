import { describe, expect, it } from 'vitest';
import { DAY } from '../../../src/base/time.js';
import { localJobs } from './local-jobs.js';

describe('the expiry of a job in the local service', () => {
  it.each(['quoted', 'rejected'] as const)(
    'happens 15 days after the estimate of a %s job',
    async state => {
      const jobs = await localJobs();
      const uuid = await jobs.bring(state);
      const { expiresAt } = (await jobs.job(uuid)).quote ?? { expiresAt: '' };
      expect((await jobs.list()).jobs[0]?.expiresAt).toBe(expiresAt);
      jobs.service.clock.set(Date.parse(expiresAt) - 1);
      await jobs.service.settled();
      expect((await jobs.job(uuid)).status).toBe(state);
      await jobs.move(1);
      expect(await jobs.ask(`/jobs/${uuid}.json`)).toMatchObject({
        status: 404,
        message: expect.stringContaining('has expired and cannot be recovered'),
      });
      expect(await jobs.put(uuid, 'accept')).toMatchObject({ status: 404 });
      expect((await jobs.list()).jobs).toEqual([]);
    },
  );

  it('happens 15 days after the acceptance of an accepted job, and removes its files', async () => {
    const jobs = await localJobs();
    const uuid = await jobs.bring('quoted');
    await jobs.move(DAY);
    await jobs.put(uuid, 'accept');
    await jobs.move(DAY);
    const { urlList, expiresAt } = await jobs.results(uuid);
    const { results, acceptedAt } = await jobs.job(uuid);
    // The time of expiry is in whole seconds, and is the same in every response.
    expect(Date.parse(expiresAt) - Date.parse(String(acceptedAt))).toBe(15 * DAY);
    expect([results?.expiresAt, (await jobs.list()).jobs[0]?.expiresAt]).toEqual([
      expiresAt,
      expiresAt,
    ]);
    jobs.service.clock.set(Date.parse(expiresAt) - 1);
    await jobs.service.settled();
    expect((await fetch(String(urlList[0]))).status).toBe(200);
    const { delivered } = await jobs.list();
    expect(delivered).toEqual({ jobCount: 1, jobDaysRun: 1, activityCount: 6 });
    await jobs.move(1);
    for (const path of [`/jobs/${uuid}.json`, `/jobs/${uuid}/results.json`])
      expect((await jobs.ask(path)).status).toBe(404);
    expect((await fetch(String(urlList[0]))).status).toBe(403);
    expect(await jobs.list()).toEqual({
      jobs: [],
      delivered: { jobCount: 0, jobDaysRun: 0, activityCount: 0 },
    });
    // Setting the clock back does not restore the job.
    await jobs.move(-DAY);
    expect((await jobs.ask(`/jobs/${uuid}.json`)).status).toBe(404);
  });

  it('lets another job use the same title', async () => {
    const jobs = await localJobs();
    await jobs.bring('rejected');
    expect((await jobs.post()).status).toBe(400);
    await jobs.move(15 * DAY);
    expect((await jobs.post()).status).toBe(201);
  });
});
