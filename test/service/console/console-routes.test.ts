import { describe, expect, it } from 'vitest';
import { local } from '../local-service.js';
import { browse, HOSTILE, readable, signedIn } from './browse.js';
import { PAGES } from './console-pages.js';

describe('the console of the local service', () => {
  it.each(PAGES)('redirects %s to the sign-in without a session', async address => {
    const { baseUrl } = await local();
    const browser = browse(baseUrl);
    const page = await browser.get(`${address}?a=b`);
    expect([page.status, page.text]).toEqual([303, '']);
    const next = new URLSearchParams({ next: `${address}?a=b` });
    expect(page.location).toBe(`/console/sign-in?${next}`);
    expect((await browser.get(String(page.location))).text).toContain(`value="${address}?a=b"`);
  });

  it.each(['/', '/console/'])('is the target of the redirect from %s', async address => {
    const { baseUrl } = await local();
    const { status, location } = await browse(baseUrl).get(address);
    expect([status, location]).toEqual([303, '/console']);
  });

  it('changes nothing when a form is sent without a sign-in', async () => {
    const { baseUrl, service } = await local();
    const browser = browse(baseUrl);
    await browser.get('/console/sign-in');
    const fields = { action: 'plant', status: '503' };
    const page = await browser.post('/console/faults?kind=status', fields);
    expect([page.status, page.text]).toEqual([403, expect.stringContaining('/console/sign-in')]);
    expect(service.faults.list()).toEqual([]);
  });

  it('starts a new session id at sign-in, and ends it at sign-out', async () => {
    const { baseUrl } = await local();
    const browser = browse(baseUrl);
    await browser.get('/console/sign-in');
    const [[name = '', before = ''] = []] = [...browser.cookies];
    const page = await browser.signIn();
    expect([page.status, page.location]).toEqual([303, '/console']);
    expect(page.headers.get('set-cookie')).toMatch(/; Path=\/; HttpOnly; SameSite=Lax$/);
    const after = String(browser.cookies.get(name));
    expect(after).not.toBe(before);
    expect((await browser.get('/console/jobs')).status).toBe(200);
    // If an attacker planted a session id before the sign-in, the id does not become valid.
    const asBefore = { cookie: `${name}=${before}` };
    expect((await browser.get('/console/jobs', asBefore)).status).toBe(303);
    expect((await browser.get('/console/sign-in')).location).toBe('/console');
    await browser.get('/console');
    expect((await browser.post('/console/sign-out')).location).toBe('/console/sign-in');
    expect((await browser.get('/console', { cookie: `${name}=${after}` })).status).toBe(303);
  });

  it('says that a login is wrong without showing the password', async () => {
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

  it('keeps the typed email after a wrong password', async () => {
    const { baseUrl } = await local();
    const page = await browse(baseUrl).signIn('mistyped');
    expect(page.text).toMatch(/name="email" [^>]*value="dev@example\.com"/);
    expect(page.text).not.toContain('mistyped');
  });

  it('limits the number of sign-ins with wrong passwords', async () => {
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
  ])('redirects after the sign-in only to its own pages, not to %s', async next => {
    const { baseUrl } = await local();
    const browser = browse(baseUrl);
    await browser.get('/console/sign-in');
    const login = { email: 'dev@example.com', password: 'local-service', next };
    const { location } = await browser.post('/console/sign-in', login);
    // Resolves the location in the same way as a browser.
    const { origin, pathname } = new URL(String(location), baseUrl);
    expect(origin).toBe(baseUrl);
    expect(pathname).toMatch(/^\/console(\/|$)/);
    // Node's `URL` keeps `..` after a segment such as `.x`.
    expect(location).not.toMatch(/\/(\.|%2e){2}/i);
  });

  it('redirects after the sign-in to the requested page with its whole query', async () => {
    const { baseUrl } = await local();
    const query = `"it's" + (tea* OR 茶) -!$;,@~[]{}|^`;
    const asked = `/console/explore?${new URLSearchParams({ query })}&raw=+'*();,@!$~`;
    const browser = browse(baseUrl);
    const { location } = await browser.get(asked);
    const form = await browser.get(String(location));
    const [, next = ''] = /name="next" value="([^"]*)"/.exec(form.text) ?? [];
    const login = { email: 'dev@example.com', password: 'local-service' };
    const typed = next.replaceAll('&amp;', '&').replaceAll('&#39;', "'");
    const there = await browser.post('/console/sign-in', { ...login, next: typed });
    const { pathname, searchParams } = new URL(String(there.location), baseUrl);
    expect([pathname, searchParams.get('query')]).toEqual(['/console/explore', query]);
    expect(searchParams.get('raw')).toBe(" '*();,@!$~");
  });

  it('responds only to loopback host names', async () => {
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

  it('offers to refresh a live page every 5 s, and to stop that', async () => {
    const { browser } = await signedIn();
    const page = await browser.get('/console/streams');
    expect(readable(page.text)).toContain('Refresh every 5 s');
    expect(page.headers.get('refresh')).toBe(null);
    const refreshed = await browser.get('/console/streams?refresh=5');
    expect(readable(refreshed.text)).toContain('refreshes every 5 s');
    expect(refreshed.text).toContain('<a href="/console/streams">Stop</a>');
    expect(refreshed.headers.get('refresh')).toBe('5');
    for (const asked of ['0', '3601', '-1', '1.5'])
      expect((await browser.get(`/console/streams?refresh=${asked}`)).headers.get('refresh')).toBe(
        null,
      );
    expect((await browser.get('/console/streams?refresh=3600')).headers.get('refresh')).toBe(
      '3600',
    );
    const still = await browser.get('/console/faults?refresh=5');
    expect(readable(still.text)).not.toContain('Refresh every');
    expect(still.headers.get('refresh')).toBe(null);
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

describe('a form of the console', () => {
  const fields = { action: 'plant', status: '503' };

  it.each([
    ['without its token', { csrf: '' }, {}],
    ['with a wrong token', { csrf: 'x'.repeat(43) }, {}],
    ['from another site', {}, { 'sec-fetch-site': 'cross-site' }],
    ['from another port of this machine', {}, { 'sec-fetch-site': 'same-site' }],
    ['from another origin', {}, { origin: 'https://evil.example' }],
  ])('is rejected %s', async (_, more, headers) => {
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

  it('is rejected with the CSRF token of another browser', async () => {
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

  it('is rejected with another content type or a body that is too large', async () => {
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
    expect((await post(type, `csrf=${'x'.repeat(5_000_000)}`)).status).toBe(413);
  });

  it('sets no cookie if it comes from another site', async () => {
    const { baseUrl } = await local();
    const page = await browse(baseUrl).post(
      '/console/faults',
      {},
      { 'sec-fetch-site': 'cross-site' },
    );
    expect([page.status, page.headers.getSetCookie()]).toEqual([403, []]);
  });

  it('keeps the typed values when the user must sign in again', async () => {
    const { browser } = await signedIn();
    const address = '/console/streams/rules';
    await browser.get(address);
    const typed = {
      action: 'add',
      value: 'a rule "that was typed"',
      tag: 'mine',
      csrf: browser.csrf(),
    };
    const own = { 'sec-fetch-site': 'same-origin' };
    await browser.post('/console/sign-out');
    const out = await browser.post(address, typed, own);
    expect([out.status, readable(out.text)]).toEqual([403, expect.stringContaining('Sign in')]);
    expect(out.text).toContain('name="value" value="a rule &quot;that was typed&quot;"');
    await browser.signIn();
    const again = await browser.post(address, typed, own);
    expect(again.status).toBe(403);
    expect(again.text).toMatch(/>a rule &quot;that was typed&quot;<\/textarea>/);
    expect(again.text).toContain('value="mine"');
    expect(again.text).toContain('<nav aria-label="Console">');
    expect(readable(again.text)).toContain('Nothing was changed. Send the form once more.');
    const sent = await browser.post(address, { ...typed, csrf: browser.csrf() }, own);
    expect(sent.status).toBe(303);
    // If the browser does not tell from which page a form comes, the service does not repeat the
    // values of the form.
    expect((await browser.post(address, typed)).text).not.toContain('that was typed');
  });

  it('still shows the menu when it is rejected', async () => {
    const { browser } = await signedIn();
    await browser.get('/console/jobs');
    const page = await browser.post('/console/jobs', { decision: 'perhaps' });
    expect([page.status, page.text]).toEqual([
      400,
      expect.stringContaining('aria-label="Console"'),
    ]);
  });

  it('requires the CSRF token even to sign in or out', async () => {
    const { browser, baseUrl } = await signedIn();
    expect((await browser.post('/console/sign-out', { csrf: '' })).status).toBe(403);
    expect((await browser.get('/console')).status).toBe(200);
    const other = browse(baseUrl);
    const login = { email: 'dev@example.com', password: 'local-service' };
    expect((await other.post('/console/sign-in', login)).status).toBe(403);
    expect((await browser.get('/console/sign-out')).status).toBe(405);
  });
});
