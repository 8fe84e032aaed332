import { closeSync, fstatSync, openSync, readSync } from 'node:fs';

/** Where the fields of a meta page lie; all are little-endian on the machines that LMDB runs on. */
const MAGIC_AT = 24;
const PAGE_SIZE_AT = 48;
const LAST_PAGE_AT = 144;
const META_BYTES = 152;
const MAGIC = 0xbeefc0de;

/**
 * Looks at the file that LMDB maps into memory before it does: a file that is none of its own, or that
 * was cut short, would end the process without a word.
 *
 * @returns what is wrong with it, or `undefined`.
 */
export function lmdbDamage(file: string): string | undefined {
  let handle: number;
  try {
    handle = openSync(file, 'r');
  } catch {
    return undefined; // There is none yet, or LMDB says why it cannot be opened.
  }
  try {
    const first = metaAt(handle, 0);
    if (first === undefined) return fstatSync(handle).size === 0 ? undefined : 'it is cut short';
    const pageSize = first.readUInt32LE(PAGE_SIZE_AT);
    if (!isMeta(first) || pageSize < 512 || pageSize > 65_536) return 'it is no LMDB file';
    const second = metaAt(handle, pageSize);
    if (second === undefined) return 'it is cut short';
    if (!isMeta(second)) return 'it is no LMDB file';
    // What was committed was in the file before its meta page said so.
    const pages = [first, second].map(meta => meta.readBigUInt64LE(LAST_PAGE_AT) + 1n);
    const { size } = fstatSync(handle);
    return pages.some(count => count * BigInt(pageSize) > BigInt(size))
      ? 'it is cut short'
      : undefined;
  } finally {
    closeSync(handle);
  }
}

function metaAt(handle: number, position: number): Buffer | undefined {
  const meta = Buffer.alloc(META_BYTES);
  return readSync(handle, meta, 0, META_BYTES, position) === META_BYTES ? meta : undefined;
}

function isMeta(page: Buffer): boolean {
  return page.readUInt32LE(MAGIC_AT) === MAGIC;
}
