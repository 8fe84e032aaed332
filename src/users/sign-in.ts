import { abortable } from '../abortable.js';
import { checkValue, milliseconds } from '../check.js';
import { OptionError, SignInError } from '../errors.js';
import type { Account } from '../http/account.js';
import { checkNames } from '../http/check-names.js';
import { LinkedAbort } from '../linked-abort.js';
import { MINUTE, SECOND } from '../time.js';
import { CallbackServer } from './callback-server.js';
import { type AccessToken, accessToken, requestToken, signInAddress } from './sign-in-steps.js';
import {
  checkTokenFile,
  prepareTokenFile,
  readToken,
  type TokenOwner,
  writeToken,
} from './token-file.js';

export interface SignInOptions {
  /**
   * The file that keeps the tokens, mode 0600: the next time they come from there, and no one has to
   * sign in. Without it they are not kept.
   */
  readonly store?: string | undefined;
  /** Signs in although there are stored tokens, say because they were revoked. @default false */
  readonly again?: boolean | undefined;
  /** Shows the user the sign-in address, say in a browser. @default prints it to standard error */
  readonly open?: ((address: string) => unknown) | undefined;
  /** Asks for consent also where it was given before. @default false */
  readonly always?: boolean | undefined;
  /** How long the user may take, in milliseconds. @default 300_000 */
  readonly timeoutMs?: number | undefined;
  /** Port of the callback, where the application is registered with one. @default any that is free */
  readonly callbackPort?: number | undefined;
  /** Path of the callback. @default '/callback' */
  readonly callbackPath?: string | undefined;
  readonly signal?: AbortSignal | undefined;
}

const OPTIONS: readonly (keyof SignInOptions)[] = [
  ...(['store', 'again', 'open', 'always', 'timeoutMs'] as const),
  ...(['callbackPort', 'callbackPath', 'signal'] as const),
];

/**
 * Lets a user authorize the application and gives the user's tokens, for scripts (service.md 4.8): asks
 * for a request token, shows the address at which the user signs in, waits on a port of this machine
 * for the browser to come back, and gets the access token. With `store` this happens once.
 *
 * @throws OptionError for what is missing in the account, and for other options.
 * @throws SignInError when the user refuses, or takes longer than `timeoutMs`.
 * @throws AuthorizationError when the service refuses a step.
 * @throws StorageError when the tokens cannot be kept, or those that are kept not be used.
 * @example
 * const token = await users.signIn(acme, { store: `${homedir()}/.millrace/tokens.json` });
 * const { totals } = await users.engagementTotals(acme, { token, ids });
 */
export async function signIn(account: Account, options: SignInOptions = {}): Promise<AccessToken> {
  checkNames('options', options, OPTIONS);
  const { again = false, open = print, always = false, timeoutMs = 5 * MINUTE, signal } = options;
  const { callbackPort = 0, callbackPath = '/callback' } = options;
  checkValue('signIn', 'timeoutMs', milliseconds('how long the user may take'), timeoutMs);
  checkCallback(callbackPort, callbackPath);
  if (typeof open !== 'function') throw new OptionError('open', 'Expected `open` to be a function');
  const store = options.store === undefined ? undefined : checkTokenFile(options.store);
  account.needAll(['oauthUrl', 'consumerKey', 'consumerSecret'], 'signing users in');
  const owner: TokenOwner = {
    consumerKey: account.need('consumerKey', 'signing users in'),
    oauthUrl: account.need('oauthUrl', 'signing users in'),
  };
  signal?.throwIfAborted();
  if (store !== undefined) {
    const kept = again ? undefined : await readToken(store, owner);
    if (kept !== undefined) return kept;
    await prepareTokenFile(store);
  }

  const patience = new LinkedAbort(signal);
  const timer = setTimeout(() => patience.abort(nobodyCame(timeoutMs)), timeoutMs);
  const server = new CallbackServer(callbackPath);
  try {
    const callback = await server.listen(callbackPort);
    const token = await requestToken(account, { callback, signal: patience.signal });
    const came = server.verifierOf(token.token);
    const shown = Promise.resolve(signInAddress(account, token, { always })).then(open);
    // Whoever shows the address may take until the user is done with it.
    const verifier = await abortable(Promise.race([came, shown.then(() => came)]), patience.signal);
    const access = await accessToken(account, { token, verifier, signal: patience.signal });
    if (store !== undefined) await writeToken(store, owner, access);
    return access;
  } finally {
    clearTimeout(timer);
    patience.unlink();
    server.close();
  }
}

function print(address: string): void {
  process.stderr.write(`Sign in with a browser on this machine:\n${address}\n`);
}

function checkCallback(port: unknown, path: unknown): void {
  if (!Number.isInteger(port) || (port as number) < 0 || (port as number) > 65_535)
    throw new OptionError('callbackPort', 'Expected `callbackPort` to be a port from 0 to 65535');
  // What is no path as it stands would come back as another.
  const isPath = typeof path === 'string' && /^\/[\w\-.~/]*$/.test(path);
  if (!isPath || new URL(`http://127.0.0.1${path}`).pathname !== path)
    throw new OptionError(
      'callbackPath',
      'Expected `callbackPath` to be a path of letters, digits, - . _ ~ that begins with a slash',
    );
}

function nobodyCame(ms: number): SignInError {
  return new SignInError(
    `Nobody signed in within ${ms / SECOND} s: try again, with a longer \`timeoutMs\` if need be`,
    { failure: 'timeout', retryable: true },
  );
}
