import { readSync } from 'node:fs';

/** Offsets in a page, and in a meta page, whose databases begin at `FREE_AT` and `MAIN_AT`. */
const HEADER_BYTES = 24;
const FLAGS_AT = 18;
const LOWER_AT = 20;
const FREE_AT = 48;
const MAIN_AT = 96;
/** Offsets in the record of a database. */
const DEPTH_AT = 6;
const OVERFLOW_AT = 24;
const ROOT_AT = 40;

const BRANCH = 0x01;
const LEAF = 0x02;
/** A value that has pages of its own. */
const BIG = 0x01;
/** LMDB refuses to search deeper. */
const MAX_DEPTH = 32;
const NO_ROOT = 2n ** 64n - 1n;

/**
 * Whether an LMDB file has every page that a root refers to. The last pages that a root counts may be free, and not
 * written yet. Reads the pages that list other pages.
 *
 * @param meta the meta page of the root
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
    // Damaged pages may refer to each other.
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
      } else if ((bytes.readUInt16LE(node + 4) & BIG) !== 0) {
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
