import { rmSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import { openTombstones } from '../../src/compliance/tombstones.js';
import { ofPost } from '../compliance/event.js';

// Opens tombstones on a full disk and prints the outcome of each attempt. Argument: the FOLDER of
// an empty disk.
const [disk = ''] = process.argv.slice(2);
const recorded = path.join(disk, 'recorded');
await using before = await openTombstones(recorded);
await before.record([ofPost('delete', '1')]);
await before.close();
for (const bytes of [65_536, 4_096, 1])
  try {
    for (let n = 0; ; n++) writeFileSync(path.join(disk, `${bytes}-${n}`), Buffer.alloc(bytes, 1));
  } catch {
    // The disk is now full.
  }
const created = await resultOf(path.join(disk, 'created'));
const found = await resultOf(recorded);
// Simulates a copy that consists only of `data.mdb`.
rmSync(path.join(recorded, 'lock.mdb'));
const withoutLock = await resultOf(recorded);
process.stdout.write(JSON.stringify({ created, found, withoutLock }));

async function resultOf(folder: string): Promise<unknown> {
  try {
    await using tombstones = await openTombstones(folder);
    return tombstones.post('1');
  } catch (error) {
    const { code, message } = error as { readonly code?: string; readonly message?: string };
    return { code, message };
  }
}
