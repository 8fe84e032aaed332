import { getEventListeners } from 'node:events';
import { chmod, mkdir, readdir, readFile, stat, writeFile } from 'node:fs/promises';
import path from 'node:path';
import { inspect } from 'node:util';
import { describe, expect, it, vi } from 'vitest';
import { OptionError, SignInError, StorageError } from '../../src/base/errors.js';
import { type SignInOptions, signIn } from '../../src/users/sign-in.js';
import { unchecked } from '../unchecked.js';
import { failureOf } from './failure-of.js';
import { localUser } from './local-user.js';
import { callbackOf, folder, makeTokenStore, store } from './sign-in-folder.js';

makeTokenStore();

const never = () => {
  throw new Error('Nobody should have to sign in');
};

async function refusesConnections(url: URL): Promise<boolean> {
  return fetch(url).then(
    () => false,
    () => true,
  );
}

describe('signIn()', () => {
  it('returns the tokens of the user, and shows a page in the browser', async () => {
    const local = await localUser();
    let visit: Promise<Response> | undefined;
    let callback: URL | undefined;
    const token = await signIn(local.acme, {
      open(address) {
        callback = callbackOf(local, address);
        visit = local.consent(address);
      },
    });
    const page = await visit;
    expect(token).toMatchObject({ userId: '7', screenName: 'ann' });
    expect(callback?.hostname).toBe('127.0.0.1');
    expect(page?.status).toBe(200);
    expect(await page?.text()).toContain('You can close this page');
    expect(page?.headers.get('content-security-policy')).toContain("default-src 'none'");
    expect(page?.headers.get('cache-control')).toBe('no-store');
    expect(await refusesConnections(callback as URL)).toBe(true);
  });

  it('stores the tokens readable only by their owner, and reuses them', async () => {
    const { acme, consent } = await localUser();
    const token = await signIn(acme, { store, open: consent });
    expect((await stat(store)).mode & 0o777).toBe(0o600);
    expect(await readdir(path.dirname(store))).toEqual(['tokens.json']);
    const again = await signIn(acme, { store, open: never });
    expect(again.token.reveal()).toBe(token.token.reveal());
    expect(again.secret.reveal()).toBe(token.secret.reveal());
    expect(again).toMatchObject({ userId: '7', screenName: 'ann' });
    const shown = [inspect(again, { depth: 9 }), JSON.stringify(again)].join();
    expect(shown).not.toContain(token.secret.reveal());
    expect(shown).not.toContain(token.token.reveal());
    const fresh = await signIn(acme, { store, again: true, open: consent });
    expect(JSON.parse(await readFile(store, 'utf8')).token).toBe(fresh.token.reveal());
  });

  it('leaves no listener on its signal', async () => {
    const { acme, consent } = await localUser();
    const { signal } = new AbortController();
    await signIn(acme, { open: consent, signal });
    expect(getEventListeners(signal, 'abort')).toEqual([]);
  });

  it('does not wait for the promise of `open`, but rejects with the error of `open`', async () => {
    const { acme, consent } = await localUser();
    await signIn(acme, {
      open(address) {
        consent(address);
        return new Promise(() => {});
      },
    });
    const failure = new Error('There is no browser');
    const broken = { open: () => Promise.reject(failure) };
    expect(await failureOf(signIn(acme, broken))).toBe(failure);
    const throwing = {
      open: () => {
        throw failure;
      },
    };
    expect(await failureOf(signIn(acme, throwing))).toBe(failure);
  });

  it('prints the URL to standard error if the function `open` is not passed', async () => {
    const { acme, consent } = await localUser();
    const write = vi.spyOn(process.stderr, 'write').mockImplementation(() => true);
    try {
      const signedIn = signIn(acme);
      await expect.poll(() => write.mock.calls.length).toBeGreaterThan(0);
      const address = /http\S+/.exec(String(write.mock.calls[0]?.[0]))?.[0] ?? '';
      await consent(address);
      await signedIn;
    } finally {
      write.mockRestore();
    }
  });

  it('rejects with a specific error if the user denies access, and stores nothing', async () => {
    const { acme, refuse } = await localUser();
    let visit: Promise<Response> | undefined;
    const open = (address: string) => {
      visit = refuse(address);
    };
    const error = await failureOf(signIn(acme, { store, open }));
    expect(error).toBeInstanceOf(SignInError);
    expect(error).toMatchObject({ failure: 'denied', code: 'ERR_SIGN_IN', retryable: false });
    expect(await (await visit)?.text()).toContain('You have not authorized the application');
    expect(await readdir(path.dirname(store))).toEqual([]);
  });

  describe('without a response from the user', () => {
    const begun = async () => {
      const local = await localUser();
      const state: { callback?: URL } = {};
      const open = (address: string) => {
        state.callback = callbackOf(local, address);
      };
      return { local, state, open };
    };

    it('rejects at its timeout, and leaves no port open', async () => {
      const { local, state, open } = await begun();
      const late = await failureOf(signIn(local.acme, { open, timeoutMs: 100 }));
      expect(late).toMatchObject({ failure: 'timeout', code: 'ERR_SIGN_IN' });
      expect(await refusesConnections(state.callback as URL)).toBe(true);
    });

    it('rejects when it is aborted, and leaves no port open', async () => {
      const { local, state, open } = await begun();
      const reason = new Error('enough');
      const controller = new AbortController();
      const aborted = failureOf(
        signIn(local.acme, {
          signal: controller.signal,
          open(address) {
            open(address);
            controller.abort(reason);
          },
        }),
      );
      expect(await aborted).toBe(reason);
      expect(await refusesConnections(state.callback as URL)).toBe(true);
    });

    it('does not start if it was aborted before', async () => {
      const { local } = await begun();
      const reason = new Error('enough');
      const before = { signal: AbortSignal.abort(reason), open: never };
      expect(await failureOf(signIn(local.acme, before))).toBe(reason);
    });
  });

  it.each([
    { store: '' },
    { store: 7 },
    { store: 'a\0b' },
    { timeoutMs: 0 },
    { timeoutMs: Number.NaN },
    { callbackPort: -1 },
    { callbackPort: 1.5 },
    { callbackPort: 70_000 },
    { callbackPath: 'no-slash' },
    { callbackPath: '/a/../b' },
    { callbackPath: '/a?b' },
    { callbackPath: '/a b' },
    { open: 'firefox' },
    { opne: never },
  ])('throws for %j when it is called', async options => {
    const { acme } = await localUser();
    await expect(signIn(acme, { open: never, ...options } as SignInOptions)).rejects.toBeInstanceOf(
      OptionError,
    );
  });

  it('throws if the account lacks the keys of an application', async () => {
    const { as } = await localUser();
    const { consumerKey: _, ...rest } = as({}).settings;
    await expect(
      signIn(as(unchecked({ ...rest, consumerKey: undefined, consumerSecret: undefined }))),
    ).rejects.toThrow('MILLRACE_CONSUMER_KEY');
  });
});

describe('the stored tokens of signIn()', () => {
  async function stored() {
    const local = await localUser();
    await signIn(local.acme, { store, open: local.consent });
    return local;
  }

  it.each([
    ['truncated', (text: string) => text.slice(0, 40)],
    ['not an object', () => '7'],
    ['empty', () => ''],
    ['of another version', (text: string) => text.replace('"version": 1', '"version": 2')],
    ['without a secret', (text: string) => text.replace(/"secret": "[^"]+"/, '"secret": ""')],
    ['of another application', (text: string) => text.replace('local-app', 'other-app')],
    ['of another address', (text: string) => text.replace('http://127.0.0.1', 'https://a.test')],
  ])('cause an error and remain unchanged if their file is %s', async (_how, change) => {
    const { acme, consent } = await stored();
    const before = await readFile(store, 'utf8');
    const after = change(before);
    expect(after).not.toBe(before);
    await writeFile(store, after);
    const error = await failureOf(signIn(acme, { store, open: never }));
    expect(error).toBeInstanceOf(StorageError);
    expect(error.message).toContain('delete it to sign in again');
    const secret = String(JSON.parse(before).secret);
    expect(inspect(error, { depth: 9 })).not.toContain(secret);
    expect(await readFile(store, 'utf8')).toBe(after);
    await signIn(acme, { store, again: true, open: consent });
    await signIn(acme, { store, open: never });
  });

  it.skipIf(process.platform === 'win32')(
    'cause an error if other users of the machine can read them',
    async () => {
      const { acme } = await stored();
      await chmod(store, 0o640);
      await expect(signIn(acme, { store, open: never })).rejects.toThrow('chmod 600');
    },
  );

  it('are valid for the same local service on another port', async () => {
    const { as } = await stored();
    const elsewhere = as({ oauthUrl: 'http://127.0.0.1:1' });
    expect(await signIn(elsewhere, { store, open: never })).toMatchObject({ userId: '7' });
  });

  it('cause the sign-in to fail before it starts if they cannot be written', async () => {
    const { acme } = await localUser();
    await mkdir(folder, { recursive: true });
    await writeFile(path.join(folder, 'file'), '');
    const error = await failureOf(
      signIn(acme, { store: path.join(folder, 'file', 'tokens.json'), open: never }),
    );
    expect(error).toBeInstanceOf(StorageError);
    expect(error.message).toContain('`store`');
    const isFolder = await failureOf(signIn(acme, { store: folder, open: never }));
    expect(isFolder).toBeInstanceOf(StorageError);
    expect(isFolder.message).toContain('is not a file');
  });

  it('are in a file with the mode 0600 whatever the umask', async () => {
    const { acme, consent } = await localUser();
    for (const umask of [0o000, 0o077, 0o777]) {
      const before = process.umask(umask);
      try {
        const file = path.join(folder, `tokens-${umask}.json`);
        await signIn(acme, { store: file, open: consent });
        expect((await stat(file)).mode & 0o777).toBe(0o600);
      } finally {
        process.umask(before);
      }
    }
  });
});
