import { createHash } from 'node:crypto';
import { mkdtemp, readdir, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { processState, thisProcess } from '../base/process-identity.js';

/**
 * Creates a temporary folder for this process. Its name identifies the process, so that later services can
 * remove the folders of killed services.
 *
 * @param kind The purpose of the folder, which is part of its name, such as `jobs`.
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
    // This fails for the folders of other users, and if another service is removing the same folder. Both are
    // harmless.
    await rm(join(tmpdir(), name), { recursive: true, force: true }).catch(() => {});
  }
  return mkdtemp(join(tmpdir(), `${prefix}${pid}-${started}-`));
}
