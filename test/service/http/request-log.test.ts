import { describe, expect, it } from 'vitest';
import { DAY } from '../../../src/base/time.js';
import { Clock } from '../../../src/service/clock.js';
import { Quotas } from '../../../src/service/http/quotas.js';
import { RequestLog, shownAddress } from '../../../src/service/http/request-log.js';
import { limitsOf } from '../../../src/service/http/service-limits.js';
import { browse, readable } from '../console/browse.js';
import { local, SEARCH_PATH, teaPosts } from '../local-service.js';
import { hourOfPosts, localStreams } from '../replay/local-streams.js';
import { localOAuth } from '../users/local-oauth.js';

const asked = (address: string) => ({
  at: 0,
  method: 'GET',
  address,
  endpoint: undefined,
  connection: 1,
});

describe('the request log of the local service', () => {
  it('contains the last 500 requests, newest first', () => {
    const log = new RequestLog(() => 0);
    for (let i = 0; i < 600; i++) log.begin(asked(`/${i}`))({ status: 200 });
    expect(log.requests).toHaveLength(500);
    expect(log.requests[0]).toMatchObject({ number: 600, address: '/599', status: 200 });
    expect(log.requests.at(-1)?.address).toBe('/100');
  });

  describe('after requests to streams, jobs and pages', () => {
    const logged = () => {
      const log = new RequestLog(() => 0);
      const stream = log.begin({ ...asked('/replay'), endpoint: 'replay' });
      stream({ fault: undefined });
      stream({ status: 200 });
      stream({ posts: 3 });
      stream({ posts: 10, bytes: 5 });
      stream({ cut: true, durationMs: 1 });
      log.begin({ ...asked('/compliance'), endpoint: 'compliance' })({ status: 429 });
      log.begin({ ...asked('/jobs'), endpoint: 'jobs', method: 'POST' })({ status: 201 });
      log.begin({ ...asked('/jobs'), endpoint: 'jobs', method: 'POST' })({ status: 400 });
      log.begin({ ...asked('/jobs'), endpoint: 'jobs' })({ status: 200 });
      log.begin({ ...asked('/console/sign-in'), endpoint: 'pages' })({ status: 200 });
      log.begin({ ...asked('/_control/clock'), endpoint: 'control' })({ status: 200 });
      return log;
    };

    it.each([
      ['requests', 5],
      ['posts', 10],
      ['jobs', 1],
      ['connections', 1],
    ] as const)('counts the %s of the last hour, each of them once', (what, expected) => {
      expect(logged().totals.lastHour(what, 1)).toEqual([expected]);
    });

    it.each(['requests', 'posts', 'jobs', 'connections'] as const)(
      'counts no %s after it is cleared',
      what => {
        const log = logged();
        log.clear();
        expect(log.totals.lastHour(what, 1)).toEqual([0]);
      },
    );
  });

  it.each([
    ['/a?oauth_token=1&b=2&oauth_verifier=3', '/a?oauth_token=…&b=2&oauth_verifier=…'],
    [
      '/a?AccessKeyId=local&Expires=1&Signature=abc%3D',
      '/a?AccessKeyId=local&Expires=1&Signature=…',
    ],
    ['/a?Password=x', '/a?Password=…'],
    ['/token/secret?query=password%3Dtea', '/token/secret?query=password%3Dtea'],
    [`/${'x'.repeat(400)}`, `/${'x'.repeat(299)}…`],
  ])('shows the URL %s as %s', (address, shown) => {
    expect(shownAddress(address)).toBe(shown);
  });

  it('shows whether a response was cut or ended', async () => {
    const { service, see, open, replayPath } = await localStreams(hourOfPosts());
    await see(replayPath());
    service.faults.plant({ kind: 'content-cut', afterMessages: 1, end: 'reset' });
    await see(replayPath());
    const connection = await open(
      '/accounts/local/publishers/twitter/streams/compliance/compliance.json',
    );
    const browser = browse(service.addresses().baseUrl);
    await browser.signIn();
    const seen = async () => readable((await browser.get('/console/requests')).text);
    expect(await seen()).toMatch(
      /compliance\.json 200 OK, sending .*firehose.* 200 OK, hung up .*firehose.* 200 OK 60 /,
    );
    connection.destroy();
    await expect.poll(seen).toMatch(/compliance\.json 200 OK, hung up/);
  });
});

describe('an entry of the request log', () => {
  it('is not marked as disconnected if the client received the whole response', async () => {
    const { service, ask } = await local(teaPosts(200));
    const browser = browse(service.addresses().baseUrl);
    await browser.signIn();
    const path = `${SEARCH_PATH}?query=tea&maxResults=200`;
    for (const encoding of ['identity', 'gzip'])
      for (const address of [path, '/nowhere'])
        await ask(address, { headers: { 'accept-encoding': encoding } });
    await ask(path, { method: 'HEAD' });
    await ask(SEARCH_PATH, { method: 'POST', body: '{' });
    // The test polls this page, because a request may take seconds on a busy machine.
    const statuses = async () =>
      [
        ...readable((await browser.get('/console/requests')).text).matchAll(
          / (\d{3} [^\d,]*)[ ,\d]* [\d.]+ (?:bytes|kB) \d\d:\d\d:\d\d UTC [\d-]+ [\d.]+ (?:ms|seconds?|minutes?)\b/g,
        ),
      ].map(([, status]) => status?.slice(4).trim());
    await expect
      .poll(statuses)
      .toEqual(['Bad Request', 'OK', 'Not Found', 'OK', 'Not Found', 'OK']);
  });

  it('shows the sign-in pages of users without tokens in their URLs', async () => {
    const { requestToken, service } = await localOAuth();
    const { token } = await requestToken();
    const browser = browse(service.addresses().baseUrl);
    await browser.get(`/oauth/authenticate?oauth_token=${token}`);
    await browser.post(`/oauth/authorize?oauth_token=${token}`, { action: 'deny' });
    await browser.get('/oauth/grants');
    await browser.signIn();
    const log = readable((await browser.get('/console/requests')).text);
    for (const entry of [
      'POST /oauth/request_token',
      'GET /oauth/authenticate?oauth_token=…',
      'POST /oauth/authorize?oauth_token=…',
      'GET /oauth/grants',
    ])
      expect(log).toContain(entry);
    expect(log).not.toContain(token);
  });
});

describe('the quotas that the request log shows', () => {
  it('are the remaining requests of each rate limit by the clock of the service', () => {
    const clock = new Clock();
    clock.freeze();
    const quotas = new Quotas(limitsOf('strict'), clock);
    expect(quotas.left()).toEqual([]);
    const [reads, perDay] = [quotas.window('jobReadRate'), quotas.window('jobsPerDayRate')];
    quotas.window('searchPerMinuteRate');
    for (let i = 0; i < 7; i++) reads.count();
    perDay.count();
    const left = (...parameters: Parameters<Quotas['left']>) =>
      Object.fromEntries(quotas.left(...parameters).map(({ label, left }) => [label, left]));
    expect(left('jobs')).toEqual({ 'reads of jobs': 0, 'new jobs': 59 });
    expect(left('pages')).toEqual({});
    expect(left()).toMatchObject({ 'search and counts, by contract': Number.POSITIVE_INFINITY });
    clock.advance(DAY);
    expect(left('jobs')).toEqual({ 'reads of jobs': 5, 'new jobs': 60 });
    // After a restart, the service counts from zero.
    quotas.window('jobsPerDayRate').count();
    expect(left('jobs')).toMatchObject({ 'new jobs': 59 });
  });
});
