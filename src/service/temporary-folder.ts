import { createHash } from 'node:crypto';
import { mkdtemp, readdir, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { processState, thisProcess } from '../storage/process-identity.js';

/**
 * Makes a folder among the system's temporary files, for as long as this process runs. Its name tells
 * whose it is: those that killed services left behind are removed.
 *
 * @param kind What it is for: `jobs`.
 */
export async function temporaryFolder(kind: string): Promise<string> {
  const { pid, host, machine, started = '' } = thisProcess();
  const here = createHash('sha256').update(machine).digest('hex').slice(0, 12);
  const prefix = `millrace-${kind}-${here}-`;
  for (const name of await readdir(tmpdir())) {
    if (!name.startsWith(prefix)) continue;
    const [, otherPid, otherStart = ''] = /^(\d+)-(\d*)-/.exec(name.slice(prefix.length)) ?? [];
    if (otherPid === undefined) continue;
    const owner = { pid: Number(otherPid), host, machine, started: otherStart || undefined };
    if (processState(owner) !== 'dead') continue;
    // Another user's stays; another service may remove it at the same time.
    await rm(join(tmpdir(), name), { recursive: true, force: true }).catch(() => {});
  }
  return mkdtemp(join(tmpdir(), `${prefix}${pid}-${started}-`));
}
