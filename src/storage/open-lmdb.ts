import {
  accessSync,
  closeSync,
  constants,
  existsSync,
  fstatSync,
  mkdtempSync,
  openSync,
  readSync,
  rmSync,
  statSync,
  writeFileSync,
} from 'node:fs';
import { link, mkdtemp, open as openFile, rm } from 'node:fs/promises';
import path from 'node:path';
import type { RootDatabase } from 'lmdb';
import { isNodeError } from '../base/errors.js';
import { makeSyncedFolder, syncFolder } from './folder.js';

type Lmdb = typeof import('lmdb');

const FILE = 'data.mdb';
/**
 * The error codes with which linking the file may fail without harm. Another process may have created the file
 * first. Some file systems have no links (EISDIR on Windows), or allow only one name per file (EMLINK). LMDB
 * then creates the file itself.
 */
const LINK_MAY_FAIL = ['EEXIST', 'EPERM', 'ENOTSUP', 'EOPNOTSUPP', 'ENOSYS', 'EMLINK', 'EISDIR'];

/**
 * Opens the LMDB database in a folder, with binary keys and values. Creates the database if it does not
 * exist. Once the promise of a transaction has resolved, the transaction survives a power failure.
 *
 * @param folder an absolute path
 * @throws Error if the file is damaged or LMDB cannot be loaded. The message says what to do.
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
  if (!hasLmdb(folder)) await create(lmdb, folder);
  // LMDB syncs the content of its file, but not the file's name.
  await syncFolder(folder);
  return open(lmdb, folder, false);
}

export function hasLmdb(folder: string): boolean {
  return existsSync(path.join(folder, FILE));
}

/**
 * Creates an empty database in a temporary folder, and links its file to the final name once it is on disk.
 * LMDB itself does not sync a new file before the first transaction. If the power fails before then, LMDB
 * refuses the incomplete file. If another process creates the database first, that database is kept.
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
    path: folder,
    noSubdir: false,
    readOnly,
    encoding: 'binary',
    keyEncoding: 'binary',
    // By default, lmdb creates a promise for all transactions of one turn of the event loop. No code would
    // handle the rejection of that promise.
    eventTurnBatching: false,
    // By default, lmdb writes the meta page before it syncs the other pages. After a power failure, the meta
    // page could then refer to pages that are not in the file.
    overlappingSync: false,
  });
}

/**
 * Loads LMDB on first use. It is a native library, and everything else must work even if it cannot be loaded.
 */
async function loadLmdb(): Promise<Lmdb> {
  try {
    // The name is a literal, so that bundlers find this `import()`.
    return await import('lmdb');
  } catch (cause) {
    const reason = cause instanceof Error ? cause.message : String(cause);
    throw new Error(
      `LMDB, a native library, could not be loaded. In a bundle, keep \`lmdb\` external and install it where the bundle runs (${reason})`,
      { cause },
    );
  }
}

/**
 * The byte offsets of fields in a meta page of an LMDB file, the number of bytes to read, and the expected
 * magic number. The fields are read as little-endian integers.
 */
const MAGIC_AT = 24;
const PAGE_SIZE_AT = 48;
const LAST_PAGE_AT = 144;
const TXN_AT = 152;
const META_BYTES = 160;
const MAGIC = 0xbeefc0de;

/**
 * Checks a file before LMDB maps it into memory. A truncated file, or a file that is not a database, would
 * crash the process without a message.
 *
 * @returns A description of the damage, or `undefined` if the file can be opened.
 */
export function lmdbDamage(file: string): string | undefined {
  let handle: number;
  try {
    handle = openSync(file, 'r');
  } catch {
    return undefined; // The file does not exist yet, or LMDB reports why it cannot be opened.
  }
  try {
    const first = metaAt(handle, 0);
    if (first === undefined) return fstatSync(handle).size === 0 ? undefined : 'it is cut short';
    const pageSize = first.readUInt32LE(PAGE_SIZE_AT);
    if (!isMeta(first) || pageSize < 512 || pageSize > 65_536) return 'it is not an LMDB file';
    const second = metaAt(handle, pageSize);
    if (second === undefined) return 'it is cut short';
    if (!isMeta(second)) return 'it is not an LMDB file';
    return isWhole(handle, [first, second], pageSize) ? undefined : 'it is cut short';
  } finally {
    closeSync(handle);
  }
}

/**
 * Returns whether the file has all pages that its newer meta page refers to. If a page is missing, the file
 * was cut short, because LMDB writes a meta page only after the pages that it refers to.
 */
function isWhole(handle: number, metas: readonly [Buffer, Buffer], pageSize: number): boolean {
  const [first, second] = metas;
  const newest = txnOf(first) >= txnOf(second) ? first : second;
  const { size } = fstatSync(handle);
  if ((newest.readBigUInt64LE(LAST_PAGE_AT) + 1n) * BigInt(pageSize) <= BigInt(size)) return true;
  if (hasAllPages(handle, newest, pageSize, size)) return true;
  // Another process may have written to the file since the meta pages were read, and reused pages of
  // `newest`. It has then written a newer root, which is checked instead.
  const [one, other] = [metaAt(handle, 0), metaAt(handle, pageSize)];
  if (one === undefined || other === undefined) return false;
  const isNewer = txnOf(one) > txnOf(newest) || txnOf(other) > txnOf(newest);
  return isNewer && isWhole(handle, [one, other], pageSize);
}

function txnOf(meta: Buffer): bigint {
  return meta.readBigUInt64LE(TXN_AT);
}

function metaAt(handle: number, position: number): Buffer | undefined {
  const meta = Buffer.alloc(META_BYTES);
  return readSync(handle, meta, 0, META_BYTES, position) === META_BYTES ? meta : undefined;
}

function isMeta(page: Buffer): boolean {
  return page.readUInt32LE(MAGIC_AT) === MAGIC;
}

/**
 * Byte offsets in a page. A meta page has the records of two databases: the free pages at `FREE_AT`, and the
 * stored data at `MAIN_AT`.
 */
const HEADER_BYTES = 24;
const FLAGS_AT = 18;
const LOWER_AT = 20;
const FREE_AT = 48;
const MAIN_AT = 96;
/** Byte offsets in the record of a database. */
const DEPTH_AT = 6;
const OVERFLOW_AT = 24;
const ROOT_AT = 40;

const BRANCH = 0x01;
const LEAF = 0x02;
/** The flag of a value that is stored on separate pages. */
const BIG_DATA_FLAG = 0x01;
/** The maximum depth of a tree. LMDB refuses to search deeper. */
const MAX_DEPTH = 32;
const NO_ROOT = 2n ** 64n - 1n;

/**
 * Returns whether an LMDB file has every page that is in use according to `meta`. The file size alone does
 * not show this, because free pages at the end of the file may not be written yet. Therefore, this follows
 * all references from page to page.
 *
 * @param meta The meta page, which refers to the roots of both databases in the file.
 */
export function hasAllPages(handle: number, meta: Buffer, pageSize: number, size: number): boolean {
  const pages = Math.floor(size / pageSize);
  let left = pages;
  return [FREE_AT, MAIN_AT].every(at => {
    const root = meta.readBigUInt64LE(at + ROOT_AT);
    if (root === NO_ROOT) return true;
    const depth = meta.readUInt16LE(at + DEPTH_AT);
    const hasBig = meta.readBigUInt64LE(at + OVERFLOW_AT) > 0n;
    return root < BigInt(pages) && depth <= MAX_DEPTH && hasBelow(Number(root), depth, hasBig);
  });

  function hasBelow(page: number, depth: number, hasBig: boolean): boolean {
    if (page >= pages) return false;
    if (depth <= 1 && !hasBig) return true;
    // The number of pages that are read is limited, because damaged pages may refer to each other in a loop.
    if (left-- === 0) return false;
    const bytes = Buffer.alloc(pageSize);
    readSync(handle, bytes, 0, pageSize, page * pageSize);
    if (bytes.readUInt16LE(FLAGS_AT) !== (depth > 1 ? BRANCH : LEAF)) return false;
    const count = bytes.readUInt16LE(LOWER_AT) >> 1;
    for (let index = 0; index < count; index++) {
      const pointer = HEADER_BYTES + 2 * index;
      if (pointer + 2 > pageSize) return false;
      const node = HEADER_BYTES + bytes.readUInt16LE(pointer);
      if (node + 8 > pageSize) return false;
      if (depth > 1) {
        if (!hasBelow(bytes.readUIntLE(node, 6), depth - 1, hasBig)) return false;
      } else if ((bytes.readUInt16LE(node + 4) & BIG_DATA_FLAG) !== 0) {
        const value = node + 8 + bytes.readUInt16LE(node + 6);
        if (value + 8 > pageSize) return false;
        const valueBytes = HEADER_BYTES + bytes.readUInt32LE(node);
        const end = bytes.readBigUInt64LE(value) + BigInt(Math.ceil(valueBytes / pageSize));
        if (end > BigInt(pages)) return false;
      }
    }
    return true;
  }
}

/** The size in bytes to which LMDB extends its lock file. */
const LOCK_BYTES = 8_000;
/** The space in bytes that a lock file and a new database need: four pages of up to 16 KiB. */
const ROOM_BYTES = 65_536;
/** The number of files to open as a test: one more than LMDB has open for a database at the same time. */
const DESCRIPTORS = 4;

/**
 * Tries the system calls that LMDB uses to open a database, so that Node throws an error if one fails. Inside
 * LMDB, such a failure would end the process. The signal is SIGSEGV if a call fails after the file was opened.
 * It is SIGBUS if the disk has no space for the lock file, which LMDB maps into memory.
 *
 * @param folder an existing folder
 * @throws Error from Node
 */
function checkLmdbCanOpen(folder: string, { readOnly }: { readonly readOnly: boolean }): void {
  const opened: number[] = [];
  try {
    for (let n = 0; n < DESCRIPTORS; n++)
      opened.push(openSync(path.join(folder, 'data.mdb'), readOnly ? 'r' : 'a+'));
  } finally {
    for (const descriptor of opened) closeSync(descriptor);
  }
  if (readOnly && !mayAccess(folder)) return; // In this case, LMDB does not use a lock file.
  checkLock(folder);
}

/**
 * Checks the lock file without opening it. Closing the file would release the locks on it that this process
 * holds.
 */
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
