import { describe, expect, it } from 'vitest';
import { parseExact } from '../../../src/json/exact-json.js';
import { DAY, HOUR } from '../../../src/time.js';
import { NOW } from '../local-service.js';
import { DWELL, type JobReply, localJobs, SMALL, uuidOf } from './local-jobs.js';

interface RuleDetail {
  readonly rule: { readonly value: string; readonly tag: string | null; readonly id?: string };
  readonly created: boolean;
  readonly message?: string;
}

interface RulesObject {
  readonly summary: { readonly created: number; readonly not_created: number };
  readonly detail: readonly RuleDetail[];
  readonly sent: string;
}

function rulesOf({ text }: JobReply): RulesObject {
  return (parseExact(text) as { rules: RulesObject }).rules;
}

describe('creating a job', () => {
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

  it('gives every rule a unique id, an integer that a double cannot represent', async () => {
    const jobs = await localJobs();
    const rules = Array.from({ length: 1000 }, (_, i) => ({ value: `word${i}` }));
    const ids: string[] = [];
    for (const title of ['a', 'b']) {
      const reply = await jobs.post({ title, rules });
      expect(reply.text).toMatch(/"value":"word7","tag":null,"id":\d{19}\}/);
      ids.push(...rulesOf(reply).detail.map(({ rule }) => String(rule.id)));
    }
    expect(new Set(ids).size).toBe(2000);
    expect(ids.every(id => BigInt(id) > 2n ** 53n && BigInt(id) < 2n ** 63n)).toBe(true);
  });

  it('refuses a job with any invalid rule: status error, and the reason for each rule', async () => {
    const jobs = await localJobs();
    const reply = await jobs.post({ rules: [{ value: 'tea', tag: 'ok' }, { value: '-tea' }] });
    expect(reply.status).toBe(400);
    expect(JSON.parse(reply.text)).toMatchObject({
      title: 'small',
      status: 'error',
      statusMessage: 'Invalid Rules, see details.',
      reason: 'Invalid Rules, see details.',
    });
    expect(rulesOf(reply)).toEqual({
      summary: { created: 0, not_created: 2 },
      detail: [
        { rule: { value: 'tea', tag: 'ok' }, created: false },
        {
          rule: { value: '-tea', tag: null },
          created: false,
          message:
            'Rules must contain a non-negation term (at position 1)\n' +
            'Rules must contain at least one positive, non-stopword clause (at position 1)\n',
        },
      ],
      sent: '2024-05-15T12:34:56.789Z',
    });
    expect((await jobs.list()).jobs).toEqual([]);
  });

  it('accepts operators that search does not have, and refuses those that jobs do not have', async () => {
    const jobs = await localJobs();
    expect((await jobs.post({ rules: [{ value: 'contains:te' }] })).status).toBe(201);
    expect((await jobs.post({ title: '2', rules: [{ value: 'tea -is:nullcast' }] })).status).toBe(
      400,
    );
  });

  it('creates a repeated rule only once', async () => {
    const jobs = await localJobs();
    const rules = rulesOf(
      await jobs.post({
        rules: [
          { value: 'tea', tag: 'a' },
          { value: 'tea', tag: 'b' },
        ],
      }),
    );
    expect(rules.summary).toEqual({ created: 1, not_created: 1 });
    expect(rules.detail[1]).toEqual({
      rule: { value: 'tea', tag: 'b' },
      created: false,
      message: 'A rule with this value already exists',
    });
  });

  it.each([
    [{ title: undefined }, /Missing field 'title'/],
    [{ title: ' ' }, /'title'.*a string that is not empty/],
    [{ title: 'a\nb' }, /'title'. It must not hold control characters/],
    [{ title: 'a\u0085' }, /'title'. It must not hold control characters/],
    [{ title: 7 }, /'title'.*a string that is not empty/],
    [{ publisher: undefined }, /Missing field 'publisher'/],
    [{ publisher: 'other' }, /The only publisher is 'twitter'/],
    [{ dataFormat: undefined }, /Missing field 'dataFormat'/],
    [{ dataFormat: 'xml' }, /'activity_streams' or 'original'/],
    [
      { dataFormat: 'activity-streams' },
      /'activity-streams' is an older spelling: send 'activity_streams'\./,
    ],
    [{ streamType: 'track' }, /'track' is an older name: send 'track_v2'\./],
    [{ streamType: 'firehose' }, /'streamType'. It must be 'track_v2'/],
    [{ fromDate: undefined }, /Missing field 'fromDate'/],
    [{ fromDate: '2024-05-15' }, /format for field 'fromDate'. Expected format is 'yyyyMMddHHmm'/],
    [{ fromDate: 202405150934 }, /'fromDate'/],
    [{ fromDate: '202402300000' }, /format for field 'fromDate'/],
    [{ fromDate: '200603202359' }, /The archive begins at 200603210000/],
    [{ toDate: '202405151235' }, /'toDate'. Can't ask for activities from the future/],
    [{ fromDate: '202405151034' }, /'fromDate'. It must be before 'toDate'/],
    [{ fromDate: '202405151035' }, /'fromDate'. It must be before 'toDate'/],
    [{ rules: undefined }, /Missing field 'rules'/],
    [{ rules: [] }, /'rules'. It must be in the format/],
    [{ rules: { value: 'tea' } }, /'rules'. It must be in the format/],
    [{ rules: ['tea'] }, /'rules', at number 1/],
    [{ rules: [{ value: 'tea' }, { value: 7 }] }, /'rules', at number 2/],
    [{ rules: [{ value: 'tea', tag: 7 }] }, /'rules', at number 1/],
    [{ rules: Array(1001).fill({ value: 'tea' }) }, /at most 1000 rules, not 1001/],
  ])('refuses %j', async (fields, message) => {
    const jobs = await localJobs();
    const reply = await jobs.post(fields);
    expect(reply.status).toBe(400);
    expect(reply.message).toMatch(message);
    const { error, status, reason } = JSON.parse(reply.text);
    expect(error.sent).toBe('2024-05-15T12:34:56+00:00');
    expect([status, reason]).toEqual(['error', error.message]);
    expect((await jobs.list()).jobs).toEqual([]);
  });

  it('lists all problems in one message', async () => {
    const jobs = await localJobs();
    const { message } = await jobs.post({ title: '', toDate: 'x', rules: undefined });
    expect(message?.split('\n')).toHaveLength(3);
  });

  it('accepts the current time as the end, and the first minute of the archive as the start', async () => {
    const jobs = await localJobs();
    const fields = { fromDate: '200603210000', toDate: '202405151234' };
    expect((await jobs.post(fields)).status).toBe(201);
  });

  it('accepts track_v2 and unknown fields', async () => {
    const jobs = await localJobs();
    const fields = { streamType: 'track_v2', serviceUsername: 'someone' };
    expect((await jobs.post(fields)).status).toBe(201);
  });

  it('refuses a title that another job has', async () => {
    const jobs = await localJobs();
    await jobs.create();
    expect(await jobs.post()).toMatchObject({
      status: 400,
      message: expect.stringContaining('There is a job with the title "small"'),
    });
    expect((await jobs.post({ title: 'Small' })).status).toBe(201);
    // Also for concurrent requests.
    const both = await Promise.all([jobs.post({ title: 'x' }), jobs.post({ title: 'x' })]);
    expect(both.map(({ status }) => status).sort()).toEqual([201, 400]);
  });

  it('refuses the format that the archive does not have', async () => {
    const jobs = await localJobs();
    expect(await jobs.post({ dataFormat: 'activity_streams' })).toMatchObject({
      status: 400,
      message: expect.stringMatching(
        /'dataFormat'. The archive has posts of the format original only/,
      ),
    });
  });

  it.each(['', '{', '[]', '"text"', 'null', '{"title":"\xff"}'])(
    'refuses the body %j',
    async text => {
      const jobs = await localJobs();
      const reply = await jobs.ask('/jobs.json', {
        method: 'POST',
        body: Buffer.from(text, 'latin1'),
      });
      expect(reply).toMatchObject({ status: 400, message: expect.stringMatching(/^Invalid JSON/) });
    },
  );

  it('refuses a body that is too large', async () => {
    const jobs = await localJobs();
    const reply = await jobs.ask('/jobs.json', {
      method: 'POST',
      body: Buffer.alloc(17 << 20, ' '),
    });
    expect(reply.status).toBe(413);
  });
});

describe('the addresses of jobs', () => {
  it('need credentials', async () => {
    const jobs = await localJobs();
    const authorization = `Basic ${btoa('dev@example.com:wrong')}`;
    for (const method of ['GET', 'POST']) {
      const reply = await jobs.ask('/jobs.json', { method, headers: { authorization } });
      expect(reply).toMatchObject({ status: 401, message: 'Unauthorized: Invalid credentials' });
      expect(reply.headers.get('www-authenticate')).toMatch(/^Basic /);
      // Existing clients read these fields of a failed create.
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
  ])('do not include %s', async path => {
    const jobs = await localJobs();
    expect((await jobs.ask(new URL(path, jobs.base).href)).status).toBe(404);
  });

  it('also use the name that clients know, and then jobs show it', async () => {
    const jobs = await localJobs();
    const uuid = await jobs.create();
    const base = jobs.base.replace('rulestream', 'powertrack');
    const job = JSON.parse((await jobs.ask(`${base}/jobs/${uuid}.json`)).text);
    expect(job.jobURL).toBe(`${base}/jobs/${uuid}.json`);
  });

  it('use the configured account and publisher', async () => {
    const jobs = await localJobs({ account: 'ac me', publisher: 'posts' });
    expect(uuidOf(JSON.parse((await jobs.post({ publisher: 'posts' })).text))).not.toBe('');
    expect((await jobs.post({ title: 'b' })).message).toMatch(/The only publisher is 'posts'/);
  });

  it.each([
    ['DELETE', '/jobs.json', 'GET, POST'],
    ['POST', '/jobs/abcdefghij.json', 'GET, PUT'],
    ['POST', '/jobs/abcdefghij/results.json', 'GET'],
  ])('refuse %s at %s', async (method, path, allow) => {
    const jobs = await localJobs();
    const reply = await jobs.ask(path, { method });
    expect([reply.status, reply.headers.get('allow')]).toEqual([405, allow]);
  });
});

describe('deciding on a job', () => {
  it.each(['opened', 'estimating', 'accepted', 'rejected', 'running', 'completed', 'delivered'])(
    'is refused when it is %s',
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

  it.each(['accepted', 'ACCEPT', '', null, undefined, 1])('refuses the status %j', async status => {
    const jobs = await localJobs();
    const uuid = await jobs.bring('quoted');
    expect(await jobs.put(uuid, status)).toMatchObject({
      status: 400,
      message: expect.stringContaining('{"status":"accept"} or {"status":"reject"}'),
    });
    expect((await jobs.job(uuid)).status).toBe('quoted');
  });

  it('happens once under concurrent requests', async () => {
    const jobs = await localJobs();
    const uuid = await jobs.bring('quoted');
    const replies = await Promise.all(
      ['accept', 'reject', 'accept', 'reject'].map(status => jobs.put(uuid, status)),
    );
    expect(replies.map(({ status }) => status).sort()).toEqual([200, 400, 400, 400]);
  });
});

describe('the list of jobs', () => {
  it('is empty at first', async () => {
    const jobs = await localJobs();
    expect(await jobs.list()).toEqual({
      jobs: [],
      delivered: { jobCount: 0, jobDaysRun: 0, activityCount: 0 },
    });
  });

  it('shows each job in short, and the totals of delivered jobs', async () => {
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
