import path from 'node:path';
import type { RootDatabase } from 'lmdb';
import { lmdbDamage } from './lmdb-damage.js';
import { makeSyncedFolder } from './make-folder.js';
import { syncFolder } from './sync-folder.js';

/**
 * Opens the LMDB database in a folder, which is created if it does not exist, with binary keys and values.
 * LMDB syncs its file, not the name of it: a power cut could take a new database with all that is in it.
 *
 * @param folder an absolute path
 * @throws Error that says what to do, where the file is damaged or LMDB cannot be loaded.
 */
export async function openLmdb(
  folder: string,
  { readOnly = false }: { readonly readOnly?: boolean } = {},
): Promise<RootDatabase<Buffer, Buffer>> {
  const damage = lmdbDamage(path.join(folder, 'data.mdb'));
  if (damage !== undefined)
    throw new Error(
      `${damage}. Put a copy of data.mdb back, or remove the folder, which removes all that is in it`,
    );
  const { open } = await loadLmdb();
  if (!readOnly) await makeSyncedFolder(folder);
  const database = open<Buffer, Buffer>({
    ...{ path: folder, noSubdir: false, readOnly },
    ...{ encoding: 'binary', keyEncoding: 'binary' },
  });
  try {
    if (!readOnly) await syncFolder(folder);
    return database;
  } catch (error) {
    await database.close();
    throw error;
  }
}

/** Loads LMDB, a native library, on first use: everything else works where it cannot be loaded. */
async function loadLmdb(): Promise<typeof import('lmdb')> {
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
