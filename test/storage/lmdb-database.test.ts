import { describe, expect, it } from 'vitest';
import { LmdbDatabase } from '../../src/storage/lmdb-database.js';
import { temporaryFolder } from '../temporary-folder.js';

const KEY = Buffer.of(1);
const put = (database: LmdbDatabase, value: number) =>
  database.transaction(root => void root.put(KEY, Buffer.of(value)));

describe('LmdbDatabase', () => {
  it('writes the transactions that were added before it was closed', async () => {
    const folder = await temporaryFolder();
    const database = await LmdbDatabase.open(folder);
    const writing = [put(database, 1), put(database, 2)];
    await database.close();
    await Promise.all(writing);
    const again = await LmdbDatabase.open(folder);
    expect(again.root.get(KEY)).toEqual(Buffer.of(2));
    await again.close();
  });

  it('rejects a transaction after it was closed, and does not run it', async () => {
    const database = await LmdbDatabase.open(await temporaryFolder());
    await put(database, 1);
    await database.close();
    let isRun = false;
    const late = database.transaction(() => {
      isRun = true;
    });
    await expect(late).rejects.toThrow('it is closed');
    expect(isRun).toBe(false);
  });
});
