import { closeSync, openSync, writeSync } from 'node:fs';
import path from 'node:path';
import { expect, it, onTestFinished } from 'vitest';
import { hasAllPages } from '../../src/storage/has-all-pages.js';
import { temporaryFolders } from '../sinks/temporary-folder.js';

const temporaryFolder = temporaryFolders();
const PAGE = 4096;

it('a root that is deeper than LMDB can read has not all pages, though they refer to each other without an end', async () => {
  const handle = openSync(path.join(await temporaryFolder(), 'data.mdb'), 'w+');
  onTestFinished(() => closeSync(handle));
  // A branch with one entry, which refers to the branch itself.
  const page = Buffer.alloc(PAGE);
  page.writeUInt16LE(1, 18);
  page.writeUInt16LE(2, 20);
  page.writeUInt16LE(8, 24);
  page.writeUInt16LE(2, 32);
  writeSync(handle, page, 0, PAGE, 2 * PAGE);
  const meta = Buffer.alloc(PAGE);
  for (const at of [48, 96]) {
    meta.writeUInt16LE(65_535, at + 6);
    meta.writeBigUInt64LE(2n, at + 40);
  }
  expect(hasAllPages(handle, meta, PAGE, 70_000 * PAGE)).toBe(false);
});
