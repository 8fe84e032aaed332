import { existsSync } from 'node:fs';
import { link, mkdtemp, open as openFile, rm } from 'node:fs/promises';
import path from 'node:path';
import type { RootDatabase } from 'lmdb';
import { checkLmdbCanOpen } from './lmdb-can-open.js';
import { lmdbDamage } from './lmdb-damage.js';
import { makeSyncedFolder } from './make-folder.js';
import { syncFolder } from './sync-folder.js';

type Lmdb = typeof import('lmdb');

const FILE = 'data.mdb';
/**
 * Codes of a link that may fail: another process was faster; or the file system has no links, for which Windows has
 * EISDIR, or allows one name for each file (EMLINK), and LMDB creates the file itself.
 */
const LINK_MAY_FAIL = ['EEXIST', 'EPERM', 'ENOTSUP', 'EOPNOTSUPP', 'ENOSYS', 'EMLINK', 'EISDIR'];

/**
 * Opens the LMDB database in a folder, which is created if it does not exist, with binary keys and values.
 * A transaction survives a power cut once its promise has resolved.
 *
 * @param folder an absolute path
 * @throws Error that says what to do, where the file is damaged or LMDB cannot be loaded.
 */
export async function openLmdb(
  folder: string,
  { readOnly = false }: { readonly readOnly?: boolean } = {},
): Promise<RootDatabase<Buffer, Buffer>> {
  const damage = lmdbDamage(path.join(folder, FILE));
  if (damage !== undefined)
    throw new Error(
      `${damage}. Put a copy of ${FILE} back, or remove the folder, which removes all that is in it`,
    );
  const lmdb = await loadLmdb();
  if (readOnly) return open(lmdb, folder, true);
  await makeSyncedFolder(folder);
  if (!existsSync(path.join(folder, FILE))) await create(lmdb, folder);
  // LMDB syncs its file, not the name of it.
  await syncFolder(folder);
  return open(lmdb, folder, false);
}

/**
 * Gives the file of an empty database its name once it is on disk: LMDB syncs a new file with the first transaction, and
 * refuses it if a power cut before that has taken a half. Another process may do the same meanwhile.
 */
async function create(lmdb: Lmdb, folder: string): Promise<void> {
  const aside = await mkdtemp(path.join(folder, 'new-'));
  try {
    await open(lmdb, aside, false).close();
    const file = await openFile(path.join(aside, FILE), 'r+');
    await file.sync().finally(() => file.close());
    await link(path.join(aside, FILE), path.join(folder, FILE)).catch(error => {
      if (!LINK_MAY_FAIL.includes(error.code)) throw error;
    });
  } finally {
    await rm(aside, { recursive: true, force: true });
  }
}

function open(lmdb: Lmdb, folder: string, readOnly: boolean): RootDatabase<Buffer, Buffer> {
  checkLmdbCanOpen(folder, { readOnly });
  return lmdb.open<Buffer, Buffer>({
    ...{ path: folder, noSubdir: false, readOnly },
    ...{ encoding: 'binary', keyEncoding: 'binary' },
    // Its batches of an event turn have a promise of their own, whose rejection nothing handles.
    eventTurnBatching: false,
    // The default writes the root before the pages are synced. A power cut can leave a root that counts pages
    // which the file does not have.
    overlappingSync: false,
  });
}

/** Loads LMDB, a native library, on first use: everything else works where it cannot be loaded. */
async function loadLmdb(): Promise<Lmdb> {
  try {
    // An import() that bundlers see.
    return await import('lmdb');
  } catch (cause) {
    const reason = cause instanceof Error ? cause.message : String(cause);
    throw new Error(
      `LMDB, a native library, could not be loaded. In a bundle, keep \`lmdb\` external and install it where the bundle runs (${reason})`,
      { cause },
    );
  }
}
