import path from 'node:path';
import { beforeEach } from 'vitest';
import { temporaryFolder } from '../temporary-folder.js';
import { type localUser, tokenIn } from './local-user.js';

export let folder: string;

export let store: string;

/** Returns the callback to which a sign-in URL redirects. */
export function callbackOf(
  { service }: Awaited<ReturnType<typeof localUser>>,
  address: string,
): URL {
  return new URL(String(service.oauth.pending(tokenIn(address))?.callback));
}

/** Creates a folder for tokens before each test of a file. */
export function makeTokenStore(): void {
  beforeEach(async () => {
    folder = await temporaryFolder();
    store = path.join(folder, 'deep', 'tokens.json');
  });
}
