import { mkdtemp, rm } from 'node:fs/promises';
import os from 'node:os';
import path from 'node:path';

const made: string[] = [];

/**
 * Creates an empty folder. `setup.ts` removes it after all tests of the file have ended, because
 * the tests may run concurrently.
 */
export async function temporaryFolder(): Promise<string> {
  const folder = await mkdtemp(path.join(os.tmpdir(), 'millrace-test-'));
  made.push(folder);
  return folder;
}

export async function removeTemporaryFolders(): Promise<void> {
  for (const folder of made.splice(0))
    await rm(folder, { recursive: true, force: true, maxRetries: 5 });
}
