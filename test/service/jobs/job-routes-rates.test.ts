import { once } from 'node:events';
import { type IncomingMessage, request } from 'node:http';
import { describe, expect, it } from 'vitest';
import { DAY, floorTo, HOUR, MINUTE, SECOND } from '../../../src/base/time.js';
import { temporaryFolder } from '../../temporary-folder.js';
import { AUTHORIZATION } from '../local-service.js';
import { localJobs, SMALL } from './local-jobs.js';

const CREATES = { limits: { jobReadRate: { requests: 1_000, perMs: 1_000 } } };

describe('the rate limits for jobs of the local service', () => {
  it('allow 5 GET requests of all kinds together in 5 s', async () => {
    const jobs = await localJobs({ limits: 'strict' });
    const uuid = await jobs.bring('delivered');
    const paths = ['', '/results'].map(rest => `/jobs/${uuid}${rest}.json`);
    const statuses: number[] = [];
    for (const path of [
      ...paths,
      '/jobs.json',
      `/jobs/${uuid}/results.csv`,
      '/jobs/none.json',
      ...paths,
    ])
      statuses.push((await jobs.ask(path)).status);
    expect(statuses).toEqual([200, 200, 200, 200, 404, 429, 429]);
    const refused = await jobs.ask('/jobs.json');
    expect(refused.message).toBe(
      'Exceeded rate limit: 5 requests in 5 s over status, results and list of jobs',
    );
    expect(refused.headers.get('retry-after')).toBe('5');
    await jobs.move(5 * SECOND - 1);
    expect((await jobs.ask('/jobs.json')).status).toBe(429);
    await jobs.move(1);
    expect((await jobs.ask('/jobs.json')).status).toBe(200);
  });

  it('do not include decisions and downloads of files', async () => {
    const jobs = await localJobs({ limits: 'strict' });
    const uuid = await jobs.bring('delivered');
    const { urlList } = await jobs.results(uuid);
    for (let i = 0; i < 10; i++) {
      expect((await fetch(String(urlList[0]))).status).toBe(200);
      expect((await jobs.put(uuid, 'accept')).status).toBe(400);
    }
    expect((await jobs.list()).jobs).toHaveLength(1);
  });

  it('allow the creation of 30 jobs in an hour', async () => {
    const jobs = await localJobs(CREATES);
    for (let i = 0; i < 30; i++) {
      expect((await jobs.post({ title: `job ${i}` })).status).toBe(201);
      await jobs.move(MINUTE);
    }
    const refused = await jobs.post({ title: 'job 30' });
    expect(refused).toMatchObject({
      status: 429,
      message: 'Exceeded rate limit: 30 requests in 3600 s to create jobs',
    });
    expect(refused.headers.get('retry-after')).toBe(String((30 * MINUTE) / SECOND));
    await jobs.move(30 * MINUTE - 1);
    expect((await jobs.post({ title: 'job 30' })).status).toBe(429);
    await jobs.move(1);
    expect((await jobs.post({ title: 'job 30' })).status).toBe(201);
    expect((await jobs.post({ title: 'job 31' })).status).toBe(429);
  });

  it('allow the creation of 60 jobs in a UTC day', async () => {
    const jobs = await localJobs({
      limits: { jobReadRate: { requests: 1_000, perMs: 1_000 } },
      clock: Date.UTC(2024, 4, 16, 0, 30),
    });
    for (let i = 0; i < 60; i++) {
      if (i === 30) await jobs.move(2 * HOUR);
      expect((await jobs.post({ title: `job ${i}` })).status).toBe(201);
    }
    await jobs.move(2 * HOUR);
    const refused = await jobs.post({ title: 'job 60' });
    expect(refused).toMatchObject({
      status: 429,
      message: 'Exceeded rate limit: 60 requests in a UTC day to create jobs',
    });
    const now = jobs.service.clock.now();
    const midnight = floorTo(DAY, now) + DAY;
    expect(refused.headers.get('retry-after')).toBe(String((midnight - now) / SECOND));
    await jobs.move(midnight - now - 1);
    expect((await jobs.post({ title: 'job 60' })).status).toBe(429);
    await jobs.move(1);
    expect((await jobs.post({ title: 'job 60' })).status).toBe(201);
  });

  it('include only jobs that were created', async () => {
    const jobs = await localJobs(CREATES);
    for (let i = 0; i < 40; i++) expect((await jobs.post({ rules: [] })).status).toBe(400);
    for (let i = 0; i < 30; i++) await jobs.create({ title: `job ${i}` });
    // The rate limit is checked before anything else.
    expect((await jobs.post({ rules: [] })).status).toBe(429);
  });

  it('apply to concurrent requests to create a job', async () => {
    const jobs = await localJobs(CREATES);
    const replies = await Promise.all(
      Array.from({ length: 40 }, (_, i) => jobs.post({ title: `job ${i}` })),
    );
    expect(replies.filter(({ status }) => status === 201)).toHaveLength(30);
  });

  it('reject a request whose body arrives after others have reached the limit', async () => {
    const jobs = await localJobs(CREATES);
    for (let i = 0; i < 29; i++) await jobs.create({ title: `job ${i}` });
    const headers = {
      authorization: AUTHORIZATION,
      'content-type': 'application/json',
      expect: '100-continue',
    };
    const late = request(`${jobs.base}/jobs.json`, { method: 'POST', headers });
    late.flushHeaders();
    // The service has started to read the request and waits for its body.
    await once(late, 'continue');
    expect((await jobs.post({ title: 'the last' })).status).toBe(201);
    late.end(JSON.stringify({ ...SMALL, title: 'one more' }));
    const [{ statusCode }] = (await once(late, 'response')) as [IncomingMessage];
    late.destroy();
    expect(statusCode).toBe(429);
  });

  it('are still in force after the service restarts', async () => {
    const stateFolder = await temporaryFolder();
    const jobs = await localJobs({ ...CREATES, stateFolder });
    for (let i = 0; i < 30; i++) await jobs.create({ title: `job ${i}` });
    await jobs.stop();
    const again = await localJobs({ ...CREATES, stateFolder });
    expect((await again.post({ title: 'one more' })).status).toBe(429);
    await again.move(HOUR);
    expect((await again.post({ title: 'one more' })).status).toBe(201);
  });

  it('can be lifted with relaxed limits', async () => {
    const jobs = await localJobs();
    for (let i = 0; i < 70; i++) await jobs.create({ title: `job ${i}` });
    for (let i = 0; i < 10; i++) expect((await jobs.list()).jobs).toHaveLength(70);
  });
});
