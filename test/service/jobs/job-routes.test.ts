import { describe, expect, it } from 'vitest';
import { parseExact } from '../../../src/json/exact-ids.js';
import { DWELL, localJobs, uuidOf } from './local-jobs.js';

describe('the local service, asked to create a job,', () => {
  it('returns the job with its rules', async () => {
    const jobs = await localJobs();
    const reply = await jobs.post();
    expect(reply.status).toBe(201);
    const { rules, jobURL, ...job } = parseExact(reply.text) as Record<string, unknown>;
    expect(jobURL).toMatch(
      /^http:\/\/127\.0\.0\.1:\d+\/historical\/rulestream\/accounts\/local\/publishers\/twitter\/jobs\/[a-z0-9]{10}\.json$/,
    );
    expect(job).toEqual({
      title: 'small',
      account: 'local',
      publisher: 'twitter',
      streamType: 'track_v2',
      format: 'original',
      fromDate: '202405150934',
      toDate: '202405151034',
      requestedBy: 'dev@example.com',
      requestedAt: '2024-05-15T12:34:56Z',
      status: 'opened',
      statusMessage: 'Waiting on quote from Gnip.',
    });
    expect(rules).toEqual({
      summary: { created: 1, not_created: 0 },
      detail: [
        {
          rule: { value: 'coffee', tag: 'drinks', id: expect.stringMatching(/^\d{19}$/) },
          created: true,
        },
      ],
      sent: '2024-05-15T12:34:56.789Z',
    });
  });

  it('rejects the title of an existing job', async () => {
    const jobs = await localJobs();
    await jobs.create();
    expect(await jobs.post()).toMatchObject({
      status: 400,
      message: expect.stringContaining('There is a job with the title "small"'),
    });
    expect((await jobs.post({ title: 'Small' })).status).toBe(201);
    const both = await Promise.all([jobs.post({ title: 'x' }), jobs.post({ title: 'x' })]);
    expect(both.map(({ status }) => status).sort()).toEqual([201, 400]);
  });
});

describe('the job endpoints of the local service', () => {
  it('require credentials', async () => {
    const jobs = await localJobs();
    const authorization = `Basic ${btoa('dev@example.com:wrong')}`;
    for (const method of ['GET', 'POST']) {
      const reply = await jobs.ask('/jobs.json', { method, headers: { authorization } });
      expect(reply).toMatchObject({ status: 401, message: 'Unauthorized: Invalid credentials' });
      expect(reply.headers.get('www-authenticate')).toMatch(/^Basic /);
      // Existing clients read these fields when a job cannot be created.
      expect(JSON.parse(reply.text).status).toBe(method === 'POST' ? 'error' : undefined);
    }
  });

  it.each([
    ['/historical/rulestream/accounts/other/publishers/twitter/jobs.json'],
    ['/historical/rulestream/accounts/Local/publishers/twitter/jobs.json'],
    ['/historical/rulestream/accounts/local/publishers/other/jobs.json'],
    ['/historical/track/accounts/local/publishers/twitter/jobs.json'],
    ['/historical/rulestream/accounts/local/publishers/twitter/jobs'],
    ['/historical/rulestream/accounts/local/publishers/twitter/jobs/abc'],
    ['/historical/rulestream/accounts/local/publishers/twitter/jobs/abcdefghij.json'],
    ['/historical/rulestream/accounts/local/publishers/twitter/jobs/abcdefghij/results.json'],
    ['/historical/rulestream/accounts/local/publishers/twitter/jobs/abcdefghij/results.csv'],
  ])('are not found at %s', async path => {
    const jobs = await localJobs();
    expect((await jobs.ask(new URL(path, jobs.base).href)).status).toBe(404);
  });

  it('are also available with `powertrack` in the path, and in the URLs of the responses', async () => {
    const jobs = await localJobs();
    const uuid = await jobs.create();
    const base = jobs.base.replace('rulestream', 'powertrack');
    const job = JSON.parse((await jobs.ask(`${base}/jobs/${uuid}.json`)).text);
    expect(job.jobURL).toBe(`${base}/jobs/${uuid}.json`);
  });

  it('contain the configured account and publisher in their paths', async () => {
    const jobs = await localJobs({ account: 'ac me', publisher: 'posts' });
    expect(uuidOf(JSON.parse((await jobs.post({ publisher: 'posts' })).text))).not.toBe('');
    expect((await jobs.post({ title: 'b' })).message).toMatch(/The only publisher is 'posts'/);
  });

  it.each([
    ['DELETE', '/jobs.json', 'GET, POST'],
    ['POST', '/jobs/abcdefghij.json', 'GET, PUT'],
    ['POST', '/jobs/abcdefghij/results.json', 'GET'],
  ])('reject the method %s at %s', async (method, path, allow) => {
    const jobs = await localJobs();
    const reply = await jobs.ask(path, { method });
    expect([reply.status, reply.headers.get('allow')]).toEqual([405, allow]);
  });
});

describe('a decision on a job', () => {
  it.each(['opened', 'estimating', 'accepted', 'rejected', 'running', 'completed', 'delivered'])(
    'is rejected if the status of the job is %s',
    async state => {
      const jobs = await localJobs();
      const uuid = await jobs.create();
      if (state !== 'opened') await jobs.move(DWELL);
      if (state !== 'opened' && state !== 'estimating') {
        await jobs.move(DWELL);
        await jobs.put(uuid, state === 'rejected' ? 'reject' : 'accept');
        await jobs.move(
          DWELL * Math.max(0, ['accepted', 'running', 'completed', 'delivered'].indexOf(state)),
        );
      }
      const before = await jobs.job(uuid);
      expect(before.status).toBe(state);
      for (const decision of ['accept', 'reject'])
        expect(await jobs.put(uuid, decision)).toMatchObject({
          status: 400,
          message: expect.stringContaining(`its status is '${state}'`),
        });
      expect(await jobs.job(uuid)).toEqual(before);
    },
  );

  it.each(['accepted', 'ACCEPT', '', null, undefined, 1])(
    'is rejected with the status %j',
    async status => {
      const jobs = await localJobs();
      const uuid = await jobs.bring('quoted');
      expect(await jobs.put(uuid, status)).toMatchObject({
        status: 400,
        message: expect.stringContaining('{"status":"accept"} or {"status":"reject"}'),
      });
      expect((await jobs.job(uuid)).status).toBe('quoted');
    },
  );

  it('takes effect only once, even with concurrent requests', async () => {
    const jobs = await localJobs();
    const uuid = await jobs.bring('quoted');
    const replies = await Promise.all(
      ['accept', 'reject', 'accept', 'reject'].map(status => jobs.put(uuid, status)),
    );
    expect(replies.map(({ status }) => status).sort()).toEqual([200, 400, 400, 400]);
  });

  it('names the status that a concurrent decision has set when it is refused', async () => {
    const jobs = await localJobs();
    const uuid = await jobs.bring('quoted');
    const [, refused] = await Promise.all([jobs.put(uuid, 'accept'), jobs.put(uuid, 'reject')]);
    expect(refused?.message).toContain("Cannot reject the job: its status is 'accepted'.");
  });
});
