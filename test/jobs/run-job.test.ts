import { setTimeout as sleep } from 'node:timers/promises';
import { afterEach, describe, expect, it } from 'vitest';
import { JobError, OptionError } from '../../src/base/errors.js';
import { DAY } from '../../src/base/time.js';
import { account } from '../../src/http/account.js';
import type { Job } from '../../src/jobs/job.js';
import { createJob, findJob, listJobs } from '../../src/jobs/job-calls.js';
import { type RunJobOptions, runJob } from '../../src/jobs/run-job.js';
import { createService, type Service, type ServiceOptions } from '../../src/service/index.js';
import { json } from '../http/scripted-server.js';
import { impatient } from '../http/virtual-time.js';
import { unchecked } from '../unchecked.js';
import { JOB, listed, QUOTE, acme as scriptedAcme, server, setUpServer } from './scripted-jobs.js';

const OPTIONS: RunJobOptions = {
  title: 'coffee',
  fromDate: '202401010000',
  toDate: '202401010100',
  dataFormat: 'original',
  rules: [{ value: 'coffee OR music', tag: 'a' }],
  decide: () => true,
  pollIntervalMs: 10,
};

const running: Service[] = [];
afterEach(async () => {
  for (const service of running.splice(0)) await service.stop();
});

async function start(options: ServiceOptions = {}) {
  const service = createService({ limits: 'relaxed', jobDwellMs: 15, ...options });
  running.push(service);
  const addresses = await service.start();
  return {
    service,
    acme: account({ ...addresses, limits: { jobReads: [], jobCreation: [] } }, {}),
  };
}

describe('jobs.run', () => {
  it('creates a job, accepts it, waits for its delivery, and reports each status', async () => {
    const { acme } = await start({ jobDollarsPerDay: 500 });
    const seen: string[] = [];
    const quotes: unknown[] = [];
    const job = await runJob(acme, {
      ...OPTIONS,
      onStatus: ({ status }) => seen.push(status),
      decide: (quote, { title }) => {
        quotes.push({ ...quote, title });
        return quote.costDollars === 500;
      },
    });
    expect(job).toMatchObject({ status: 'delivered', results: { fileCount: 6 } });
    expect(quotes).toMatchObject([
      { title: job.title, costDollars: 500, estimatedActivityCount: expect.any(Number) },
    ]);
    const order = [
      'opened',
      'estimating',
      'quoted',
      'accepted',
      'running',
      'completed',
      'delivered',
    ];
    const steps = seen.filter((status, index) => status !== seen[index - 1]);
    expect(order.filter(status => steps.includes(status))).toEqual(steps);
    expect(steps.at(-1)).toBe('delivered');
  });

  it('uses the job that it created before a restart, whatever the status of the job', async () => {
    const { acme } = await start({ jobDwellMs: 30 });
    let asked = 0;
    for (let stopped = 0; ; stopped++) {
      const abort = new AbortController();
      const timer = setTimeout(() => abort.abort('stopped'), 40 * 1.2 ** stopped);
      const decide = () => ++asked > 0;
      try {
        const job = await runJob(acme, { ...OPTIONS, decide, signal: abort.signal });
        expect(job.status).toBe('delivered');
        expect(stopped).toBeGreaterThan(0);
        break;
      } catch (error) {
        expect(error).toBe('stopped');
      } finally {
        clearTimeout(timer);
      }
    }
    expect((await listJobs(acme)).jobs.length).toBe(1);
    expect((await listJobs(acme)).delivered.jobCount).toBe(1);
    const again = await runJob(acme, { ...OPTIONS, decide: () => unchecked(expect.unreachable()) });
    expect(again.status).toBe('delivered');
    expect(asked).toBeGreaterThan(0);
  });

  it('lets two scripts that run at the same time use one job', async () => {
    const { acme } = await start();
    const [one, other] = await Promise.all([runJob(acme, OPTIONS), runJob(acme, OPTIONS)]);
    expect(one.uuid).toBe(other.uuid);
    expect((await listJobs(acme)).jobs.length).toBe(1);
  });

  it('fails with the status rejected if `decide` returns false, even when it is run again', async () => {
    const { acme } = await start();
    const first = await runJob(acme, { ...OPTIONS, decide: async () => false }).catch(e => e);
    expect(first).toBeInstanceOf(JobError);
    expect(first).toMatchObject({
      code: 'ERR_JOB',
      title: expect.stringMatching(/^coffee /),
      status: 'rejected',
    });
    expect(first.message).toMatch(/turned its quote down: no extra cost, about \d+ posts/);
    await expect(runJob(acme, OPTIONS)).rejects.toMatchObject({
      status: 'rejected',
      message: expect.stringContaining('cannot be recovered'),
    });
  });

  it.each(['estimating', 'running', 'validation'] as const)(
    'fails without creating the job again if the job fails in the phase %s',
    async during => {
      const { service, acme } = await start();
      service.faults.plant({ kind: 'job-failure', during });
      for (let run = 0; run < 2; run++) {
        const error = await runJob(acme, OPTIONS).catch(e => e);
        expect(error).toBeInstanceOf(JobError);
        expect(error).toMatchObject({ status: 'failed' });
        expect(error.message).toMatch(/Gnip investigating.*Do not send it again/s);
      }
      expect((await listJobs(acme)).jobs.length).toBe(1);
    },
  );

  it('fails if the quote expires while it waits', async () => {
    const { service, acme } = await start({ jobDwellMs: { accepted: 3_600_000 } });
    const error = runJob(acme, OPTIONS).catch(e => e);
    while ((await listJobs(acme)).jobs[0]?.status !== 'accepted') await sleep(20);
    service.clock.advance(40 * DAY);
    // The service decides whether the job is delivered before it expires, so both outcomes are
    // valid.
    const outcome = await error;
    if (outcome instanceof Error) {
      expect(outcome).toBeInstanceOf(JobError);
      expect(outcome.message).toMatch(/expired/);
    } else expect((outcome as Job).status).toBe('delivered');
  });

  const RULE = { value: 'coffee OR music', tag: 'a' };
  it.each<[string, Partial<RunJobOptions>, RegExp]>([
    ['other rules', { rules: [{ value: 'tea', tag: 'a' }] }, /it has other rules/],
    ['one more rule', { rules: [RULE, { value: 'tea' }] }, /it has other rules/],
    ['another tag', { rules: [{ ...RULE, tag: 'b' }] }, /it has other rules/],
    ['no tag', { rules: [{ value: RULE.value }] }, /it has other rules/],
    ['another window', { toDate: '202401010200' }, /to 202401010100, not/],
    ['another format', { dataFormat: 'activity_streams' }, /its format is original/],
  ])('fails instead of using a job with the same title and %s', async (_, other, message) => {
    const { acme } = await start();
    const { uuid } = await runJob(acme, OPTIONS);
    const error = await runJob(acme, { ...OPTIONS, ...other }).catch(e => e);
    expect(error).toBeInstanceOf(JobError);
    expect(error.message).toMatch(/^There is another job with the title "coffee/);
    expect(error.message).toMatch(message);
    expect(error.message).toContain('Choose another title');
    expect(error).toMatchObject({ uuid, status: 'delivered' });
    expect((await listJobs(acme)).jobs.length).toBe(1);
  });

  it('fails instead of using a job with the same title that it did not create', async () => {
    const { acme } = await start();
    const { decide: _, pollIntervalMs: __, ...request } = OPTIONS;
    const { uuid } = await createJob(acme, request);
    const error = await runJob(acme, OPTIONS).catch(e => e);
    expect(error).toBeInstanceOf(JobError);
    expect(error.message).toContain('not created by `jobs.run`');
    expect(error).toMatchObject({ uuid });
    expect((await listJobs(acme)).jobs.length).toBe(1);
  });

  describe('called with the rules of a job that it created earlier', () => {
    const rules = [RULE, { value: 'tea', tag: null }, { value: 'milk' }];
    const made = async () => {
      const { acme } = await start();
      return { acme, ...(await runJob(acme, { ...OPTIONS, rules })) };
    };

    it('uses the job for any order of the rules', async () => {
      const { acme, uuid } = await made();
      const again = await runJob(acme, { ...OPTIONS, rules: rules.toReversed() });
      expect(again).toMatchObject({ uuid });
      expect((await listJobs(acme)).jobs.length).toBe(1);
    });

    it('uses the job if the title is the one that it sent to the service', async () => {
      const { acme, uuid, title } = await made();
      expect(title).toMatch(/^coffee \(rules [0-9a-f]{8}\)$/);
      expect(await runJob(acme, { ...OPTIONS, rules, title })).toMatchObject({ uuid });
      expect((await listJobs(acme)).jobs.length).toBe(1);
    });

    it('creates a job that findJob finds by the title in the options', async () => {
      const { acme, uuid } = await made();
      expect((await findJob(acme, 'coffee'))?.uuid).toBe(uuid);
    });
  });

  it.each([
    ['decide', { decide: unchecked(undefined) }],
    ['pollIntervalMs', { pollIntervalMs: 0 }],
    ['rules', { rules: [{ value: 'has:vidoes' }] }],
  ])('throws an OptionError for a wrong `%s` before it sends a request', async (option, bad) => {
    const { acme } = await start();
    const error = await runJob(acme, { ...OPTIONS, ...bad }).catch(e => e);
    expect(error).toBeInstanceOf(OptionError);
    expect(error).toMatchObject({ option });
    expect((await listJobs(acme)).jobs).toEqual([]);
  });

  it('names all wrong options in one error', async () => {
    const { acme } = await start();
    const bad = {
      ...OPTIONS,
      title: '',
      dataFormat: 'csv',
      pollIntervalMs: '5',
      onStaus: () => {},
    };
    const error = await runJob(acme, unchecked(bad)).catch(e => e);
    expect(error).toBeInstanceOf(OptionError);
    expect(error.message.split('\n')).toEqual([
      'jobs.run: unknown option `onStaus`; did you mean `onStatus`?',
      expect.stringContaining('jobs.run: `title` must be a string that is not empty'),
      "jobs.run: `dataFormat` must be 'original' or 'activity_streams', got \"csv\"",
      expect.stringContaining('jobs.run: `pollIntervalMs` must be milliseconds from 1'),
    ]);
  });

  it('fails with the error of the promise of `onStatus`', async () => {
    const { acme } = await start();
    const failure = new Error('the log is full');
    const onStatus = async () => {
      await null;
      throw failure;
    };
    await expect(runJob(acme, { ...OPTIONS, onStatus })).rejects.toBe(failure);
  });

  it('leaves the job without a decision if `decide` aborts the run', async () => {
    const { acme } = await start();
    const abort = new AbortController();
    const reason = new Error('stopped');
    const decide = () => {
      abort.abort(reason);
      return true;
    };
    const run = runJob(acme, { ...OPTIONS, decide, signal: abort.signal });
    await expect(run).rejects.toBe(reason);
    expect((await listJobs(acme)).jobs).toMatchObject([{ status: 'quoted' }]);
  });

  it('leaves the job without a decision if `decide` returns neither true nor false', async () => {
    const { acme } = await start();
    await expect(
      runJob(acme, { ...OPTIONS, decide: () => unchecked(undefined) }),
    ).rejects.toMatchObject({ option: 'decide' });
    expect((await listJobs(acme)).jobs).toMatchObject([{ status: 'quoted' }]);
  });
});

describe('jobs.run between two requests for the status', () => {
  setUpServer();

  it('reports each change of the progress once', async () => {
    const running = { ...JOB, status: 'running', quote: QUOTE };
    server.script.push(
      listed(),
      ...[0, 40, 40, 90].map(percentComplete => json({ ...running, percentComplete })),
      json({ ...JOB, status: 'rejected' }),
    );
    const seen: unknown[] = [];
    const run = runJob(scriptedAcme({ timing: impatient() }), {
      ...OPTIONS,
      onStatus: ({ percentComplete }) => seen.push(percentComplete),
    });
    await expect(run).rejects.toBeInstanceOf(JobError);
    expect(seen).toEqual([0, 40, 90, undefined]);
  });

  it('waits longer each time, and briefly again after the status has changed', async () => {
    const estimating = { ...JOB, status: 'estimating' };
    const replies = [
      JOB,
      JOB,
      JOB,
      estimating,
      estimating,
      { ...JOB, status: 'quoted', quote: QUOTE },
    ];
    server.script.push(
      listed(),
      ...replies.map(job => json(job)),
      json({ ...JOB, status: 'rejected' }),
    );
    const timing = impatient();
    const run = runJob(scriptedAcme({ timing }), {
      ...OPTIONS,
      pollIntervalMs: 2_000,
      decide: () => false,
    });
    await expect(run).rejects.toBeInstanceOf(JobError);
    expect(timing.slept).toEqual([1_000, 1_500, 2_000, 1_000, 1_500]);
  });
});
