import { describe, expect, it, onTestFinished, vi } from 'vitest';
import { HOUR } from '../../../src/base/time.js';
import { estimateJob, quoteOf } from '../../../src/service/jobs/estimate.js';
import { openSampleArchive } from '../../../src/service/sample/sample-archive.js';
import { serviceSettings } from '../../../src/service/service-options.js';
import { bySuite } from '../../suite.js';
import { NOW } from '../local-service.js';
import { MemoryArchive, originalPost } from '../memory-archive.js';
import { DWELL, localJobs } from './local-jobs.js';
import { JOB } from './opened-job.js';

describe('the estimated count of a job', () => {
  const settings = serviceSettings({});
  it.each([
    [0, 100],
    [99, 100],
    [999, 100],
    [1000, 1000],
    [9999.9, 1000],
    [123_456, 100_000],
    [1e9, 1e9],
  ])('rounds %d posts to %d', (posts, count) => {
    const { estimatedActivityCount } = quoteOf(
      JOB,
      { posts, bytes: 0, readMs: 0 },
      settings,
      JOB.since,
    );
    expect(estimatedActivityCount).toBe(count);
  });
});

describe('the estimate of a job', () => {
  it('stops at its time limit, even within a minute with many posts, and returns which fraction it tested', async () => {
    let now = 0;
    let tested = 0;
    vi.spyOn(performance, 'now').mockImplementation(() => now);
    onTestFinished(() => void vi.restoreAllMocks());
    const archive = new MemoryArchive([]);
    archive.scan = async function* ({ from }) {
      const posts = Array.from({ length: 20_000 }, (_, index) => {
        const { at, id, activity } = originalPost(from, '1', index % 2 ? 'tea' : 'coffee');
        const read = () => {
          now++;
          tested++;
          return activity;
        };
        return Object.defineProperty({ at, id, activity }, 'activity', { get: read });
      });
      yield { segment: from, posts };
    };
    const job = { from: NOW, to: NOW + HOUR, rules: [{ value: 'tea', tag: null, id: '1' }] };
    const { signal } = new AbortController();
    const options = { archive, signal, onProgress() {} };
    const { posts, bytes, readMs } = await estimateJob(job, options);
    expect(tested).toBeLessThan(1_600);
    expect(posts / (60 * 10_000)).toBeCloseTo(1, 2);
    expect(bytes).toBeGreaterThan(0);
    // Reading each of the 20,000 posts of a minute takes 1 ms.
    expect(readMs / (60 * 20_000)).toBeCloseTo(1, 2);
  });
});

describe('the quote of a job', () => {
  it('states 100 activities if the sample contains no match', async () => {
    const jobs = await localJobs();
    const uuid = await jobs.bring('quoted', { rules: [{ value: 'cocoa' }] });
    expect((await jobs.job(uuid)).quote).toMatchObject({
      estimatedActivityCount: 100,
      estimatedFileSizeMb: 0,
    });
  });

  it('has the order of magnitude of the exact count in a short window', async () => {
    const jobs = await localJobs();
    const wide = { fromDate: '202405150934', toDate: '202405151234', rules: [{ value: 'tea' }] };
    const uuid = await jobs.bring('quoted', wide);
    // There are 180 posts. The estimate gives only the order of magnitude.
    expect((await jobs.job(uuid)).quote?.estimatedActivityCount).toBe(100);
  });

  it('charges for each day that contains a part of the window, or states no price if none is configured', async () => {
    const fields = { fromDate: '202405140001', toDate: '202405150001' };
    const jobs = await localJobs({ jobDollarsPerDay: 12.5 });
    const uuid = await jobs.bring('quoted', fields);
    expect((await jobs.job(uuid)).quote?.costDollars).toBe(25);
    const free = await localJobs();
    expect((await free.job(await free.bring('quoted', fields))).quote).not.toHaveProperty(
      'costDollars',
    );
  });

  it('is close to the delivered totals, even for a long window', async () => {
    const jobs = await localJobs({
      archive: openSampleArchive({ now: () => NOW, postsPerMinute: 0.3 }),
    });
    const uuid = await jobs.bring('quoted', {
      fromDate: '202405010000',
      toDate: bySuite('202405030000', '202405080000'),
      rules: [{ value: 'coffee OR lang:en' }],
    });
    const { quote } = await jobs.job(uuid);
    await jobs.put(uuid, 'accept');
    await jobs.move(3 * DWELL);
    const { results } = await jobs.job(uuid);
    const posts = Number(results?.activityCount);
    expect(quote?.estimatedActivityCount).toBeGreaterThan(posts / 20);
    expect(quote?.estimatedActivityCount).toBeLessThan(posts * 2);
    expect(quote?.estimatedFileSizeMb).toBeGreaterThan(Number(results?.fileSizeMb) / 4);
    expect(quote?.estimatedFileSizeMb).toBeLessThan(Number(results?.fileSizeMb) * 4);
    expect(quote?.estimatedDurationHours).toBeGreaterThan(0);
  });
});
