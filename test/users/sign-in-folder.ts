import path from 'node:path';
import { beforeEach } from 'vitest';
import { temporaryFolder } from '../temporary-folder.js';
import { type localUser, tokenIn } from './local-user.js';

export let folder: string;

export let store: string;

export function callbackOf(
  { service }: Awaited<ReturnType<typeof localUser>>,
  address: string,
): URL {
  return new URL(String(service.oauth.pending(tokenIn(address))?.callback));
}

export function makeTokenStore(): void {
  beforeEach(async () => {
    folder = await temporaryFolder();
    store = path.join(folder, 'deep', 'tokens.json');
  });
}
