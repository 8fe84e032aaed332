import { describe, expect, it } from 'vitest';
import { environmentOf, exportLines } from '../../../src/service/environment.js';
import { DAY, MINUTE } from '../../../src/time.js';
import { DWELL, localJobs } from '../jobs/local-jobs.js';
import { local, NOW, SEARCH_PATH, teaPosts } from '../local-service.js';
import { originalPost } from '../memory-archive.js';
import { END, hourOfPosts, localStreams, START } from '../replay/local-streams.js';
import { browse, readable } from './browse.js';

const HOSTILE = `</title><script>alert(1)</script>"'><img src=x onerror=alert(2)>\u202E&amp;`;
const PAGES = [
  '/console',
  '/console/jobs',
  '/console/replays',
  '/console/compliance',
  '/console/usage',
  '/console/requests',
  '/console/faults',
];

async function signedIn(...parameters: Parameters<typeof local>) {
  const there = await local(...parameters);
  const browser = browse(there.baseUrl);
  await browser.signIn();
  return { ...there, browser };
}

describe('the console', () => {
  it.each(PAGES)('does not show %s without a sign-in', async address => {
    const { baseUrl } = await local();
    const browser = browse(baseUrl);
    const page = await browser.get(`${address}?a=b`);
    expect([page.status, page.text]).toEqual([303, '']);
    const next = new URLSearchParams({ next: `${address}?a=b` });
    expect(page.location).toBe(`/console/sign-in?${next}`);
    expect((await browser.get(String(page.location))).text).toContain(`value="${address}?a=b"`);
  });

  it.each(['/', '/console/'])('is the target of %s', async address => {
    const { baseUrl } = await local();
    const { status, location } = await browse(baseUrl).get(address);
    expect([status, location]).toEqual([303, '/console']);
  });

  it('changes nothing without a sign-in', async () => {
    const { baseUrl, service } = await local();
    const browser = browse(baseUrl);
    await browser.get('/console/sign-in');
    const fields = { action: 'plant', status: '503' };
    const page = await browser.post('/console/faults?kind=status', fields);
    expect(page.location).toMatch('/console/sign-in');
    expect(service.faults.list()).toEqual([]);
  });

  it.each([...PAGES, '/console/sign-in', '/status', '/console/nothing', '/oauth/grants'])(
    'sends security headers with %s, and no script',
    async address => {
      const { browser } = await signedIn();
      const { headers, text } = await browser.get(address);
      const policy = String(headers.get('content-security-policy'));
      expect(policy).toContain("default-src 'none'; style-src 'self'; img-src 'self'");
      expect(policy).toContain("frame-ancestors 'none'");
      expect(policy).not.toContain('unsafe');
      expect(Object.fromEntries(headers)).toMatchObject({
        'x-frame-options': 'DENY',
        'x-content-type-options': 'nosniff',
        'referrer-policy': 'no-referrer',
        'cache-control': 'no-store',
      });
      expect(text).not.toMatch(/<script|\son\w+=|\sstyle=|javascript:/i);
    },
  );

  it('signs in with email and password, with a new session id, and out again', async () => {
    const { baseUrl } = await local();
    const browser = browse(baseUrl);
    await browser.get('/console/sign-in');
    const [[name = '', before = ''] = []] = [...browser.cookies];
    const page = await browser.signIn();
    expect([page.status, page.location]).toEqual([303, '/console']);
    expect(page.headers.get('set-cookie')).toMatch(/; Path=\/console; HttpOnly; SameSite=Lax$/);
    const after = String(browser.cookies.get(name));
    expect(after).not.toBe(before);
    expect((await browser.get('/console/jobs')).status).toBe(200);
    // A session id that was planted before the sign-in is not used.
    const asBefore = { cookie: `${name}=${before}` };
    expect((await browser.get('/console/jobs', asBefore)).status).toBe(303);
    expect((await browser.get('/console/sign-in')).location).toBe('/console');
    await browser.get('/console');
    expect((await browser.post('/console/sign-out')).location).toBe('/console/sign-in');
    expect((await browser.get('/console', { cookie: `${name}=${after}` })).status).toBe(303);
  });

  it('only says that a login is wrong, and does not repeat the password', async () => {
    const { baseUrl } = await local();
    const browser = browse(baseUrl);
    for (const [email, password] of [
      ['dev@example.com', `wrong${HOSTILE}`],
      [`nobody${HOSTILE}`, 'local-service'],
      ['dev@example.com:local', 'service'],
      ['', ''],
    ] as const) {
      await browser.get('/console/sign-in');
      const page = await browser.post('/console/sign-in', { email, password });
      expect(page.status).toBe(401);
      expect(readable(page.text)).toContain('That is not the email and password of this account.');
      expect(page.text).not.toMatch(/wrong|<script/);
    }
    expect((await browser.get('/console')).status).toBe(303);
  });

  it('keeps the e-mail after a wrong password', async () => {
    const { baseUrl } = await local();
    const page = await browse(baseUrl).signIn('mistyped');
    expect(page.text).toMatch(/name="email" [^>]*value="dev@example\.com"/);
    expect(page.text).not.toContain('mistyped');
  });

  it('limits wrong passwords', async () => {
    const { baseUrl } = await local();
    const browser = browse(baseUrl);
    for (let i = 0; i < 10; i++) expect((await browser.signIn(`guess ${i}`)).status).toBe(401);
    const page = await browser.signIn();
    expect(page.status).toBe(429);
    expect(Number(page.headers.get('retry-after'))).toBeGreaterThan(0);
    expect(readable(page.text)).toContain('Too many sign-ins failed.');
  });

  it.each([
    'https://evil.example/',
    '//evil.example/',
    '/\\evil.example',
    '/console@evil.example',
    '/console/../oauth/authenticate?oauth_token=x',
    '/console/%2e%2E/x',
    '/console/../status',
    '/console\r\nSet-Cookie: a=b',
    'javascript:alert(1)',
    '/status',
    '/console/.x/../../status',
    '/console/.x/%2E./../status',
  ])('redirects from the sign-in only to its own pages: %s', async next => {
    const { baseUrl } = await local();
    const browser = browse(baseUrl);
    await browser.get('/console/sign-in');
    const login = { email: 'dev@example.com', password: 'local-service', next };
    const { location } = await browser.post('/console/sign-in', login);
    // As a browser resolves it.
    const { origin, pathname } = new URL(String(location), baseUrl);
    expect(origin).toBe(baseUrl);
    expect(pathname).toMatch(/^\/console(\/|$)/);
    // Node's `URL` leaves `..` behind a segment such as `.x`.
    expect(location).not.toMatch(/\/(\.|%2e){2}/i);
  });

  it('answers only under loopback names', async () => {
    const { baseUrl } = await local();
    const { request } = await import('node:http');
    const statusFor = (host: string) =>
      new Promise(resolve => {
        request(`${baseUrl}/status`, { headers: { host } }, answer => {
          answer.resume();
          resolve(answer.statusCode);
        }).end();
      });
    expect(await statusFor('localhost:8080')).toBe(200);
    expect(await statusFor('127.0.0.1')).toBe(200);
    for (const host of ['evil.example', '127.0.0.1.evil.example', 'localhost.evil.example'])
      expect(await statusFor(host)).toBe(421);
  });

  it('shows an error page for unknown addresses, and redirects the root to the overview', async () => {
    const { browser } = await signedIn();
    const page = await browser.get('/console/nothing');
    expect(page.status).toBe(404);
    expect(page.headers.get('content-type')).toMatch('text/html');
    expect((await browser.get('/')).location).toBe('/console');
    expect((await browser.get('/console/jobs/nothing')).status).toBe(404);
  });
});

describe('forms of the console', () => {
  const fields = { action: 'plant', status: '503' };

  it.each([
    ['without its token', { csrf: '' }, {}],
    ['with a wrong token', { csrf: 'x'.repeat(43) }, {}],
    ['from another site', {}, { 'sec-fetch-site': 'cross-site' }],
    ['from another port of this machine', {}, { 'sec-fetch-site': 'same-site' }],
    ['from another origin', {}, { origin: 'https://evil.example' }],
  ])('are refused %s', async (_, more, headers) => {
    const { browser, service } = await signedIn();
    await browser.get('/console/faults');
    const page = await browser.post('/console/faults?kind=status', { ...fields, ...more }, headers);
    expect(page.status).toBe(403);
    expect(readable(page.text)).toContain('Nothing was changed.');
    expect(service.faults.list()).toEqual([]);
    await browser.get('/console/faults');
    expect((await browser.post('/console/faults?kind=status', fields)).status).toBe(303);
    expect(service.faults.list()).toHaveLength(1);
  });

  it('are refused with the token of another browser', async () => {
    const { browser, service, baseUrl } = await signedIn();
    const other = browse(baseUrl);
    await other.signIn();
    await other.get('/console/faults');
    const page = await browser.post('/console/faults?kind=status', {
      ...fields,
      csrf: other.csrf(),
    });
    expect(page.status).toBe(403);
    expect(service.faults.list()).toEqual([]);
  });

  it('are refused with another content type, and when they are too large', async () => {
    const { browser, baseUrl } = await signedIn();
    const cookie = [...browser.cookies].map(pair => pair.join('=')).join('; ');
    const post = (type: string, body: string) =>
      fetch(`${baseUrl}/console/faults`, {
        method: 'POST',
        headers: { cookie, 'content-type': type },
        body,
      });
    expect((await post('text/plain', `csrf=${browser.csrf()}`)).status).toBe(415);
    expect((await post('application/json', '{}')).status).toBe(415);
    const type = 'application/x-www-form-urlencoded';
    expect((await post(type, `csrf=${'x'.repeat(70_000)}`)).status).toBe(413);
  });

  it('from another site, without the cookie, do not replace it', async () => {
    const { baseUrl } = await local();
    const page = await browse(baseUrl).post(
      '/console/faults',
      {},
      { 'sec-fetch-site': 'cross-site' },
    );
    expect([page.status, page.headers.getSetCookie()]).toEqual([403, []]);
  });

  it('to sign in and out have the same checks', async () => {
    const { browser, baseUrl } = await signedIn();
    expect((await browser.post('/console/sign-out', { csrf: '' })).status).toBe(403);
    expect((await browser.get('/console')).status).toBe(200);
    const other = browse(baseUrl);
    const login = { email: 'dev@example.com', password: 'local-service' };
    expect((await other.post('/console/sign-in', login)).status).toBe(403);
    expect((await browser.get('/console/sign-out')).status).toBe(405);
  });
});

describe('the overview', () => {
  it('says what to paste, as the banner does, then the account and every address', async () => {
    const { browser, baseUrl, service } = await signedIn([], {
      account: `o'brien "x"`,
      label: '<b>&',
    });
    const { text } = await browser.get('/console');
    const seen = readable(text);
    for (const path of [
      `/search/30day/accounts/o'brien%20%22x%22/%3Cb%3E%26.json`,
      `/search/fullarchive/accounts/o'brien%20%22x%22/%3Cb%3E%26/counts.json`,
      `/historical/rulestream/accounts/o'brien%20%22x%22/publishers/twitter/jobs.json`,
      `/replay/firehose/accounts/o'brien%20%22x%22/publishers/twitter/replay.json`,
      `/accounts/o'brien%20%22x%22/publishers/twitter/streams/compliance/compliance.json`,
      `/accounts/o'brien%20%22x%22/usage.json`,
      '/insights/engagement/totals',
    ])
      expect(seen).toContain(baseUrl + path);
    const variables = environmentOf(service.addresses());
    expect(seen).toContain(exportLines(variables).trim().replaceAll('\n', ' '));
    expect(text).not.toContain('<b>&');
  });
});

describe('the page of jobs', () => {
  it('shows jobs with their quotes, and accepts and rejects them', async () => {
    const { service, create, move, job } = await localJobs({ jobDollarsPerDay: 500 });
    const browser = browse(service.addresses().baseUrl);
    await browser.signIn();
    const empty = readable((await browser.get('/console/jobs')).text);
    expect(empty).toMatch(/No jobs yet\..* this makes one: curl curl -u/);
    const one = await create({ title: HOSTILE, rules: [{ value: 'coffee', tag: HOSTILE }] });
    const two = await create({ title: 'two' });
    await move(3 * DWELL);
    const page = await browser.get('/console/jobs');
    expect(readable(page.text)).toContain(HOSTILE);
    expect(readable(page.text)).toContain('$500');
    expect(readable(page.text)).toContain('$500, fewer than 1,000 posts');
    expect(page.text).not.toMatch(/<script|<img/);
    const quoted = await browser.get(`/console/jobs/${one}`);
    expect(readable(quoted.text)).toMatch(
      /Posts fewer than 1,000 Time, at most \d+ minutes? Size, compressed about \d+ bytes/,
    );
    expect(readable(quoted.text)).toContain('only by its order of magnitude');
    const accepted = await browser.post(`/console/jobs/${one}`, { decision: 'accept' });
    expect([accepted.status, accepted.location]).toEqual([303, `/console/jobs/${one}#job-${one}`]);
    await browser.post('/console/jobs', { job: two, decision: 'reject' });
    expect((await job(one)).status).toBe('accepted');
    expect(await job(two)).toMatchObject({ status: 'rejected', acceptedBy: 'dev@example.com' });
    expect((await browser.post(`/console/jobs/${one}`, { decision: 'burn' })).status).toBe(400);
    await move(4 * DWELL);
    const alone = await browser.get(`/console/jobs/${one}`);
    expect(readable(alone.text)).toMatch(/6 posts in \d files Size (\d+ bytes|[\d.]+ kB)/);
    expect(readable(alone.text)).toContain(`coffee ${HOSTILE}`.replace('  ', ' ').slice(7));
    expect(alone.text).not.toMatch(/<script|<img/);
    await move(16 * DAY);
    expect((await browser.get(`/console/jobs/${one}`)).status).toBe(404);
  });
});

describe('the page of replays', () => {
  it('shows each with its last message', async () => {
    const { service, see, replayPath } = await localStreams(hourOfPosts());
    const browser = browse(service.addresses().baseUrl);
    await browser.signIn();
    const page = async () => readable((await browser.get('/console/replays')).text);
    expect(await page()).toContain('No replays yet');
    await see(replayPath());
    expect(await page()).toMatch(/Replay Request Completed 60 \d\d:\d\d:\d\d UTC/);
    service.faults.plant({ kind: 'minutes-failed', minutes: ['202405151005'] });
    await see(replayPath());
    expect(await page()).toMatch(
      /Replay Request Completed with Errors 1 minute failed: 2024-05-15 10:05 UTC/,
    );
    service.faults.plant({ kind: 'unprocessed-range', fromDate: '202405151030' });
    await see(replayPath());
    expect(await page()).toMatch(/Failed to Complete Not processed: 2024-05-15 10:30 to 11:00 UTC/);
    service.faults.plant({ kind: 'content-cut', afterMessages: 3 });
    await see(replayPath('firehose', START, END));
    expect(await page()).toContain('cut off before its last message');
  });

  it('shows the last message of the last replay on the overview', async () => {
    const { service, see, replayPath } = await localStreams(hourOfPosts());
    const browser = browse(service.addresses().baseUrl);
    await browser.signIn();
    const overview = async () => readable((await browser.get('/console')).text);
    expect(await overview()).toContain('no replay has ended');
    await see(replayPath());
    expect(await overview()).toMatch(/last replay: Replay Request Completed \S/);
    service.faults.plant({ kind: 'minutes-failed', minutes: ['202405151005'] });
    await see(replayPath());
    expect(await overview()).toContain('last replay: Replay Request Completed with Errors');
    service.faults.plant({ kind: 'content-cut', afterMessages: 3 });
    await see(replayPath('firehose', START, END));
    expect(await overview()).toContain('last replay: cut off before its last message');
  });

  it('shows a running replay', async () => {
    const { service, open, replayPath } = await localStreams(hourOfPosts(), {
      replayPostsPerSecond: 1,
    });
    const browser = browse(service.addresses().baseUrl);
    await browser.signIn();
    const connection = await open(replayPath());
    await connection.until(text => text.includes('tea number 0'));
    expect(readable((await browser.get('/console/replays')).text)).toContain('streaming');
    connection.destroy();
    await expect
      .poll(async () => readable((await browser.get('/console/replays')).text))
      .toContain('cut off');
  });
});

describe('the page of compliance events', () => {
  it('shows recent events of any content, in pages', async () => {
    const { browser, service } = await signedIn();
    const address = '/console/compliance';
    expect(readable((await browser.get(address)).text)).toContain('--compliance-rate');
    service.compliance.inject(
      JSON.stringify({ [HOSTILE]: { status: { id_str: '1' } } }),
      NOW - 2 * MINUTE,
    );
    for (let i = 0; i < 60; i++)
      service.compliance.inject({ delete: { status: { id_str: `9${i}` } } }, NOW - 30 * MINUTE);
    const page = await browser.get(address);
    expect(readable(page.text)).toContain('61 events');
    expect(page.text).not.toMatch(/<script|<img/);
    expect(readable(page.text)).toContain('Older 1 to 12 of 61');
    const last = await browser.get(`${address}?page=6&last=1h`);
    expect(readable(last.text)).toContain('Newer 61 to 61 of 61');
    expect(readable((await browser.get(`${address}?last=10m`)).text)).toContain('1 event');
    expect((await browser.get(`${address}?last=constructor&page=-7`)).status).toBe(200);
  });
});

describe('the page of usage', () => {
  it('charts the usage, with thresholds and the projection', async () => {
    const { browser, search } = await signedIn(teaPosts(30), {
      usageAlert: 20,
      usageCap: 1000,
      requestCap: 500,
    });
    expect(readable((await browser.get('/console/usage')).text)).toContain('Nothing used');
    await search({ query: 'tea', maxResults: 100 });
    const { text } = await browser.get('/console/usage');
    expect(text).toContain('<svg role="img" aria-label="Activities in each of the last 12 months');
    expect(text).toContain('<title>2024-05: 30, projected 64</title>');
    expect(text).toContain('<title>cap: 1,000</title>');
    expect(readable(text)).toContain('alert passed');
    expect(readable(text)).toContain('30day 30 64 1, projected 2, cap 500');
  });

  it('does not count as a request for usage', async () => {
    const { browser, ask } = await signedIn([], { limits: 'strict' });
    for (let i = 0; i < 5; i++) await browser.get('/console/usage');
    expect((await ask('/accounts/local/usage.json')).status).toBe(200);
  });
});

describe('the page of requests', () => {
  it('shows each request, its response, and the remaining quota', async () => {
    const { browser, search, ask, service } = await signedIn(teaPosts(3), { limits: 'strict' });
    await search({ query: 'tea' });
    service.faults.plant({ kind: 'status', status: 503 });
    await ask(`${SEARCH_PATH}?query=${encodeURIComponent('<script>alert(1)</script>')}`);
    await ask('/oauth/authenticate?oauth_token=SECRET&x=1').catch(() => {});
    await ask('/nothing');
    const page = await browser.get('/console/requests');
    const seen = readable(page.text);
    expect(seen).toContain('search and counts 19 of 20 a second');
    expect(seen).toMatch(
      /POST \/search\/30day\/accounts\/local\/dev\.json 200 12:34:56 UTC 2024-05-15 \d+ ms 19 of 20 a second/,
    );
    expect(seen).toContain('503 fault: status');
    expect(seen).toContain('GET /nothing 404');
    expect(seen).toContain('/oauth/authenticate?oauth_token=…&x=1');
    expect(page.text).not.toMatch(/SECRET|<script|console\/<wbr>requests<\/code>/);
    const jobs = readable((await browser.get('/console/requests?family=search')).text);
    expect(jobs).toContain('2 requests');
    expect(jobs).not.toContain('/nothing');
  });

  it('shows sign-ins and sign-outs of the console, without passwords and tokens, and no page views', async () => {
    const { baseUrl } = await local();
    const browser = browse(baseUrl);
    await browser.get('/console/sign-in?csrf_token=SECRET&next=/console');
    expect((await browser.signIn('WRONG-PASSWORD')).status).toBe(401);
    await browser.signIn();
    await browser.get('/console/jobs');
    await browser.post('/console/sign-out');
    await browser.signIn();
    const { text } = await browser.get('/console/requests');
    const seen = readable(text);
    expect(seen).toContain('8 requests');
    expect(seen).toMatch(/POST \/console\/sign-in 401 /);
    expect(seen).toMatch(/POST \/console\/sign-in 303 /);
    expect(seen).toMatch(/POST \/console\/sign-out 303 /);
    expect(seen).toContain('GET /console/sign-in?csrf_token=…&next=/console 200');
    expect(text).not.toMatch(
      /SECRET|WRONG-PASSWORD|local-service|(GET|POST)<\/span> <code>\/<wbr>console\/<wbr>jobs/,
    );
  });
});

describe('the clock and faults', () => {
  const address = '/console/faults';

  it('can be changed by forms', async () => {
    const { browser, service } = await signedIn();
    await browser.get(address);
    for (const [fields, now] of [
      [{ span: '31m' }, NOW + 31 * MINUTE],
      [{ action: 'advance', advance: ' -31m ' }, NOW],
      [{ action: 'set', set: '202001010000' }, Date.UTC(2020, 0, 1)],
    ] as const) {
      expect((await browser.post(address, fields)).status).toBe(303);
      expect(service.clock.now()).toBe(now);
    }
    expect(readable((await browser.get(address)).text)).toContain('The clock has changed.');
    await browser.post(address, { action: 'resume' });
    expect(service.clock.frozen).toBe(false);
    await browser.post(address, { action: 'freeze' });
    expect(service.clock.frozen).toBe(true);
    await browser.post(address, { action: 'reset' });
    expect(service.clock.frozen).toBe(false);
    expect(Math.abs(service.clock.now() - Date.now())).toBeLessThan(MINUTE);
  });

  it.each(['0001-01-01T00:00:00Z', '9999-12-31T23:59:59.999Z'])(
    'do not break any page at the ends of time: %s',
    async set => {
      const { browser } = await signedIn(teaPosts(1));
      await browser.get(address);
      expect((await browser.post(address, { action: 'set', set })).status).toBe(303);
      for (const page of [...PAGES, '/status'])
        expect([page, (await browser.get(page)).status]).toEqual([page, 200]);
    },
  );

  it('explain a wrong time, and change nothing', async () => {
    const { browser, service } = await signedIn();
    await browser.get(address);
    for (const fields of [
      { action: 'set', set: HOSTILE },
      { action: 'advance', advance: '5 years' },
      { span: 'x' },
    ]) {
      const page = await browser.post(address, fields);
      expect(page.status).toBe(422);
      expect(page.text).toContain('role="alert" id="clock-problem"');
      expect(page.text).not.toMatch(/<script|<img/);
    }
    expect(service.clock.now()).toBe(NOW);
  });

  it('plants each kind of fault and clears it', async () => {
    const { browser, service } = await signedIn();
    const times = { times: 'always', skip: '2' };
    const minutes = { minutes: '202405151000, 202405151001' };
    for (const [kind, fields, fault] of [
      [
        'status',
        { status: '503', retryAfter: '3', endpoint: 'jobs', ...times },
        { status: 503, retryAfter: 3, endpoint: 'jobs', times: 'always', skip: 2 },
      ],
      [
        'cut',
        { afterBytes: '9', end: 'close', inCharacter: 'yes' },
        { afterBytes: 9, end: 'close', inCharacter: true },
      ],
      ['stall', { afterBytes: '0', forMs: '5' }, { afterBytes: 0, forMs: 5 }],
      ['flip', { atByte: '1', path: HOSTILE }, { atByte: 1, path: HOSTILE }],
      ['delay', { ms: '7', times: '2' }, { ms: 7, times: 2 }],
      ['counts-timeout', { buckets: '3' }, { buckets: 3 }],
      ['job-failure', { during: 'running', title: HOSTILE }, { during: 'running', title: HOSTILE }],
      ['suspect-minutes', minutes, { minutes: ['202405151000', '202405151001'] }],
      ['wrong-totals', { urlCount: '-1' }, { urlCount: -1 }],
      [
        'content-cut',
        { afterMessages: '2', within: 'character' },
        { afterMessages: 2, within: 'character' },
      ],
      ['wrong-count', { by: '-2', endpoint: 'replay' }, { by: -2, endpoint: 'replay' }],
      ['minutes-failed', { ...minutes, deliver: 'part' }, { deliver: 'part' }],
      ['unprocessed-range', { fromDate: '202405151000' }, { fromDate: '202405151000' }],
      ['flood', { minutes: '5' }, { minutes: 5 }],
    ] as const) {
      const form = await browser.get(`${address}?kind=${kind}`);
      for (const name of Object.keys(fields)) expect(form.text).toContain(`name="${name}"`);
      const page = await browser.post(`${address}?kind=${kind}`, { action: 'plant', ...fields });
      expect([kind, page.status]).toEqual([kind, 303]);
      const [planted] = service.faults.list();
      expect(planted).toMatchObject({ kind, ...fault });
      const shown = await browser.get(address);
      expect(shown.text).not.toMatch(/<script|<img/);
      await browser.post(address, { action: 'clear', id: String(planted?.id) });
      expect(service.faults.list()).toEqual([]);
    }
    service.faults.plant({ kind: 'flip', atByte: 1 });
    service.faults.plant({ kind: 'flip', atByte: 2 });
    await browser.post(address, { action: 'clear' });
    expect(service.faults.list()).toEqual([]);
  });

  it('explains a wrong fault, and keeps the filled-in fields', async () => {
    const { browser, service } = await signedIn();
    await browser.get(`${address}?kind=status`);
    const fields = { action: 'plant', status: '200', message: HOSTILE, endpoint: 'jobs' };
    const page = await browser.post(`${address}?kind=status`, fields);
    expect(page.status).toBe(422);
    expect(page.text).toMatch(/id="fault-status"[^>]*aria-invalid="true"[^>]*value="200"/);
    expect(page.text).toContain('<option selected>jobs</option>');
    expect(readable(page.text)).toContain(' Must be a whole number from 400 to 599, got 200');
    expect(page.text).not.toMatch(/<script|<img/);
    expect(service.faults.list()).toEqual([]);
    const unknown = await browser.post(`${address}?kind=toString`, fields);
    expect(unknown.status).toBe(400);
  });

  it('are read-only if the control path is off', async () => {
    const { browser, service } = await signedIn([], { control: false });
    service.faults.plant({ kind: 'flip', atByte: 1 });
    const page = await browser.get(address);
    expect(readable(page.text)).toContain('To look at only');
    expect(readable(page.text)).toContain('flip 0 of 1 hit anywhere atByte 1');
    expect(page.text).not.toContain(`action="${address}`);
    for (const fields of [{ action: 'clear' }, { action: 'reset' }, { action: 'plant' }])
      expect((await browser.post(`${address}?kind=flood`, fields)).status).toBe(403);
    expect(service.faults.list()).toHaveLength(1);
  });

  it('stay available under a fault without a target', async () => {
    const { browser, service } = await signedIn();
    service.faults.plant({ kind: 'status', status: 503, times: 'always' });
    await browser.get(address);
    await browser.post(address, { action: 'clear' });
    expect(service.faults.list()).toEqual([]);
    service.faults.plant({ kind: 'status', status: 503, endpoint: 'pages' });
    const page = await browser.get(address);
    expect(page.status).toBe(503);
    expect(page.headers.get('content-type')).toMatch('text/html');
    service.faults.plant({ kind: 'status', status: 503, endpoint: 'pages' });
    expect((await browser.get('/status')).text).toContain('Something broke');
  });
});

describe('the status page', () => {
  it('needs no sign-in, and shows each family, its planted faults, and the clock', async () => {
    const { baseUrl, service } = await local([originalPost(NOW - DAY, '1', 'tea')]);
    const browser = browse(baseUrl);
    const see = async () => readable((await browser.get('/status')).text);
    expect(await see()).toContain('Everything answers as it should.');
    expect(await see()).toContain('2024-05-15 12:34:56 UTC frozen');
    service.faults.plant({ kind: 'status', status: 503, times: 'always', endpoint: 'search' });
    service.faults.plant({ kind: 'delay', ms: 5, endpoint: 'jobs', path: HOSTILE });
    service.faults.plant({ kind: 'flood' });
    service.faults.plant({ kind: 'job-failure', during: 'running', title: HOSTILE });
    const { text } = await browser.get('/status');
    const seen = readable(text);
    expect(seen).toContain('4 planted faults');
    expect(seen).toContain('Search down status status 503');
    expect(seen).toContain('Counts up ');
    expect(seen).toMatch(/Historical jobs faulty delay ms 5 ms/);
    expect(seen).toContain('Replay streams faulty flood');
    expect(text).not.toMatch(/<script|<img/);
  });

  it('shows faults without a target in a row of their own, and families that no fault names as up', async () => {
    const { baseUrl, service } = await local();
    const browser = browse(baseUrl);
    const see = async () => readable((await browser.get('/status')).text);
    expect(await see()).not.toContain('Any endpoint');
    service.faults.plant({ kind: 'delay', ms: 5, path: 'query=tea' });
    service.faults.plant({ kind: 'counts-timeout', buckets: 1 });
    expect(await see()).toContain('Any endpoint faulty delay ms 5 ms (addresses with “query=tea”)');
    expect(await see()).toContain('Search up Counts faulty counts-timeout');
    expect((await see()).match(/faulty/g)).toHaveLength(2);
    service.faults.plant({ kind: 'status', status: 503, times: 'always' });
    expect(await see()).toContain('Any endpoint down');
    expect(await see()).toContain('Search up ');
  });
});
