import { createHash } from 'node:crypto';
import { mkdtemp, readdir, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { processState, thisProcess } from '../storage/process-identity.js';

/**
 * Makes a temporary folder for this process. Its name identifies the process, so that folders of
 * killed services are found and removed.
 *
 * @param kind Its purpose, part of the name: `jobs`.
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
    // Another user's folder stays; another service may remove one at the same time.
    await rm(join(tmpdir(), name), { recursive: true, force: true }).catch(() => {});
  }
  return mkdtemp(join(tmpdir(), `${prefix}${pid}-${started}-`));
}
