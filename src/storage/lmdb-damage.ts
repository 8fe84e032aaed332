import { closeSync, fstatSync, openSync, readSync } from 'node:fs';
import { hasAllPages } from './has-all-pages.js';

/** Offsets in a meta page. All fields are little-endian on the machines that LMDB runs on. */
const MAGIC_AT = 24;
const PAGE_SIZE_AT = 48;
const LAST_PAGE_AT = 144;
const TXN_AT = 152;
const META_BYTES = 160;
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
    return isWhole(handle, [first, second], pageSize) ? undefined : 'it is cut short';
  } finally {
    closeSync(handle);
  }
}

/** LMDB writes the pages of a root before it, and uses the newest root. */
function isWhole(handle: number, metas: readonly [Buffer, Buffer], pageSize: number): boolean {
  const [first, second] = metas;
  const newest = txnOf(first) >= txnOf(second) ? first : second;
  const { size } = fstatSync(handle);
  if ((newest.readBigUInt64LE(LAST_PAGE_AT) + 1n) * BigInt(pageSize) <= BigInt(size)) return true;
  if (hasAllPages(handle, newest, pageSize, size)) return true;
  // Another process may have used the pages again since: then it has a newer root.
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
