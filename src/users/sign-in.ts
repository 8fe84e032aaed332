import { abortable, LinkedAbort } from '../abortable.js';
import {
  flag,
  func,
  milliseconds,
  type OptionTable,
  signal as signalOption,
  special,
  text,
  whole,
} from '../check.js';
import { SignInError } from '../errors.js';
import { type Account, checkAccountOptions } from '../http/account.js';
import { absolutePath } from '../storage/working-folder.js';
import { MINUTE, SECOND } from '../time.js';
import { CallbackServer } from './callback-server.js';
import { type AccessToken, accessToken, requestToken, signInAddress } from './sign-in-steps.js';
import { prepareTokenFile, readToken, type TokenOwner, writeToken } from './token-file.js';

/** Where `users.signIn` stores tokens, how it asks the user, and how long it waits for the callback. */
export interface SignInOptions {
  /**
   * A file for the tokens, with mode 0600: the next call reads them from it, without a new
   * sign-in. Without it, tokens are not stored.
   */
  readonly store?: string | undefined;
  /** Ignores stored tokens, for example because they were revoked. @default false */
  readonly again?: boolean | undefined;
  /**
   * Shows the sign-in URL to the user, for example in a browser. @default prints it to standard error
   */
  readonly open?: ((address: string) => unknown) | undefined;
  /** Asks for consent even if the user gave it before. @default false */
  readonly always?: boolean | undefined;
  /** How long to wait for the user, in milliseconds. @default 300_000 */
  readonly timeoutMs?: number | undefined;
  /** The port of the callback, if the application is registered with one. @default any free port */
  readonly callbackPort?: number | undefined;
  /** The path of the callback. @default '/callback' */
  readonly callbackPath?: string | undefined;
  /** Ends the sign-in, which rejects with the signal's reason. */
  readonly signal?: AbortSignal | undefined;
}

const OPTIONS = {
  store: text('the file that keeps the tokens'),
  again: flag('signs in although there are stored tokens', false),
  open: func<(address: string) => unknown>('shows the sign-in address'),
  always: flag('asks for consent again', false),
  timeoutMs: milliseconds('how long the user may take', { default: 5 * MINUTE }),
  callbackPort: whole('port of the callback', { max: 65_535, default: 0 }),
  callbackPath: special<string, string>(
    'path of the callback',
    'a path of letters, digits, - . _ ~ that begins with a slash',
    isCallbackPath,
    '/callback',
  ),
  signal: signalOption(),
} satisfies OptionTable<SignInOptions>;

/**
 * Lets a user authorize the application and returns the user's tokens, for scripts: asks
 * for a request token, shows the URL at which the user signs in, waits on a port of this machine
 * for the callback, and gets the access token. With `store`, this happens once.
 *
 * @throws OptionError for missing settings of the account, and for invalid options.
 * @throws SignInError If the user denies, or takes longer than `timeoutMs`.
 * @throws AuthorizationError If the service refuses a step.
 * @throws StorageError If tokens cannot be stored, or stored ones cannot be used.
 * @example
 * const token = await users.signIn(acme, { store: `${homedir()}/.millrace/tokens.json` });
 * const { totals } = await users.engagementTotals(acme, { token, ids });
 */
export async function signIn(account: Account, options: SignInOptions = {}): Promise<AccessToken> {
  const checked = checkAccountOptions('users.signIn', account, OPTIONS, options);
  const { again, open = print, always, timeoutMs, callbackPort, callbackPath, signal } = checked;
  const store = checked.store === undefined ? undefined : absolutePath(checked.store);
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
  patience.abortAfter(timeoutMs, () => timedOut(timeoutMs));
  const server = new CallbackServer(callbackPath);
  try {
    const callback = await server.listen(callbackPort);
    const token = await requestToken(account, { callback, signal: patience.signal });
    const came = server.verifierOf(token.token);
    const shown = Promise.resolve(signInAddress(account, token, { always })).then(open);
    // The function that shows the URL may not return before the user has finished.
    const verifier = await abortable(Promise.race([came, shown.then(() => came)]), patience.signal);
    const access = await accessToken(account, { token, verifier, signal: patience.signal });
    if (store !== undefined) await writeToken(store, owner, access);
    return access;
  } finally {
    patience.unlink();
    server.close();
  }
}

function print(address: string): void {
  process.stderr.write(`Sign in with a browser on this machine:\n${address}\n`);
}

function isCallbackPath(path: unknown): boolean {
  if (typeof path !== 'string' || !/^\/[\w\-.~/]*$/.test(path)) return false;
  // The browser would request another path if `URL` changes it.
  return new URL(`http://127.0.0.1${path}`).pathname === path;
}

function timedOut(ms: number): SignInError {
  return new SignInError(
    `Nobody signed in within ${ms / SECOND} s: try again, with a longer \`timeoutMs\` if need be`,
    { failure: 'timeout', retryable: true },
  );
}
