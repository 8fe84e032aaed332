import { access, constants, readFile, stat } from 'node:fs/promises';
import path from 'node:path';
import { abortable, LinkedAbort } from '../base/abortable.js';
import {
  flag,
  func,
  milliseconds,
  type OptionTable,
  signal as signalOption,
  special,
  text,
  whole,
} from '../base/check.js';
import { SignInError, StorageError } from '../base/errors.js';
import { isLoopback } from '../base/is-loopback.js';
import { isRecord } from '../base/record.js';
import { Secret } from '../base/secret.js';
import { MINUTE, SECOND } from '../base/time.js';
import { type Account, checkAccountOptions } from '../http/account.js';
import { parsedAs } from '../json/type-guards.js';
import { ifThere } from '../storage/file-system.js';
import { absolutePath, makeSyncedFolder } from '../storage/folder.js';
import { replaceFile } from '../storage/replace-file.js';
import { withStorageError } from '../storage/storage-error.js';
import { CallbackServer } from './callback-server.js';
import { type AccessToken, accessToken, requestToken, signInAddress } from './sign-in-steps.js';

/**
 * Options of `users.signIn`: where to store tokens, how to show the sign-in URL, and how long to wait for the
 * user.
 */
export interface SignInOptions {
  /**
   * The path of a file in which to store the tokens. Only its owner may read it (mode 0600). The next call
   * reads the tokens from this file instead of asking the user again. Without this option, tokens are not
   * stored.
   */
  readonly store?: string | undefined;
  /** Whether to ignore stored tokens, for example because the user has revoked them. @default false */
  readonly again?: boolean | undefined;
  /**
   * Shows the sign-in URL to the user, for example in a browser. @default prints the URL to standard error
   */
  readonly open?: ((address: string) => unknown) | undefined;
  /** Whether to ask for consent even if the user has given it before. @default false */
  readonly always?: boolean | undefined;
  /** How long to wait for the user to sign in, in milliseconds. @default 300_000 */
  readonly timeoutMs?: number | undefined;
  /** The port of the callback. Set it if the callback is registered with a port. @default any free port */
  readonly callbackPort?: number | undefined;
  /** The path of the callback's URL. @default '/callback' */
  readonly callbackPath?: string | undefined;
  /** A signal that aborts the sign-in. The call then rejects with the signal's reason. */
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
 * Lets a user authorize the application, and returns the user's tokens. Use it in scripts. It gets a request
 * token, shows the URL at which the user signs in, and waits for the callback on a port of this machine. Then
 * it gets the access token. With `store`, the user has to sign in only once.
 *
 * @throws OptionError for missing settings of the account, and for invalid options.
 * @throws SignInError If the user denies access, or takes longer than `timeoutMs`.
 * @throws AuthorizationError If the service refuses a step.
 * @throws StorageError If tokens cannot be stored, or stored tokens cannot be used.
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
  const late = `Nobody signed in within ${timeoutMs / SECOND} s: try again, with a longer \`timeoutMs\` if need be`;
  patience.abortAfter(
    timeoutMs,
    () => new SignInError(late, { failure: 'timeout', retryable: true }),
  );
  const server = new CallbackServer(callbackPath);
  try {
    const callback = await server.listen(callbackPort);
    const token = await requestToken(account, { callback, signal: patience.signal });
    const came = server.verifierOf(token.token);
    const shown = Promise.resolve(signInAddress(account, token, { always })).then(open);
    // `open` may still be running when the user has signed in. For this reason, the callback of the service
    // (`came`) ends the wait for `open`.
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
  // If `URL` changes the path, the browser would request a different path from the one that is registered.
  return new URL(`http://127.0.0.1${path}`).pathname === path;
}

/**
 * Identifies the application that tokens in a file belong to. The service would refuse the tokens of another
 * application.
 */
interface TokenOwner {
  readonly consumerKey: string;
  readonly oauthUrl: URL;
}

const VERSION = 1;
const OTHERS = 0o077;

/**
 * Returns the stored tokens, or `undefined` if the file does not exist.
 *
 * @throws StorageError if other users can read the file, if it is damaged, or if its tokens belong to another
 * application.
 */
export async function readToken(file: string, owner: TokenOwner): Promise<AccessToken | undefined> {
  const text = await withStorageError('read the tokens of `store` in', file, async () => {
    const found = await ifThere(stat(file));
    if (found === undefined) return undefined;
    if (!found.isFile())
      throw unusableFile(file, 'is not a file', 'choose another path for `store`');
    // Windows does not have these permission bits.
    if (process.platform !== 'win32' && (found.mode & OTHERS) !== 0)
      throw new StorageError(
        `The tokens in ${file} are open to others on this machine: run chmod 600 on it, or delete it and sign in again`,
        { path: file },
      );
    return ifThere(readFile(file, 'utf8'));
  });
  return text === undefined ? undefined : parse(text, file, owner);
}

/** Replaces the file atomically, with mode 0600. */
export async function writeToken(
  file: string,
  owner: TokenOwner,
  { token, secret, userId, screenName }: AccessToken,
): Promise<void> {
  const kept = {
    version: VERSION,
    oauthUrl: owner.oauthUrl.href,
    consumerKey: owner.consumerKey,
    userId,
    screenName,
    token: token.reveal(),
    secret: secret.reveal(),
  };
  await withStorageError('keep the tokens of `store` in', file, () =>
    replaceFile(file, `${JSON.stringify(kept, undefined, 2)}\n`, { mode: 0o600 }),
  );
}

/** Checks that the file can be written before the user is asked to sign in. */
export async function prepareTokenFile(file: string): Promise<void> {
  const folder = path.dirname(file);
  await withStorageError('keep the tokens of `store` in', file, async () => {
    await makeSyncedFolder(folder);
    await access(folder, constants.W_OK);
  });
}

function parse(text: string, file: string, owner: TokenOwner): AccessToken {
  const kept = parsedAs(text, isRecord);
  const get = (name: string): string => {
    const value = kept?.[name];
    if (typeof value !== 'string' || value === '') throw unusableFile(file, 'holds no tokens');
    return value;
  };
  if (kept?.version !== VERSION) throw unusableFile(file, 'holds no tokens of this version');
  if (
    get('consumerKey') !== owner.consumerKey ||
    addressWithoutPort(get('oauthUrl')) !== addressWithoutPort(owner.oauthUrl.href)
  )
    throw unusableFile(file, 'holds tokens of another application or address');
  return {
    token: new Secret(get('token')),
    secret: new Secret(get('secret')),
    userId: get('userId'),
    screenName: get('screenName'),
  };
}

/**
 * Removes the port from an address if the host is this machine. The port of a local service may change with
 * each start.
 */
function addressWithoutPort(address: string): string {
  const url = URL.canParse(address) ? new URL(address) : undefined;
  if (url === undefined || !isLoopback(url.hostname)) return address;
  url.port = '';
  return url.href;
}

function unusableFile(
  file: string,
  why: string,
  advice = 'choose another one for `store`, or delete it to sign in again',
): StorageError {
  return new StorageError(`The token file ${file} ${why}: ${advice}`, { path: file });
}
