import { gunzipSync } from 'node:zlib';
import { describe, expect, it } from 'vitest';
import type { Fault } from '../../../src/service/index.js';
import { DWELL, type LocalJobs, localJobs } from './local-jobs.js';

const FILE = { endpoint: 'job-files', path: '09/40_activities' } as const;
const TEA = { rules: [{ value: 'tea' }] };

/** Downloads the file of 09:40 and the file after it. */
async function see(jobs: LocalJobs, uuid: string) {
  const { urlList } = await jobs.results(uuid);
  const [hit, other] = await Promise.all(
    [urlList[1], urlList[2]].map(async url => {
      const response = await fetch(String(url));
      const { status, headers } = response;
      const bytes = await response.arrayBuffer().catch((error: Error) => error.message);
      const body = typeof bytes === 'string' ? bytes : Buffer.from(bytes);
      return { status, length: headers.get('content-length'), body };
    }),
  );
  if (hit === undefined || other === undefined) throw new Error('two files');
  expect(gunzipSync(other.body as Buffer).length).toBeGreaterThan(0);
  return { ...hit, whole: (): Buffer => gunzipSync(hit.body as Buffer) };
}

describe('a fault planted for job files', () => {
  const withFault = async (fault: Fault) => {
    const jobs = await localJobs();
    const uuid = await jobs.bring('delivered', TEA);
    const good = await see(jobs, uuid);
    expect(good.whole().toString()).toMatch(/"activity_count":10/);
    jobs.service.faults.plant(fault);
    return { jobs, uuid, good };
  };

  it('truncates a file but ends the response normally', async () => {
    const { jobs, uuid, good } = await withFault({
      kind: 'cut',
      ...FILE,
      afterBytes: 200,
      end: 'finish',
    });
    const seen = await see(jobs, uuid);
    expect([seen.status, seen.body.length]).toEqual([200, 200]);
    expect(() => seen.whole()).toThrow('unexpected end of file');
    expect((await see(jobs, uuid)).whole()).toEqual(good.whole());
  });

  it.each(['reset', 'close'] as const)(
    'breaks the connection in the middle of a file by a %s',
    async end => {
      const { jobs, uuid, good } = await withFault({ kind: 'cut', ...FILE, afterBytes: 200, end });
      const seen = await see(jobs, uuid);
      expect([seen.status, seen.length, typeof seen.body]).toEqual([200, good.length, 'string']);
    },
  );

  it('makes the service return 404 for a file that it lists', async () => {
    const { jobs, uuid } = await withFault({
      kind: 'status',
      ...FILE,
      status: 404,
      times: 'always',
    });
    for (let i = 0; i < 3; i++) expect((await see(jobs, uuid)).status).toBe(404);
    expect((await jobs.results(uuid)).urlCount).toBe(7);
  });

  it('makes the service respond with 403 for a file the given number of times', async () => {
    const { jobs, uuid } = await withFault({ kind: 'status', ...FILE, status: 403, times: 2 });
    expect((await see(jobs, uuid)).status).toBe(403);
    expect((await see(jobs, uuid)).status).toBe(403);
    expect((await see(jobs, uuid)).status).toBe(200);
  });

  it('flips one bit in a file', async () => {
    const { jobs, uuid, good } = await withFault({ kind: 'flip', ...FILE, atByte: 100 });
    const seen = await see(jobs, uuid);
    expect(seen.length).toBe(good.length);
    expect(seen.body).not.toEqual(good.body);
    expect(() => seen.whole()).toThrow();
  });

  it('slows down the delivery of a file', async () => {
    const { jobs, uuid, good } = await withFault({
      kind: 'stall',
      ...FILE,
      afterBytes: 200,
      forMs: 80,
    });
    const start = performance.now();
    const seen = await see(jobs, uuid);
    expect(performance.now() - start).toBeGreaterThan(75);
    expect(seen.body).toEqual(good.body);
  });
});

describe('a fault planted for the file list of a job', () => {
  it('changes the totals in the list', async () => {
    const jobs = await localJobs();
    const uuid = await jobs.bring('delivered');
    const right = await jobs.results(uuid);
    const { results } = await jobs.job(uuid);
    jobs.service.faults.plant({ kind: 'wrong-totals', urlCount: 1, totalFileSizeBytes: -7 });
    jobs.service.faults.plant({ kind: 'wrong-totals', activityCount: 3, title: 'small' });
    jobs.service.faults.plant({ kind: 'wrong-totals', activityCount: 3, title: 'other' });
    expect(await jobs.results(uuid)).toEqual({
      ...right,
      urlCount: right.urlCount + 1,
      totalFileSizeBytes: right.totalFileSizeBytes - 7,
    });
    expect((await jobs.job(uuid)).results?.activityCount).toBe(Number(results?.activityCount) + 3);
    expect(await jobs.results(uuid)).toEqual(right);
    expect((await jobs.job(uuid)).results).toEqual(results);
  });
});

describe('a fault planted for the job endpoints', () => {
  it('affects requests about jobs, but not requests for job files', async () => {
    const jobs = await localJobs();
    const uuid = await jobs.bring('delivered');
    jobs.service.faults.plant({ kind: 'status', endpoint: 'jobs', status: 503, retryAfter: 1 });
    const reply = await jobs.ask('/jobs.json');
    expect([reply.status, reply.headers.get('retry-after')]).toEqual([503, '1']);
    expect((await fetch(String((await jobs.results(uuid)).urlList[0]))).status).toBe(200);
  });

  it('is accepted by the control API only if it is valid', async () => {
    const jobs = await localJobs();
    const plant = (fault: object) =>
      jobs.ask(new URL('/_control/faults', jobs.base).href, {
        method: 'POST',
        body: JSON.stringify(fault),
      });
    expect((await plant({ kind: 'job-failure', during: 'running' })).status).toBe(201);
    for (const wrong of [
      { kind: 'job-failure' },
      { kind: 'job-failure', during: 'lunch' },
      { kind: 'job-failure', during: 'running', path: 'jobs' },
      { kind: 'suspect-minutes', minutes: [] },
      { kind: 'suspect-minutes', minutes: ['2024'] },
      { kind: 'wrong-totals', urlCount: 0.5 },
      { kind: 'status', status: 500, title: 'small' },
    ])
      expect((await plant(wrong)).status).toBe(422);
    const uuid = await jobs.bring('accepted');
    await jobs.move(2 * DWELL);
    expect((await jobs.job(uuid)).status).toBe('failed');
  });
});
