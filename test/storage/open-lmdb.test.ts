import { once } from 'node:events';
import { existsSync } from 'node:fs';
import promises, { truncate } from 'node:fs/promises';
import { syncBuiltinESMExports } from 'node:module';
import path from 'node:path';
import { describe, expect, it, onTestFinished } from 'vitest';
import { openTombstones } from '../../src/compliance/tombstones.js';
import { UsageStore } from '../../src/service/usage/usage-store.js';
import { spawn } from '../child-processes.js';
import { compiled } from '../compiled.js';
import { ofPost } from '../compliance/event.js';
import { temporaryFolder } from './temporary-folder.js';

const CHILD = path.join(import.meta.dirname, 'lmdb-full-child.ts');
const ALL = { from: 0, to: 86_400_000 };

interface Full {
  readonly confirmed: number;
  readonly code: string;
  readonly path: string;
}

/** Records until the file has reached its limit, in a process whose files cannot grow. */
async function untilFull(kind: string, folder: string): Promise<Full> {
  const command = `ulimit -f 400; exec "$0" "$@"`;
  const child = spawn('bash', ['-c', command, process.execPath, compiled(CHILD), kind, folder], {
    // LMDB prints what it cannot write.
    stdio: ['ignore', 'pipe', 'ignore'],
  });
  let text = '';
  child.stdout?.on('data', data => {
    text += data;
  });
  await once(child, 'close');
  return JSON.parse(text) as Full;
}

describe('LMDB files that cannot grow', () => {
  it('are a StorageError, and the tombstones before are all there and can be added to', async () => {
    const folder = path.join(await temporaryFolder(), 'tombstones');
    const { confirmed, ...error } = await untilFull('tombstones', folder);
    expect(error).toMatchObject({ code: 'ERR_STORAGE', path: folder });
    expect(confirmed).toBeGreaterThan(0);
    await using tombstones = await openTombstones(folder);
    // The batch that failed is there whole or not at all.
    expect([200 * confirmed, 200 * (confirmed + 1)]).toContain(tombstones.size);
    await tombstones.record([ofPost('delete', '1')]);
    expect(tombstones.post('1')).toEqual({ deleted: true });
  });

  it('are a StorageError, and the usage before is all there and can be added to', async () => {
    const state = await temporaryFolder();
    const { confirmed, ...error } = await untilFull('usage', state);
    expect(error).toMatchObject({ code: 'ERR_STORAGE', path: path.join(state, 'usage') });
    expect(confirmed).toBeGreaterThan(0);
    const usage = new UsageStore(state);
    const [day] = await usage.days(ALL);
    expect([confirmed, confirmed + 1]).toContain(day?.requests);
    expect(day?.activities).toBe(200 * (day?.requests as number));
    await usage.add([{ day: 0, product: '30day', ids: ['1'], requests: 1 }]);
    await usage.close();
  });
});

it('the name of a new database, and those of its folders, are synced', async () => {
  const above = await temporaryFolder();
  const folder = path.join(above, 'deep', 'tombstones');
  const opened: string[] = [];
  const { open } = promises;
  promises.open = (name, ...rest) => {
    opened.push(`${name}, file ${existsSync(path.join(folder, 'data.mdb'))}`);
    return open(name, ...rest);
  };
  syncBuiltinESMExports();
  onTestFinished(() => {
    promises.open = open;
    syncBuiltinESMExports();
  });
  await (await openTombstones(folder)).close();
  expect(opened).toContain(`${folder}, file true`);
  expect(opened).toContain(`${path.dirname(folder)}, file false`);
  expect(opened).toContain(`${above}, file false`);
});

it('damaged usage is refused, and does not crash the service', async () => {
  const state = await temporaryFolder();
  const usage = new UsageStore(state);
  const ids = Array.from({ length: 3_000 }, (_, n) => String(n));
  await usage.add([{ day: 0, product: '30day', ids, requests: 1 }]);
  await usage.close();
  await truncate(path.join(state, 'usage', 'data.mdb'), 9_000);
  await expect(new UsageStore(state).days(ALL)).rejects.toMatchObject({
    code: 'ERR_STORAGE',
    message: expect.stringContaining('cut short'),
  });
});
