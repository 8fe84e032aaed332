import { closeSync, fstatSync, openSync, readSync } from 'node:fs';

/** Offsets in a meta page. All fields are little-endian on the machines that LMDB runs on. */
const MAGIC_AT = 24;
const PAGE_SIZE_AT = 48;
const LAST_PAGE_AT = 144;
const META_BYTES = 152;
const MAGIC = 0xbeefc0de;

/**
 * Checks a file before LMDB maps it into memory: a truncated file, or one of another kind, would
 * crash the process without a message.
 *
 * @returns The damage, or `undefined`.
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
    // LMDB writes its pages before the meta page that counts them.
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
