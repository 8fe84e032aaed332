import { mkdir } from 'node:fs/promises';
import { setTimeout } from 'node:timers/promises';
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { Clock } from '../../../src/service/clock.js';
import { createDataUrls, dataPath, localName } from '../../../src/service/jobs/data-urls.js';
import { quoteOf } from '../../../src/service/jobs/estimate.js';
import { IdleTracker } from '../../../src/service/jobs/idle-tracker.js';
import { type Job, jobDays } from '../../../src/service/jobs/job-record.js';
import { JobStore } from '../../../src/service/jobs/job-store.js';
import { DAY, MINUTE, parseTimestamp } from '../../../src/time.js';
import { bySuite } from '../../slow-suite.js';
import { temporaryFolder } from '../../temporary-folder.js';

const at = (text: string) => parseTimestamp(text) ?? Number.NaN;

const JOB: Job = {
  uuid: 'eff5t4me1j',
  number: 1,
  title: 'a job',
  format: 'original',
  from: at('201307221500'),
  to: at('201307230000'),
  rules: [],
  requestedBy: 'dev@example.com',
  requestedAt: at('201307240810'),
  status: 'opened',
  since: at('201307240810'),
};

describe('job days', () => {
  it.each([
    ['201201010000', '201201020000', 1],
    ['201201010001', '201201020001', 2],
    ['201201010000', '201201020001', 2],
    ['201201012359', '201201020000', 1],
    ['201202280000', '201203010000', 2],
    ['201201010000', '201201010000', 0],
  ])('from %s to %s are %d', (from, to, days) => {
    expect(jobDays({ from: at(from), to: at(to) })).toBe(days);
  });

  it('are the days of which any minute is included', () => {
    fc.assert(
      fc.property(fc.nat(10_000), fc.nat(5_000), (start, length) => {
        const from = at('201202270000') + start * MINUTE;
        const days = new Set(
          Array.from({ length }, (_, i) => new Date(from + i * MINUTE).toISOString().slice(0, 10)),
        );
        expect(jobDays({ from, to: from + length * MINUTE })).toBe(days.size);
      }),
    );
  });
});

describe('the estimated count', () => {
  const terms = { minActivities: 100, dollarsPerDay: undefined, runMs: 0, expiresAt: 0 };
  it.each([
    [0, 100],
    [99, 100],
    [999, 100],
    [1000, 1000],
    [9999.9, 1000],
    [123_456, 100_000],
    [1e9, 1e9],
  ])('of %d is %d', (posts, count) => {
    const { estimatedActivityCount } = quoteOf(JOB, { posts, bytes: 0, readMs: 0 }, terms);
    expect(estimatedActivityCount).toBe(count);
  });
});

describe('the address of a data file', () => {
  it('names its job and its ten minutes, and so does its local name', () => {
    const segment = at('201307221500');
    expect(dataPath(JOB, segment, 'twitter', 'my account')).toBe(
      '/snapshots/twitter/track_v2/original/my%20account/2013/07/24/20130722-20130723_eff5t4me1j/2013/07/22/15/00_activities.json.gz',
    );
    expect(localName(JOB, segment)).toBe(
      '20130722-20130723_eff5t4me1j_2013_07_22_15_00_activities.json.gz',
    );
  });

  it('is valid only with its own signature, in any process with the same seed', () => {
    const path = fc.webPath().filter(text => text.startsWith('/'));
    fc.assert(
      fc.property(path, fc.nat(2 ** 31 - 1), fc.string(), (given, seconds, seed) => {
        const signed = new URL(
          `http://localhost${createDataUrls(seed, 'acme').sign(given, seconds * 1000)}`,
        );
        const { pathname } = signed;
        const url = new URL(
          `http://localhost${createDataUrls(seed, 'acme').sign(pathname, seconds * 1000)}`,
        );
        expect(createDataUrls(seed, 'other').expiryOf(url)).toBe(seconds * 1000);
        expect(createDataUrls(`${seed}!`, 'acme').expiryOf(url)).toBe(undefined);
        url.pathname += 'x';
        expect(createDataUrls(seed, 'acme').expiryOf(url)).toBe(undefined);
      }),
      { numRuns: bySuite(15, 160) },
    );
  });
});

describe('the idle tracker', () => {
  it('is settled when all tasks wait, and busy as soon as one is woken', async () => {
    const clock = new Clock();
    clock.freeze();
    const idle = new IdleTracker(clock);
    const { signal } = new AbortController();
    const log: string[] = [];
    const start = clock.now();
    const work = idle.track(async () => {
      await idle.waitUntil(start + 10, signal);
      log.push('ten');
      await setTimeout(20);
      log.push('worked');
      await idle.waitUntil(start + 20, signal);
      log.push('twenty');
    });
    await idle.settled();
    expect(log).toEqual([]);
    clock.advance(10);
    await idle.settled();
    expect(log).toEqual(['ten', 'worked']);
    clock.advance(100);
    await idle.settled();
    expect(log).toEqual(['ten', 'worked', 'twenty']);
    await work;
  });

  it('waits no longer than asked', async () => {
    const idle = new IdleTracker(new Clock());
    let end: () => void = () => {};
    const work = idle.track(() => new Promise(resolve => (end = resolve)));
    await idle.settled(20);
    end();
    await work;
    await idle.settled();
  });

  it('ends a wait when the service stops', async () => {
    const clock = new Clock();
    clock.freeze();
    const idle = new IdleTracker(clock);
    const stop = new AbortController();
    const reason = new Error('stop');
    const work = idle.track(() => idle.waitUntil(clock.now() + DAY, stop.signal));
    stop.abort(reason);
    await expect(work).rejects.toBe(reason);
    await expect(idle.track(() => idle.waitUntil(0, stop.signal))).rejects.toBe(reason);
    clock.advance(2 * DAY);
    await idle.settled();
  });
});

describe('the store of jobs', () => {
  it('keeps the last of many concurrent saves', async () => {
    const folder = await temporaryFolder();
    const store = new JobStore(folder);
    await Promise.all(Array.from({ length: 50 }, (_, number) => store.save({ ...JOB, number })));
    await store.close();
    const again = new JobStore(folder);
    const [kept] = await again.load();
    await again.close();
    expect(kept?.job.number).toBe(49);
  });

  it('gives jobs in order of creation, and skips other folders', async () => {
    const folder = await temporaryFolder();
    const store = new JobStore(folder);
    for (const [i, uuid] of ['c', 'a', 'b'].entries())
      await store.save({ ...JOB, uuid, number: i });
    await mkdir(`${folder}/jobs/never-made`);
    await store.close();
    const again = new JobStore(folder);
    const kept = await again.load();
    await again.close();
    expect(kept.map(({ job }) => job.uuid)).toEqual(['c', 'a', 'b']);
  });
});
