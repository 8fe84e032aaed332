import {
  accessSync,
  closeSync,
  constants,
  mkdtempSync,
  openSync,
  rmSync,
  statSync,
  writeFileSync,
} from 'node:fs';
import path from 'node:path';
import { isNodeError } from '../errors.js';

/** A shorter lock file is extended by LMDB. */
const LOCK_BYTES = 8_000;
/** For a lock file and a new database: four pages of up to 16 KiB. */
const ROOM_BYTES = 65_536;
/** What LMDB has open of a database at the same time, and one more. */
const DESCRIPTORS = 4;

/**
 * Does what opening an LMDB database needs, so that what fails is an error of Node: lmdb ends the process with SIGSEGV
 * where a call fails after it has opened the file, and a lock file in memory ends it with SIGBUS where a full disk has no
 * room for it.
 *
 * @param folder one that exists
 * @throws Error of Node
 */
export function checkLmdbCanOpen(
  folder: string,
  { readOnly }: { readonly readOnly: boolean },
): void {
  const opened: number[] = [];
  try {
    for (let n = 0; n < DESCRIPTORS; n++)
      opened.push(openSync(path.join(folder, 'data.mdb'), readOnly ? 'r' : 'a+'));
  } finally {
    for (const descriptor of opened) closeSync(descriptor);
  }
  if (readOnly && !mayAccess(folder)) return; // Then LMDB does without a lock file.
  checkLock(folder);
}

/** The lock file itself is not opened: closing it would release the locks that this process has in it. */
function checkLock(folder: string): void {
  const lock = path.join(folder, 'lock.mdb');
  const found = statSync(lock, { throwIfNoEntry: false });
  if (found?.isFile() === false) throw new Error(`${lock} is not a file`);
  if (found !== undefined) accessSync(lock, constants.R_OK | constants.W_OK);
  if (found === undefined || found.size < LOCK_BYTES || found.blocks === 0) checkRoom(folder);
}

function checkRoom(folder: string): void {
  const aside = mkdtempSync(path.join(folder, 'new-'));
  try {
    writeFileSync(path.join(aside, 'room'), Buffer.alloc(ROOM_BYTES));
  } finally {
    rmSync(aside, { recursive: true, force: true });
  }
}

function mayAccess(folder: string): boolean {
  try {
    accessSync(folder, constants.W_OK);
    return true;
  } catch (error) {
    if (['EACCES', 'EPERM', 'EROFS'].some(code => isNodeError(error, code))) return false;
    throw error;
  }
}
