import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { DataError, HttpError, JobError, OptionError } from '../../src/errors.js';
import type { AccountOptions } from '../../src/http/account.js';
import {
  acceptJob,
  createJob,
  findJob,
  getJob,
  jobResults,
  jobResultsCsv,
  listJobs,
  rejectJob,
} from '../../src/jobs/job-calls.js';
import { DAY } from '../../src/time.js';
import { cut, json, type Reply, reset, ScriptedServer, status } from '../http/scripted-server.js';
import { jobAccount, REQUEST } from './job-account.js';

const PATH = '/api/historical/rulestream/accounts/acme%20corp/publishers/twitter';
let server: ScriptedServer;
beforeEach(async () => {
  server = await new ScriptedServer().start();
});
afterEach(() => server.stop());

const acme = (options?: AccountOptions) => jobAccount(server, options);

/** A job as the service sends it. */
const JOB = {
  title: 'snow',
  account: 'acme corp',
  publisher: 'twitter',
  streamType: 'track_v2',
  format: 'original',
  fromDate: '201401010000',
  toDate: '201401020000',
  requestedBy: 'me@acme.test',
  requestedAt: '2024-05-15T12:34:56Z',
  status: 'opened',
  statusMessage: 'Waiting on quote from Gnip.',
  jobURL: `https://service.example:443${PATH}/jobs/eff5t4me1j.json`,
};
/** The job, requested now. */
const newJob = (of: object = {}) => ({ ...JOB, requestedAt: new Date().toISOString(), ...of });
const QUOTE = {
  costDollars: 5000,
  estimatedActivityCount: 100,
  estimatedDurationHours: '915.0',
  estimatedFileSizeMb: '0.0',
  expiresAt: '2024-05-30T12:34:56Z',
};
const listed = (...jobs: object[]) =>
  json({ jobs, delivered: { jobCount: 0, jobDaysRun: 0, activityCount: 0 } });
const methods = () =>
  server.received.map(({ method, url }) => `${method} ${url.replace(PATH, '')}`);

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

  it('sends nothing of a request that cannot work', async () => {
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
  ])('shows why the service refused rules, with a %s', async (_, reply, kind) => {
    server.script.push(reply);
    const error = await createJob(acme(), REQUEST).catch(e => e);
    expect(error).toBeInstanceOf(kind);
    expect(error.message).toContain('Invalid Rules, see details. "-x": Rules must contain');
    expect(server.received.length).toBe(1);
  });

  const LOST: [string, Reply][] = [
    ['reset before an answer', reset],
    ['cut in the answer', cut(JOB, 'reset')],
    ['an answer without its end', cut(JOB, 'document')],
    ['503', status(503)],
  ];
  it.each(LOST)('%s: looks for the title, and joins the job it finds', async (_, lost) => {
    const job = newJob({ status: 'estimating' });
    server.script.push(lost, listed(job), json(job));
    expect(await createJob(acme(), REQUEST)).toMatchObject({
      uuid: 'eff5t4me1j',
      status: 'estimating',
    });
    expect(methods()).toEqual(['POST /jobs.json', 'GET /jobs.json', 'GET /jobs/eff5t4me1j.json']);
  });

  it.each(LOST)('%s: creates the job again if the title is not in the list', async (_, lost) => {
    server.script.push(lost, listed({ ...JOB, title: 'other' }), json(JOB));
    expect((await createJob(acme(), REQUEST)).uuid).toBe('eff5t4me1j');
    expect(methods()).toEqual(['POST /jobs.json', 'GET /jobs.json', 'POST /jobs.json']);
  });

  it('joins the job if its own earlier request has created it late', async () => {
    server.script.push(
      reset,
      listed(),
      status(400, '{"error":{"message":"duplicate title"}}'),
      listed(newJob()),
      json(newJob()),
    );
    expect((await createJob(acme(), REQUEST)).uuid).toBe('eff5t4me1j');
  });

  it.each([
    ['was requested before the call', {}, '2024-05-15T12:34:56Z'],
    ['does not say when it was requested', { requestedAt: undefined }, 'an unknown time'],
  ])('does not join a job of that title that %s: its rules may be others', async (_, of, at) => {
    const other = { ...JOB, ...of };
    server.script.push(reset, listed(other), json(other));
    const error = await createJob(acme(), REQUEST).catch(e => e);
    expect(error).toBeInstanceOf(JobError);
    expect(error.message).toContain(`(eff5t4me1j), requested at ${at}, before this call`);
    expect(methods().filter(method => method.startsWith('POST'))).toHaveLength(1);
  });

  it('joins its job by the clock of the service', async () => {
    server.now = () => Date.now() - 400 * DAY;
    const job = newJob({ requestedAt: new Date(server.now()).toISOString() });
    server.script.push(reset, listed(job), json(job));
    expect((await createJob(acme(), REQUEST)).uuid).toBe('eff5t4me1j');
  });

  it('does not join a job of that title for another window', async () => {
    const other = { ...JOB, toDate: '201401030000' };
    server.script.push(reset, listed(other), json(other));
    const error = await createJob(acme(), REQUEST).catch(e => e);
    expect(error).toBeInstanceOf(JobError);
    expect(error.message).toMatch(/another job with the title "snow".* to 201401030000, not/);
  });

  it('does not join a job of that title in another format', async () => {
    const other = { ...JOB, format: 'activity_streams' };
    server.script.push(reset, listed(other), json(other));
    const error = await createJob(acme(), REQUEST).catch(e => e);
    expect(error).toBeInstanceOf(JobError);
    expect(error.message).toMatch(/its format is activity_streams, not original/);
  });

  it('fails without a lookup if the title was in use before', async () => {
    server.script.push(status(400, '{"error":{"message":"duplicate title"}}'));
    await expect(createJob(acme(), REQUEST)).rejects.toMatchObject({ status: 400 });
    expect(server.received.length).toBe(1);
  });

  it('waits after a 429, which created no job', async () => {
    server.script.push(status(429, '', { 'retry-after': '3' }), json(JOB));
    await createJob(acme(), REQUEST);
    expect(methods()).toEqual(['POST /jobs.json', 'POST /jobs.json']);
  });
});

describe('the status of a job', () => {
  it('has counts as numbers, `open` as `opened`, and dates as sent', async () => {
    server.script.push(
      json({
        ...JOB,
        status: 'open',
        quote: QUOTE,
        percentComplete: '94',
        results: {
          completedAt: '2024-05-15T12:34:56Z',
          activityCount: 1234,
          fileCount: '144',
          fileSizeMb: '1.44',
          dataURL: 'https://x/y',
          expiresAt: '2024-05-30T12:34:56Z',
        },
      }),
    );
    expect(await getJob(acme(), JOB.jobURL)).toMatchObject({
      status: 'opened',
      percentComplete: 94,
      quote: {
        costDollars: 5000,
        estimatedActivityCount: 100,
        estimatedDurationHours: 915,
        estimatedFileSizeMb: 0,
        expiresAt: QUOTE.expiresAt,
      },
      results: { activityCount: 1234, fileCount: 144, fileSizeMb: 1.44 },
    });
    expect(methods()).toEqual(['GET /jobs/eff5t4me1j.json']);
  });

  it('is a 404 for an unknown job, which is not retried', async () => {
    server.script.push(status(404));
    await expect(getJob(acme(), 'eff5t4me1j')).rejects.toMatchObject({ status: 404 });
  });

  it.each(['', '../x', 'a/b', 'a?b', undefined, 7])('is not requested for %j', async name => {
    expect(() => getJob(acme(), name as string)).toThrow(OptionError);
    expect(server.received).toEqual([]);
  });

  it.each([
    [{ ...JOB, status: 7 }, undefined],
    [{ ...JOB, status: undefined }, /`status` should be a string, and is missing/],
    [{ ...JOB, quote: { ...QUOTE, estimatedDurationHours: 'long' } }, /estimatedDurationHours/],
    [{ ...JOB, quote: 7 }, /quote/],
    [[], /not a JSON object/],
  ])('is a DataError if the response is not a job (%#)', async (body, expected) => {
    server.script.push(json(body));
    const outcome = await getJob(acme(), 'eff5t4me1j').catch(e => e);
    if (expected === undefined) return expect(outcome.status).toBe('7');
    expect(outcome).toBeInstanceOf(DataError);
    expect(outcome.message).toMatch(expected);
  });
});

describe('accepting and rejecting', () => {
  it.each([
    ['accept', acceptJob, 'accepted'],
    ['reject', rejectJob, 'rejected'],
  ] as const)('send one PUT to %s a job', async (verb, call, after) => {
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
  ] as const)(
    'read the status after a broken connection, and succeed if it is %s',
    async (now, call) => {
      server.script.push(reset, json({ ...JOB, status: now }));
      expect(await call(acme(), 'eff5t4me1j')).toMatchObject({ status: now });
      expect(methods()).toEqual(['PUT /jobs/eff5t4me1j.json', 'GET /jobs/eff5t4me1j.json']);
    },
  );

  it('are repeated after a broken connection if the job is still quoted', async () => {
    server.script.push(
      reset,
      json({ ...JOB, status: 'quoted', quote: QUOTE }),
      json({ ...JOB, status: 'accepted' }),
    );
    expect(await acceptJob(acme(), 'eff5t4me1j')).toMatchObject({ status: 'accepted' });
  });

  it('fail after a broken connection if someone else rejected the job', async () => {
    server.script.push(reset, json({ ...JOB, status: 'rejected' }));
    await expect(acceptJob(acme(), 'eff5t4me1j')).rejects.toMatchObject({
      code: 'ERR_JOB',
      status: 'rejected',
      uuid: 'eff5t4me1j',
    });
  });

  it('are sent once if the service refuses because the job is not quoted', async () => {
    server.script.push(status(400, '{"error":{"message":"not quoted"}}'));
    await expect(acceptJob(acme(), 'eff5t4me1j')).rejects.toMatchObject({
      status: 400,
      body: 'not quoted',
    });
    expect(server.received.length).toBe(1);
  });
});

describe('lists', () => {
  it('of jobs have uuids and delivered totals', async () => {
    const item = {
      ...JOB,
      status: 'open',
      percentComplete: '0',
      expiresAt: '2024-05-30T12:34:56Z',
    };
    server.script.push(
      json({ jobs: [item], delivered: { jobCount: 1, jobDaysRun: '3', activityCount: 9 } }),
    );
    expect(await listJobs(acme())).toMatchObject({
      jobs: [{ uuid: 'eff5t4me1j', title: 'snow', status: 'opened', percentComplete: 0 }],
      delivered: { jobCount: 1, jobDaysRun: 3, activityCount: 9 },
    });
    server.script.push(listed(item), listed());
    expect(await findJob(acme(), 'snow')).toMatchObject({ uuid: 'eff5t4me1j' });
    expect(await findJob(acme(), 'snow')).toBeUndefined();
    server.script.push(listed({ ...item, title: 'snow (rules 3fa9c2d1)' }));
    expect(await findJob(acme(), 'snow')).toMatchObject({ uuid: 'eff5t4me1j' });
  });

  it('of files are parsed from JSON, in either spelling, and from CSV', async () => {
    server.script.push(
      json({
        urlCount: '2',
        urlList: ['https://x/a', 'http://127.0.0.1:1/b'],
        totalFileSizeBytes: 7,
        suspectMinutesUrl: 's',
        expiresAt: 'e',
      }),
    );
    expect(await jobResults(acme(), 'eff5t4me1j')).toEqual({
      urlCount: 2,
      urlList: ['https://x/a', 'http://127.0.0.1:1/b'],
      totalFileSizeBytes: 7,
      suspectMinutesURL: 's',
      expiresAt: 'e',
    });
    server.script.push(response =>
      response.end('a_00_activities.json.gz\thttps://x/a?b=c\nb.gz\thttps://x/b\n'),
    );
    expect(await jobResultsCsv(acme(), 'eff5t4me1j')).toEqual([
      { name: 'a_00_activities.json.gz', url: 'https://x/a?b=c' },
      { name: 'b.gz', url: 'https://x/b' },
    ]);
    expect(methods()).toEqual([
      'GET /jobs/eff5t4me1j/results.json',
      'GET /jobs/eff5t4me1j/results.csv',
    ]);
  });

  it('of files may be empty CSV, use CRLF, or have no final line end', async () => {
    for (const body of ['', 'a\thttps://x/a', 'a\thttps://x/a\r\n'])
      server.script.push(response => response.end(body));
    expect(await jobResultsCsv(acme(), 'eff5t4me1j')).toEqual([]);
    const one = [{ name: 'a', url: 'https://x/a' }];
    expect(await jobResultsCsv(acme(), 'eff5t4me1j')).toEqual(one);
    expect(await jobResultsCsv(acme(), 'eff5t4me1j')).toEqual(one);
  });

  it.each([
    ['an HTML page', '<html>\n<body>Sign in</body>\n</html>', 'got "<html>"', 1],
    ['JSON', '{"urlCount":1,"urlList":["https://x/a"]}', 'got "{\\"urlCount\\":1', 1],
    ['an empty line', 'a\thttps://x/a\n\nb\thttps://x/b\n', 'got an empty line', 2],
    ['no address', 'a\thttps://x/a\nb.gz', 'got "b.gz"', 2],
    ['no name', '\thttps://x/a', 'got "\\thttps://x/a"', 1],
    ['three columns', 'a\thttps://x/a\tb', 'got "a\\thttps://x/a\\tb"', 1],
    ['a line that is cut short', 'a\thttps://x/a\nb.gz\thtt', 'got "htt"', 2],
    [
      'an address without https',
      'a\thttp://x.example/a?sig=canary',
      'got http://x.example/a?...',
      1,
    ],
    ['an address of another kind', 'a\tjavascript:alert(1)', 'got "javascript:alert(1)"', 1],
    ['a password in an address', 'a\thttps://me:canary@x/a', 'got https://x/a', 1],
    ['a signature and no tab', 'a https://x/a?sig=canary', 'got "a https://x/a..."', 1],
  ])('of files are refused as CSV with %s, which the error shows', async (_, body, got, line) => {
    server.otherwise = response => response.end(body);
    const error = await jobResultsCsv(acme(), 'eff5t4me1j').catch(error => error);
    expect(error).toBeInstanceOf(DataError);
    expect(error.message).toContain(got);
    expect(error.message).not.toContain('canary');
    expect(error.position).toMatchObject({ line, origin: expect.stringContaining('results.csv') });
  });

  it('of files are refused if an address is invalid or not https, in JSON too', async () => {
    for (const url of ['a', 'http://x.example/a?sig=canary', 'https://me:canary@x/a']) {
      server.script.push(json({ urlCount: 1, urlList: [url] }));
      const error = await jobResults(acme(), 'eff5t4me1j').catch(error => error);
      expect(error).toBeInstanceOf(DataError);
      expect(error.message).toMatch(/Expected the address of each file to be https, got .*results/);
      expect(error.message).not.toContain('canary');
    }
  });

  it('of files may be http where the account allows their origin', async () => {
    const urlList = ['http://x.example:81/a?sig=canary'];
    const allowing = (...insecureOrigins: string[]) => acme({ insecureOrigins });
    server.script.push(json({ urlCount: 1, urlList }));
    const listing = await jobResults(allowing('http://x.example:81'), 'eff5t4me1j');
    expect(listing.urlList).toEqual(urlList);
    server.script.push(response => response.end(`a.json.gz\t${urlList[0]}\n`));
    const files = await jobResultsCsv(allowing('http://x.example:81'), 'eff5t4me1j');
    expect(files.map(({ url }) => url)).toEqual(urlList);
    server.script.push(json({ urlCount: 1, urlList }));
    await expect(jobResults(allowing('http://x.example'), 'eff5t4me1j')).rejects.toBeInstanceOf(
      DataError,
    );
  });
});
