import { describe, expect, it } from 'vitest';
import { HttpError, JobError, OptionError } from '../../src/base/errors.js';
import { DAY } from '../../src/base/time.js';
import { acceptJob, createJob, rejectJob } from '../../src/jobs/job-calls.js';
import { cut, json, type Reply, reset, status } from '../http/scripted-server.js';
import { REQUEST } from './job-account.js';
import { acme, JOB, listed, methods, PATH, QUOTE, server, setUpServer } from './scripted-jobs.js';

setUpServer();

const newJob = (of: object = {}) => ({ ...JOB, requestedAt: new Date().toISOString(), ...of });

describe('creating a job', () => {
  const answer = JSON.stringify({
    ...JOB,
    rules: {
      summary: { created: 3, not_created: 0 },
      detail: ['#'],
      sent: '2024-05-15T12:34:56.783Z',
    },
  }).replace(
    '"#"',
    '{"rule":{"value":"snow lang:en","tag":"a","id":8279946641681079174},"created":true},{"rule":{"value":"rain","tag":null},"created":false,"message":"no"}',
  );

  it('sends the documented body, and keeps ids exact', async () => {
    server.script.push(response => response.writeHead(201).end(answer));
    const job = await createJob(acme(), REQUEST);
    const [sent] = server.received;
    expect(sent).toMatchObject({ method: 'POST', url: `${PATH}/jobs.json` });
    expect(sent?.headers['content-type']).toMatch(/^application\/json/);
    expect(JSON.parse(sent?.body ?? '')).toEqual({
      publisher: 'twitter',
      title: 'snow',
      fromDate: '201401010000',
      toDate: '201401020000',
      dataFormat: 'original',
      rules: [{ value: 'snow lang:en', tag: 'a' }, { value: 'rain' }, { value: '"ice é🎉"' }],
    });
    expect(job).toMatchObject({
      uuid: 'eff5t4me1j',
      status: 'opened',
      requestedAt: '2024-05-15T12:34:56Z',
      rules: [
        { value: 'snow lang:en', tag: 'a', id: '8279946641681079174', created: true },
        { value: 'rain', tag: null, created: false, message: 'no' },
      ],
    });
  });

  it('sends no request if an option is wrong', async () => {
    await expect(createJob(acme(), { ...REQUEST, rules: [] })).rejects.toBeInstanceOf(OptionError);
    expect(server.received).toEqual([]);
  });

  const invalid = {
    ...JOB,
    jobURL: undefined,
    status: 'error',
    statusMessage: 'Invalid Rules, see details.',
    rules: {
      summary: { created: 0, not_created: 2 },
      detail: [
        { rule: { value: 'snow', tag: null }, created: false },
        {
          rule: { value: '-x', tag: null },
          created: false,
          message: 'Rules must contain a non-negation term',
        },
      ],
    },
  };
  it.each<[string, Reply, object]>([
    ['400', status(400, JSON.stringify(invalid)), HttpError],
    ['200', json(invalid), JobError],
  ])('reports why the service rejected rules with a %s', async (_, reply, kind) => {
    server.script.push(reply);
    const error = await createJob(acme(), REQUEST).catch(e => e);
    expect(error).toBeInstanceOf(kind);
    expect(error.message).toContain('Invalid Rules, see details. "-x": Rules must contain');
    expect(server.received.length).toBe(1);
  });

  const LOST: [string, Reply][] = [
    ['reset before a response', reset],
    ['cut off during the response', cut(JOB, 'reset')],
    ['response without its end', cut(JOB, 'document')],
    ['500', status(500)],
    ['503', status(503)],
  ];
  it.each(LOST)(
    'uses the job that it finds by its title after a lost response (%s)',
    async (_, lost) => {
      const job = newJob({ status: 'estimating' });
      server.script.push(lost, listed(job), json(job));
      expect(await createJob(acme(), REQUEST)).toMatchObject({
        uuid: 'eff5t4me1j',
        status: 'estimating',
      });
      expect(methods()).toEqual(['POST /jobs.json', 'GET /jobs.json', 'GET /jobs/eff5t4me1j.json']);
    },
  );

  it.each(LOST)(
    'is repeated after a lost response (%s) if no listed job has the title',
    async (_, lost) => {
      server.script.push(lost, listed({ ...JOB, title: 'other' }), json(JOB));
      expect((await createJob(acme(), REQUEST)).uuid).toBe('eff5t4me1j');
      expect(methods()).toEqual(['POST /jobs.json', 'GET /jobs.json', 'POST /jobs.json']);
    },
  );

  it('uses the job that its own earlier request created late', async () => {
    server.script.push(
      reset,
      listed(),
      status(400, '{"error":{"message":"duplicate title"}}'),
      listed(newJob()),
      json(newJob()),
    );
    expect((await createJob(acme(), REQUEST)).uuid).toBe('eff5t4me1j');
  });

  it('uses the job that its first request created late, even if the second request got a 429', async () => {
    server.script.push(
      reset,
      listed(),
      status(429, '', { 'retry-after': '3' }),
      listed(),
      listed(newJob()),
      json(newJob()),
    );
    expect((await createJob(acme(), REQUEST)).uuid).toBe('eff5t4me1j');
    expect(methods().filter(method => method.startsWith('POST'))).toHaveLength(2);
  });

  it.each([
    ['was requested before the call', {}, '2024-05-15T12:34:56Z'],
    ['does not say when it was requested', { requestedAt: undefined }, 'an unknown time'],
  ])(
    'does not use a job with the same title that %s, because its rules may differ',
    async (_, of, at) => {
      const other = { ...JOB, ...of };
      server.script.push(reset, listed(other), json(other));
      const error = await createJob(acme(), REQUEST).catch(e => e);
      expect(error).toBeInstanceOf(JobError);
      expect(error.message).toContain(`(eff5t4me1j), requested at ${at}, before this call`);
      expect(methods().filter(method => method.startsWith('POST'))).toHaveLength(1);
    },
  );

  it('finds the job that it created even if the clock of the service is 400 days behind', async () => {
    server.now = () => Date.now() - 400 * DAY;
    const job = newJob({ requestedAt: new Date(server.now()).toISOString() });
    server.script.push(reset, listed(job), json(job));
    expect((await createJob(acme(), REQUEST)).uuid).toBe('eff5t4me1j');
  });

  it('does not use a job with the same title for another window', async () => {
    const other = { ...JOB, toDate: '201401030000' };
    server.script.push(reset, listed(other), json(other));
    const error = await createJob(acme(), REQUEST).catch(e => e);
    expect(error).toBeInstanceOf(JobError);
    expect(error.message).toMatch(/another job with the title "snow".* to 201401030000, not/);
  });

  it('does not use a job with the same title in another format', async () => {
    const other = { ...JOB, format: 'activity_streams' };
    server.script.push(reset, listed(other), json(other));
    const error = await createJob(acme(), REQUEST).catch(e => e);
    expect(error).toBeInstanceOf(JobError);
    expect(error.message).toMatch(/its format is activity_streams, not original/);
  });

  it('fails without listing jobs if the service says that the title is in use', async () => {
    server.script.push(status(400, '{"error":{"message":"duplicate title"}}'));
    await expect(createJob(acme(), REQUEST)).rejects.toMatchObject({ status: 400 });
    expect(server.received.length).toBe(1);
  });

  it('sends the request again after a 429, because a 429 creates no job', async () => {
    server.script.push(status(429, '', { 'retry-after': '3' }), json(JOB));
    await createJob(acme(), REQUEST);
    expect(methods()).toEqual(['POST /jobs.json', 'POST /jobs.json']);
  });
});

describe('accepting or rejecting a job', () => {
  it.each([
    ['accept', acceptJob, 'accepted'],
    ['reject', rejectJob, 'rejected'],
  ] as const)('sends one PUT to %s the job', async (verb, call, after) => {
    server.script.push(
      json({ ...JOB, status: after, acceptedBy: 'me', acceptedAt: '2024-05-15T12:34:56Z' }),
    );
    expect(await call(acme(), 'eff5t4me1j')).toMatchObject({ status: after, acceptedBy: 'me' });
    expect(server.received[0]).toMatchObject({
      method: 'PUT',
      url: `${PATH}/jobs/eff5t4me1j.json`,
      params: { status: verb },
    });
  });

  it.each([
    ['accepted', acceptJob],
    ['running', acceptJob],
    ['delivered', acceptJob],
    ['rejected', rejectJob],
  ] as const)('succeeds after a broken connection if the status is %s', async (now, call) => {
    server.script.push(reset, json({ ...JOB, status: now }));
    expect(await call(acme(), 'eff5t4me1j')).toMatchObject({ status: now });
    expect(methods()).toEqual(['PUT /jobs/eff5t4me1j.json', 'GET /jobs/eff5t4me1j.json']);
  });

  it('is repeated after a broken connection if the job still waits for a decision', async () => {
    server.script.push(
      reset,
      json({ ...JOB, status: 'quoted', quote: QUOTE }),
      json({ ...JOB, status: 'accepted' }),
    );
    expect(await acceptJob(acme(), 'eff5t4me1j')).toMatchObject({ status: 'accepted' });
  });

  it('fails after a broken connection if someone else rejected the job', async () => {
    server.script.push(reset, json({ ...JOB, status: 'rejected' }));
    await expect(acceptJob(acme(), 'eff5t4me1j')).rejects.toMatchObject({
      code: 'ERR_JOB',
      status: 'rejected',
      uuid: 'eff5t4me1j',
    });
  });

  it('is not repeated if the service says that the job does not wait for a decision', async () => {
    server.script.push(status(400, '{"error":{"message":"not quoted"}}'));
    await expect(acceptJob(acme(), 'eff5t4me1j')).rejects.toMatchObject({
      status: 400,
      body: 'not quoted',
    });
    expect(server.received.length).toBe(1);
  });
});
