import { describe, expect, it } from 'vitest';
import { MINUTE } from '../../../src/base/time.js';
import { type AccessToken, CALLBACK, localOAuth } from '../users/local-oauth.js';
import { browse, readable } from './browse.js';
import { EVIL_NAME, hostilePosts } from './hostile-posts.js';

const LOGIN = { action: 'sign-in', handle: '@ann', password: 'local-service' };

async function started(...[callback, options]: [callback?: string, options?: object]) {
  const oauth = await localOAuth(hostilePosts(), options);
  const browser = browse(oauth.addresses.baseUrl);
  const newRequest = (): Promise<AccessToken> => oauth.requestToken({}, callback);
  const request = await newRequest();
  const addressOf = ({ token }: AccessToken, path = 'authenticate') =>
    `/oauth/${path}?oauth_token=${encodeURIComponent(token)}`;
  return { ...oauth, browser, request, newRequest, addressOf };
}

describe('the OAuth sign-in of a user', () => {
  it('asks for a login and for consent, and redirects to the callback with a verifier', async () => {
    const { browser, request, addressOf, post } = await started();
    const address = addressOf(request);
    const form = await browser.get(address);
    expect(form.status).toBe(200);
    expect(readable(form.text)).toContain(
      'every author of its archive is a user, such as @mallory . All have the password of the console',
    );
    expect(form.text).not.toContain('local-service');
    expect(form.headers.get('content-security-policy')).toContain(
      "form-action 'self' http://127.0.0.1:34567;",
    );
    const signedIn = await browser.post(address, LOGIN);
    expect([signedIn.status, signedIn.location]).toEqual([303, address]);
    expect(signedIn.headers.get('set-cookie')).toMatch(/; Path=\/oauth; HttpOnly; SameSite=Lax$/);
    const consent = readable((await browser.get(address)).text);
    expect(consent).toContain('Allow Local application ?');
    expect(consent).toContain('You are signed in as Ann @ann');
    expect(consent).toContain('You will go back to 127.0.0.1:34567');
    const { status, location } = await browser.post(address, { action: 'allow' });
    expect(status).toBe(303);
    const callback = new URL(String(location));
    expect(callback.origin + callback.pathname).toBe(CALLBACK);
    expect(callback.searchParams.get('oauth_token')).toBe(request.token);
    const verifier = String(callback.searchParams.get('oauth_verifier'));
    const { form: access } = await post('/oauth/access_token', {
      ...request,
      form: { oauth_verifier: verifier },
    });
    expect(Object.fromEntries(access)).toMatchObject({ user_id: '7', screen_name: 'ann' });
    // The address works only once.
    expect((await browser.get(address)).status).toBe(401);
    expect((await browser.post(address, { action: 'allow' })).status).toBe(401);
  });

  it('skips the consent page after an earlier consent at /oauth/authenticate, but not at /oauth/authorize', async () => {
    const { browser, request, newRequest, addressOf } = await started();
    await browser.get(addressOf(request));
    await browser.post(addressOf(request), LOGIN);
    await browser.get(addressOf(request));
    await browser.post(addressOf(request), { action: 'allow' });
    const again = await browser.get(addressOf(await newRequest()));
    expect([again.status, again.location]).toEqual([
      303,
      expect.stringContaining('oauth_verifier='),
    ]);
    const asked = await browser.get(addressOf(await newRequest(), 'authorize'));
    expect([asked.status, asked.location]).toEqual([200, null]);
    expect(readable(asked.text)).toContain('Allow Local application ?');
  });

  it('is not completed by a HEAD request', async () => {
    const { browser, request, newRequest, addressOf, addresses, signIn } = await started();
    await signIn('ann');
    await browser.get(addressOf(request));
    await browser.post(addressOf(request), LOGIN);
    const other = addressOf(await newRequest());
    const cookie = [...browser.cookies].map(pair => pair.join('=')).join('; ');
    for (let i = 0; i < 2; i++) {
      const looked = await fetch(addresses.oauthUrl + other, {
        method: 'HEAD',
        headers: { cookie },
        redirect: 'manual',
      });
      expect([looked.status, looked.headers.get('location')]).toEqual([200, null]);
    }
    expect((await browser.get(other)).location).toContain('oauth_verifier=');
  });

  it('redirects to the callback after a denial, whether the user is signed in or not', async () => {
    const { browser, request, newRequest, addressOf } = await started();
    await browser.get(addressOf(request));
    const { location } = await browser.post(addressOf(request), { action: 'deny' });
    expect(location).toBe(`${CALLBACK}?denied=${request.token}`);
    expect((await browser.get(addressOf(request))).status).toBe(401);
    const other = await newRequest();
    await browser.get(addressOf(other));
    await browser.post(addressOf(other), LOGIN);
    await browser.get(addressOf(other));
    const denied = await browser.post(addressOf(other), { action: 'deny' });
    expect(denied.location).toBe(`${CALLBACK}?denied=${other.token}`);
  });

  it('shows a PIN if the application has no callback', async () => {
    const { browser, request, addressOf, post } = await started('oob');
    await browser.get(addressOf(request));
    await browser.post(addressOf(request), LOGIN);
    expect(readable((await browser.get(addressOf(request))).text)).toContain('shown a PIN');
    const page = await browser.post(addressOf(request), { action: 'allow' });
    expect([page.status, page.location]).toEqual([200, null]);
    const [, pin = ''] = /<p class="pin"[^>]*>([^<]+)</.exec(page.text) ?? [];
    const { status } = await post('/oauth/access_token', {
      ...request,
      form: { oauth_verifier: pin },
    });
    expect(status).toBe(200);
  });

  it('confirms a denial on the page if the application has no callback', async () => {
    const { browser, request, addressOf } = await started('oob');
    await browser.get(addressOf(request));
    const page = await browser.post(addressOf(request), { action: 'deny' });
    expect([page.status, page.location]).toEqual([200, null]);
    expect(readable(page.text)).toContain('Local application has been given nothing');
  });

  it('shows a link to a callback that the Content-Security-Policy cannot name', async () => {
    const { browser, request, addressOf } = await started('http://[::1]:34567/callback?a=b');
    const form = await browser.get(addressOf(request));
    expect(form.headers.get('content-security-policy')).toContain("form-action 'self';");
    await browser.post(addressOf(request), LOGIN);
    await browser.get(addressOf(request));
    const page = await browser.post(addressOf(request), { action: 'allow' });
    expect([page.status, page.location]).toEqual([200, null]);
    expect(page.text).toMatch(/href="http:\/\/\[::1\]:34567\/callback\?a=b&amp;oauth_token=/);
  });

  it('shows an error if there is no pending request token', async () => {
    const { browser, request, addressOf, service } = await started();
    for (const query of [
      '',
      '?oauth_token=',
      '?oauth_token=x',
      '?callback=https://evil.example/',
    ]) {
      const page = await browser.get(`/oauth/authenticate${query}`);
      expect([page.status, page.location]).toEqual([401, null]);
      expect(page.headers.get('content-type')).toMatch('text/html');
    }
    service.clock.advance(16 * MINUTE);
    expect((await browser.get(addressOf(request))).status).toBe(401);
  });

  it('ignores a callback in the URL of the page', async () => {
    const { browser, request, addressOf } = await started();
    const address = `${addressOf(request)}&oauth_callback=https://evil.example/&callback=x`;
    await browser.get(address);
    const { location } = await browser.post(address, LOGIN);
    expect(location).toBe(addressOf(request));
    await browser.get(String(location));
    const allowed = await browser.post(address, { action: 'allow' });
    expect(allowed.location).toContain(`${CALLBACK}?`);
  });

  it.each([
    { ...LOGIN, password: 'wrong' },
    { ...LOGIN, handle: 'nobody' },
    { ...LOGIN, handle: `"><script>alert(1)</script>` },
    { ...LOGIN, handle: '', password: '' },
  ])('rejects the login %j and asks again', async fields => {
    const { browser, request, addressOf } = await started();
    await browser.get(addressOf(request));
    const page = await browser.post(addressOf(request), fields);
    expect(page.status).toBe(401);
    expect(readable(page.text)).toContain('There is no such user, or the password is wrong.');
    expect(page.text).not.toMatch(/<script|value="wrong"/);
    expect(readable((await browser.get(addressOf(request))).text)).not.toContain('signed in as');
  });

  it('limits the attempts with wrong passwords', async () => {
    const { browser, request, addressOf } = await started();
    await browser.get(addressOf(request));
    const statuses: number[] = [];
    for (let i = 0; i < 25; i++)
      statuses.push(
        (await browser.post(addressOf(request), { ...LOGIN, password: `${i}` })).status,
      );
    expect(statuses.filter(status => status === 401)).toHaveLength(20);
    expect(statuses.at(-1)).toBe(429);
  });

  it('shows a name with HTML as text, not as markup', async () => {
    const { browser, request, addressOf } = await started();
    await browser.get(addressOf(request));
    await browser.post(addressOf(request), { ...LOGIN, handle: 'mallory' });
    const { text } = await browser.get(addressOf(request));
    expect(readable(text)).toContain(EVIL_NAME);
    expect(text).not.toMatch(/<script|<img/);
    await browser.post(addressOf(request), { action: 'allow' });
    const grants = await browser.get('/oauth/grants');
    expect(readable(grants.text)).toContain(EVIL_NAME);
    expect(grants.text).not.toMatch(/<script|<img/);
  });

  it('accepts consent only from the form of its own page and only after a login', async () => {
    const { browser, request, addressOf, service, addresses } = await started();
    const address = addressOf(request);
    await browser.get(address);
    expect((await browser.post(address, { action: 'allow' })).location).toBe(null);
    await browser.post(address, LOGIN);
    await browser.get(address);
    const attacker = browse(addresses.baseUrl);
    await attacker.get(address);
    for (const [fields, headers] of [
      [{ csrf: '' }, {}],
      [{ csrf: attacker.csrf() }, {}],
      [{}, { 'sec-fetch-site': 'cross-site' }],
      [{}, { origin: 'https://evil.example' }],
    ] as const)
      expect((await browser.post(address, { action: 'allow', ...fields }, headers)).status).toBe(
        403,
      );
    expect(service.oauth.grantsOf()).toEqual([]);
    expect((await browser.post(address, { action: 'allow' })).status).toBe(303);
    expect(service.oauth.grantsOf()).toHaveLength(1);
  });

  it('lets the user switch to another user', async () => {
    const { browser, request, addressOf } = await started();
    const address = addressOf(request);
    await browser.get(address);
    await browser.post(address, LOGIN);
    await browser.get(address);
    expect((await browser.post(address, { action: 'sign-out' })).location).toBe(address);
    expect(readable((await browser.get(address)).text)).toContain('Sign in to continue');
    expect((await browser.post(address, { action: '' })).status).toBe(400);
  });

  it('warns about an application that is not approved', async () => {
    const { browser, requestToken, addresses, addressOf } = await started();
    const { unapprovedConsumerKey: key, unapprovedConsumerSecret: secret } = addresses;
    const request = await requestToken({ key, secret });
    await browser.get(addressOf(request));
    await browser.post(addressOf(request), LOGIN);
    expect(readable((await browser.get(addressOf(request))).text)).toContain(
      'has not approved Unapproved application yet',
    );
  });
});

describe('the page of applications that a user has granted access', () => {
  it('lists these applications, and lets the user revoke the access of one', async () => {
    const { browser, service, signIn, post } = await started();
    const tokens = await signIn('ann');
    const totals = () =>
      post('/insights/engagement/totals', {
        ...tokens,
        json: {
          tweet_ids: [String(hostilePosts()[0]?.id)],
          engagement_types: ['favorites'],
          groupings: { g: { group_by: ['tweet.id', 'engagement.type'] } },
        },
      });
    expect((await totals()).status).toBe(200);
    const address = '/oauth/grants';
    expect(readable((await browser.get(address)).text)).toContain('Sign in to see');
    expect((await browser.post(address, { ...LOGIN, password: 'x' })).status).toBe(401);
    expect((await browser.post(address, LOGIN)).location).toBe(address);
    expect(readable((await browser.get(address)).text)).toContain(
      'Local application Sees how often',
    );
    const application = String(service.oauth.applications[0]?.id);
    expect((await browser.post(address, { action: 'revoke', application: '0' })).status).toBe(400);
    const forged = await browser.post(address, { action: 'revoke', application, csrf: '' });
    expect(forged.status).toBe(403);
    expect(service.oauth.grantsOf()).toHaveLength(1);
    await browser.post(address, { action: 'revoke', application });
    expect(readable((await browser.get(address)).text)).toContain('You have allowed nothing');
    expect((await totals()).status).not.toBe(200);
    await browser.post(address, { action: 'sign-out' });
    expect(readable((await browser.get(address)).text)).toContain('Sign in to see');
    expect((await browser.post(address, { action: 'revoke', application })).location).toBe(null);
  });

  it('uses sessions separate from those of the console', async () => {
    const { browser } = await started();
    await browser.get('/oauth/grants');
    await browser.post('/oauth/grants', LOGIN);
    expect((await browser.get('/console')).status).toBe(303);
    await browser.get('/oauth/grants');
    await browser.post('/oauth/grants', { action: 'sign-out' });
    await browser.signIn();
    expect(readable((await browser.get('/oauth/grants')).text)).toContain('Sign in to see');
  });
});
