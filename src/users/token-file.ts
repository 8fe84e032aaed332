import { access, constants, readFile, stat } from 'node:fs/promises';
import path from 'node:path';
import { isNodeError, StorageError } from '../errors.js';
import { isLoopback } from '../is-loopback.js';
import { Secret } from '../secret.js';
import { makeSyncedFolder } from '../storage/folder.js';
import { replaceFile } from '../storage/replace-file.js';
import { withStorageError } from '../storage/storage-error.js';
import type { AccessToken } from './sign-in-steps.js';

/** The owner of the tokens in a file; the service would refuse those of another application. */
export interface TokenOwner {
  readonly consumerKey: string;
  readonly oauthUrl: URL;
}

const VERSION = 1;
/** The permissions of all users except the owner. */
const OTHERS = 0o077;

/**
 * The access token in a file; `undefined` if the file does not exist.
 *
 * @throws StorageError for a file that other users can read, that is damaged, or that belongs to
 * another application.
 */
export async function readToken(file: string, owner: TokenOwner): Promise<AccessToken | undefined> {
  const text = await withStorageError('read the tokens of `store` in', file, async () => {
    try {
      const found = await stat(file);
      if (!found.isFile())
        throw unusableFile(file, 'is not a file', 'choose another path for `store`');
      // Windows does not have these permission bits.
      if (process.platform !== 'win32' && (found.mode & OTHERS) !== 0)
        throw new StorageError(
          `The tokens in ${file} are open to others on this machine: run chmod 600 on it, or delete it and sign in again`,
          { path: file },
        );
      return await readFile(file, 'utf8');
    } catch (error) {
      if (isNodeError(error, 'ENOENT')) return undefined;
      throw error;
    }
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
  const kept = parseObject(text);
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

/** Ignores the port of a service on this machine, which may change with each start. */
function addressWithoutPort(address: string): string {
  const url = URL.canParse(address) ? new URL(address) : undefined;
  if (url === undefined || !isLoopback(url.hostname)) return address;
  url.port = '';
  return url.href;
}

function parseObject(text: string): { readonly [name: string]: unknown } | undefined {
  try {
    const value: unknown = JSON.parse(text);
    return typeof value === 'object' && value !== null ? { ...value } : undefined;
  } catch {
    return undefined;
  }
}

function unusableFile(
  file: string,
  why: string,
  advice = 'choose another one for `store`, or delete it to sign in again',
): StorageError {
  return new StorageError(`The token file ${file} ${why}: ${advice}`, { path: file });
}
