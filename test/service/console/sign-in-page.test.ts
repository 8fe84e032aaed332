import { afterEach, describe, expect, it, vi } from 'vitest';
import { MINUTE } from '../../../src/base/time.js';
import { checkFailures, failedSignIns } from '../../../src/service/console/sign-in-page.js';
import { local } from '../local-service.js';
import { browse, HOSTILE, readable } from './browse.js';

const TOKEN = 'the-token+of/a~test';
const LINK = `/console/sign-in?${new URLSearchParams({ token: TOKEN })}`;

async function withToken() {
  const there = await local([], { token: TOKEN });
  return { ...there, browser: browse(there.baseUrl) };
}

describe('the console of a service with a token', () => {
  it('lets a user sign in with the printed link, even from another site', async () => {
    const { browser } = await withToken();
    const page = await browser.get(LINK, { 'sec-fetch-site': 'cross-site' });
    expect(page.status).toBe(200);
    expect(page.headers.get('set-cookie')).toMatch(/; Path=\/; HttpOnly; SameSite=Strict$/);
    // After a redirect from another site, the browser would not send a `SameSite=Strict` cookie.
    // Therefore, the page refreshes instead of redirecting.
    expect(page.headers.get('refresh')).toBe('0; url=/console');
    expect(page.text).toContain('href="/console"');
    expect(page.text).not.toContain(TOKEN);
    expect((await browser.get('/console/faults')).status).toBe(200);
    expect((await browser.get(LINK)).location).toBe('/console');
  });

  it('redirects to the requested page after the sign-in', async () => {
    const { browser } = await withToken();
    const page = await browser.get(`${LINK}&next=/console/jobs`);
    expect(page.headers.get('refresh')).toBe('0; url=/console/jobs');
    const other = await (await withToken()).browser.get(`${LINK}&next=https://evil.example`);
    expect(other.headers.get('refresh')).toBe('0; url=/console');
  });

  it('lets a user sign in with a form for the token, without scripts', async () => {
    const { browser } = await withToken();
    const form = await browser.get('/console/sign-in?next=/console/usage');
    expect(form.text).toMatch(/<input id="token" name="token" type="password"/);
    expect(form.text).not.toMatch(/name="(email|password)"|<script/);
    const fields = { token: TOKEN, next: '/console/usage' };
    const page = await browser.post('/console/sign-in', fields);
    expect([page.status, page.location]).toEqual([303, '/console/usage']);
    expect((await browser.get('/console/usage')).status).toBe(200);
  });

  it('does not accept an email and password, which have known defaults', async () => {
    const { browser } = await withToken();
    expect((await browser.signIn()).status).toBe(401);
    expect((await browser.get('/console')).status).toBe(303);
  });

  it.each([
    ['a form', (token: string) => ({ post: { token } })],
    ['a link', (token: string) => ({ link: `/console/sign-in?${new URLSearchParams({ token })}` })],
  ])('rejects a wrong token of %s without showing the token', async (_, tryWith) => {
    const { browser } = await withToken();
    await browser.get('/console/sign-in');
    for (const token of ['', `${TOKEN}x`, TOKEN.slice(1), HOSTILE]) {
      const { post, link = '' } = tryWith(token) as {
        post?: Record<string, string>;
        link?: string;
      };
      const page = await (post ? browser.post('/console/sign-in', post) : browser.get(link));
      expect(page.status).toBe(401);
      expect(readable(page.text)).toContain('That is not the token of this service.');
      expect(page.text).not.toMatch(/the-token|<script/);
      expect(page.headers.get('refresh')).toBeNull();
    }
    expect((await browser.get('/console')).status).toBe(303);
  });

  it('limits wrong tokens in forms and links together', async () => {
    const { browser } = await withToken();
    await browser.get('/console/sign-in');
    for (let i = 0; i < 5; i++) {
      expect((await browser.get('/console/sign-in?token=x')).status).toBe(401);
      expect((await browser.post('/console/sign-in', { token: 'x' })).status).toBe(401);
    }
    expect((await browser.get(LINK)).status).toBe(429);
    expect((await browser.post('/console/sign-in', { token: TOKEN })).status).toBe(429);
  });

  it('starts no session when an app previews the link, and does not log the token', async () => {
    const { baseUrl, browser, service } = await withToken();
    const preview = await fetch(baseUrl + LINK, { method: 'HEAD' });
    const [cookie = ''] = preview.headers.getSetCookie();
    const headers = { cookie: cookie.split(';')[0] ?? '' };
    expect((await browser.get('/console', headers)).status).toBe(303);
    await browser.get(LINK);
    expect(JSON.stringify(service.requests())).not.toContain('the-token');
    expect((await browser.get('/console/requests')).text).not.toContain('the-token');
  });

  it('requires a sign-in even for the status page', async () => {
    const { browser, service } = await withToken();
    service.faults.plant({ kind: 'delay', ms: 7 });
    const before = await browser.get('/status');
    expect([before.status, before.location]).toEqual([303, '/console/sign-in?next=%2Fstatus']);
    expect(before.text).not.toContain('7 ms');
    await browser.get(LINK);
    expect((await browser.get('/status')).text).toContain('7 ms');
  });

  it('responds to any host name, and shows its URLs with that name', async () => {
    const { service } = await withToken();
    const { baseUrl } = service.addresses();
    const { request } = await import('node:http');
    const get = (path: string, headers: Record<string, string>) =>
      new Promise<{ text: string; cookie: string }>(resolve => {
        request(baseUrl + path, { headers }, async answer => {
          let text = '';
          for await (const chunk of answer) text += chunk;
          resolve({ text, cookie: String(answer.headers['set-cookie']).split(';')[0] ?? '' });
        }).end();
      });
    const { cookie } = await get(LINK, { host: 'millrace:8080' });
    const seen = async (headers: Record<string, string>) =>
      readable((await get('/console', { cookie, ...headers })).text);
    const page = await seen({ host: 'Millrace:8080' });
    expect(page).toContain("export MILLRACE_URL='http://millrace:8080'");
    expect(page).toContain("export MILLRACE_INSECURE_ORIGINS='http://millrace:8080'");
    const behindTls = await seen({ host: 'millrace.example', 'x-forwarded-proto': 'https' });
    expect(behindTls).toContain("export MILLRACE_URL='https://millrace.example'");
    expect(behindTls).not.toContain('INSECURE');
    expect(await seen({ host: `a"b` })).toContain('the Host header is not a host');
  });

  it('asks the users of applications for their own passwords', async () => {
    const { browser } = await withToken();
    const page = await browser.get('/oauth/grants');
    expect([page.status, readable(page.text)]).toEqual([200, expect.stringContaining('Password')]);
    expect(page.headers.get('set-cookie')).toMatch(/; Path=\/oauth; HttpOnly; SameSite=Lax$/);
  });
});

describe('a sign-in to the console', () => {
  afterEach(() => {
    vi.useRealTimers();
  });

  it('may fail at most 10 times a minute', () => {
    vi.useFakeTimers();
    const failures = failedSignIns();
    for (let i = 0; i < 10; i++) {
      checkFailures(failures);
      failures.count();
      vi.advanceTimersByTime(1_000);
    }
    expect(() => checkFailures(failures)).toThrow('Try again in 50 s');
    vi.advanceTimersByTime(MINUTE - 10_000 - 1);
    expect(() => checkFailures(failures)).toThrow('Try again in 1 s');
    vi.advanceTimersByTime(1);
    checkFailures(failures);
  });
});
