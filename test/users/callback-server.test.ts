import { once } from 'node:events';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { describe, expect, it } from 'vitest';
import { AuthorizationError, OptionError } from '../../src/base/errors.js';
import { type SignInOptions, signIn } from '../../src/users/sign-in.js';
import { failureOf } from './failure-of.js';
import { localUser, tokenIn } from './local-user.js';
import { callbackOf, makeTokenStore } from './sign-in-folder.js';

makeTokenStore();

describe('the callback server of a sign-in', () => {
  it('accepts the callback of its own sign-in once, and no other request', async () => {
    const local = await localUser();
    const answers: [number, string][] = [];
    const visit = async (url: string | URL, init: RequestInit = {}) => {
      const response = await fetch(url, init);
      answers.push([response.status, await response.text()]);
    };
    await signIn(local.acme, {
      async open(address) {
        const callback = callbackOf(local, address);
        const token = tokenIn(address);
        const at = (query: string) => `${callback}?${query}`;
        await visit(new URL('/favicon.ico', callback));
        await visit(at('oauth_token=another&oauth_verifier=x'));
        await visit(at('denied=another'));
        await visit(at('oauth_verifier=x'));
        await visit(at(`oauth_token=${token}`));
        await visit(at(`oauth_token=${token}&oauth_token=${token}&oauth_verifier=x`));
        await visit(at('<script>alert(1)</script>'));
        await visit(at(`oauth_token=${token}&oauth_verifier=x`), { method: 'POST' });
        const approval = await local.service.oauth.approve(token, {
          id: '7',
          handle: 'ann',
          name: 'Ann',
        });
        await visit((approval as { redirect: string }).redirect);
      },
    });
    expect(answers.map(([code]) => code)).toEqual([404, 400, 400, 400, 400, 400, 400, 405, 200]);
    for (const [, text] of answers) expect(text).not.toContain('script');
  });

  it('rejects requests for another host name', async () => {
    const local = await localUser();
    let status: number | undefined;
    const error = await failureOf(
      signIn(local.acme, {
        timeoutMs: 500,
        async open(address) {
          const callback = callbackOf(local, address);
          const query = `oauth_token=${tokenIn(address)}&oauth_verifier=x`;
          const response = await fetch(`http://localhost:${callback.port}/callback?${query}`).catch(
            () => undefined,
          );
          status = response?.status;
        },
      }),
    );
    expect(error).toMatchObject({ failure: 'timeout' });
    expect([400, undefined]).toContain(status);
  });

  it('uses the registered port and path of the callback', async () => {
    const probe = createServer().listen(0, '127.0.0.1');
    await once(probe, 'listening');
    const { port } = probe.address() as AddressInfo;
    const callback = `http://127.0.0.1:${port}/back/here`;
    const { acme, consent } = await localUser([], { callbackUrls: [callback] });
    const options: SignInOptions = { callbackPort: port, callbackPath: '/back/here' };
    const taken = await failureOf(signIn(acme, { ...options, open: consent }));
    expect(taken).toBeInstanceOf(OptionError);
    expect(taken.message).toContain(String(port));
    await new Promise(resolve => probe.close(resolve));
    expect(await signIn(acme, { ...options, open: consent })).toMatchObject({ userId: '7' });
    const elsewhere = await failureOf(signIn(acme, { open: consent }));
    expect(elsewhere).toBeInstanceOf(AuthorizationError);
    expect(elsewhere).toMatchObject({ failure: 'callback' });
  });
});
