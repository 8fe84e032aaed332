import { closeSync, existsSync, openSync, writeSync } from 'node:fs';
import promises, {
  mkdir,
  readdir,
  readFile,
  rm,
  stat,
  truncate,
  writeFile,
} from 'node:fs/promises';
import { syncBuiltinESMExports } from 'node:module';
import path from 'node:path';
import { describe, expect, it, onTestFinished } from 'vitest';
import { openTombstones } from '../../src/compliance/tombstones.js';
import { UsageStore } from '../../src/service/usage/usage-meter.js';
import { hasAllPages, lmdbDamage, openLmdb } from '../../src/storage/open-lmdb.js';
import { BASH_ARGS, outputOf, spawn } from '../child-processes.js';
import { compiled } from '../compiled.js';
import { ofPost } from '../compliance/event.js';
import { canMountDisk } from '../jetstream/small-disk.js';
import { temporaryFolder } from '../temporary-folder.js';
import { nodeError } from './simulated-disk.js';

const FILE_LIMIT_CHILD = path.join(import.meta.dirname, 'lmdb-file-limit-child.ts');
const FULL_DISK_CHILD = path.join(import.meta.dirname, 'lmdb-full-disk-child.ts');
const ALL = { from: 0, to: 86_400_000 };

interface Full {
  readonly confirmed: number;
  readonly code: string;
  readonly path: string;
  readonly message: string;
}

async function untilFull(kind: string, folder: string): Promise<Full> {
  const command = `ulimit -f 400; exec "$0" "$@"`;
  const child = spawn(
    'bash',
    [...BASH_ARGS, command, process.execPath, compiled(FILE_LIMIT_CHILD), kind, folder],
    {
      // LMDB prints failed writes to stderr.
      stdio: ['ignore', 'pipe', 'ignore'],
    },
  );
  const { code, signal, stdout } = await outputOf(child);
  expect([code, signal]).toEqual([0, null]);
  return JSON.parse(stdout) as Full;
}

describe('an LMDB file that cannot grow', () => {
  // In the past, lmdb reported the reason only in a promise that nothing handled. The process then
  // ended with only "Commit failed".
  it('causes a StorageError with the reason, and tombstones can be added afterwards', async () => {
    const folder = path.join(await temporaryFolder(), 'tombstones');
    const { confirmed, ...error } = await untilFull('tombstones', folder);
    expect(error).toMatchObject({ code: 'ERR_STORAGE', path: folder });
    expect(error.message).toMatch(/File too large|Input\/output error/);
    expect(confirmed).toBeGreaterThan(0);
    await using tombstones = await openTombstones(folder);
    // The batch that failed is stored either completely or not at all.
    expect([200 * confirmed, 200 * (confirmed + 1)]).toContain(tombstones.size);
    await tombstones.record([ofPost('delete', '1')]);
    expect(tombstones.post('1')).toEqual({ deleted: true });
  });

  it('causes a StorageError with the reason, and usage can be added afterwards', async () => {
    const state = await temporaryFolder();
    const { confirmed, ...error } = await untilFull('usage', state);
    expect(error).toMatchObject({ code: 'ERR_STORAGE', path: path.join(state, 'usage') });
    expect(error.message).toMatch(/File too large|Input\/output error/);
    expect(confirmed).toBeGreaterThan(0);
    const usage = new UsageStore(state);
    const [day] = await usage.days(ALL);
    expect([confirmed, confirmed + 1]).toContain(day?.requests);
    expect(day?.activities).toBe(200 * (day?.requests as number));
    await usage.add([{ day: 0, product: '30day', ids: ['1'], requests: 1 }]);
    await usage.close();
  });
});

describe('an LMDB database that cannot be opened', () => {
  // If a call fails after the file is open, lmdb frees the same memory twice. In the past, this
  // killed the process with SIGSEGV.
  it.each([false, true])(
    'causes a StorageError if its lock file is a folder (readOnly: %s)',
    async readOnly => {
      const folder = await temporaryFolder();
      await (await openTombstones(folder)).close();
      await rm(path.join(folder, 'lock.mdb'));
      await mkdir(path.join(folder, 'lock.mdb'));
      await expect(openTombstones(folder, { readOnly })).rejects.toMatchObject({
        code: 'ERR_STORAGE',
        path: folder,
        message: expect.stringContaining('lock.mdb'),
      });
    },
  );

  // In the past, a lock file that is mapped into memory killed the process with SIGBUS on a full
  // disk.
  it.skipIf(!canMountDisk)(
    'causes a StorageError on a full disk unless the lock file already exists',
    async () => {
      const folder = await temporaryFolder();
      const mount = `mount -t tmpfs -o size=400k tmpfs '${folder}' && exec "$0" "$@"`;
      const child = spawn('unshare', [
        ...['--map-root-user', '--mount', 'sh', '-c', mount],
        ...[process.execPath, compiled(FULL_DISK_CHILD), folder],
      ]);
      const { code, signal, stdout } = await outputOf(child);
      expect([code, signal]).toEqual([0, null]);
      const full = { code: 'ERR_STORAGE', message: expect.stringContaining('ENOSPC') };
      expect(JSON.parse(stdout)).toEqual({
        created: full,
        found: { deleted: true },
        withoutLock: full,
      });
    },
  );

  it('is not created if it is missing and the call opens it read-only', async () => {
    const folder = path.join(await temporaryFolder(), 'none');
    await expect(openTombstones(folder, { readOnly: true })).rejects.toThrow('ENOENT');
    expect(existsSync(folder)).toBe(false);
  });

  it('is opened by the next call once the cause is removed (for a database of usage)', async () => {
    const state = await temporaryFolder();
    await writeFile(path.join(state, 'usage'), 'not a folder');
    const usage = new UsageStore(state);
    await expect(usage.days(ALL)).rejects.toMatchObject({ code: 'ERR_STORAGE' });
    await rm(path.join(state, 'usage'));
    await usage.add([{ day: 0, product: '30day', ids: ['1'], requests: 1 }]);
    expect(await usage.days(ALL)).toMatchObject([{ activities: 1, requests: 1 }]);
    await usage.close();
  });
});

/** Replaces a function of Node for every module until the test ends. */
function replaceCall<Name extends 'link' | 'open'>(
  name: Name,
  replacement: (typeof promises)[Name],
): void {
  const original = promises[name];
  promises[name] = replacement;
  syncBuiltinESMExports();
  onTestFinished(() => {
    promises[name] = original;
    syncBuiltinESMExports();
  });
}

it('a new LMDB database is synced together with its parent folders', async () => {
  const above = await temporaryFolder();
  const folder = path.join(above, 'deep', 'tombstones');
  const opened: string[] = [];
  const { open } = promises;
  replaceCall('open', (name, ...rest) => {
    opened.push(`${name}, file ${existsSync(path.join(folder, 'data.mdb'))}`);
    return open(name, ...rest);
  });
  await (await openTombstones(folder)).close();
  expect(opened).toContain(`${folder}, file true`);
  expect(opened).toContain(`${path.dirname(folder)}, file false`);
  expect(opened).toContain(`${above}, file false`);
});

describe('a new LMDB database that cannot be linked to its name', () => {
  const record = async (folder: string) => {
    await using tombstones = await openTombstones(folder);
    await tombstones.record([ofPost('delete', '1')]);
    expect(tombstones.post('1')).toEqual({ deleted: true });
  };
  const failing = (code: string) => async () => {
    throw nodeError(code, 'link');
  };

  it.each(['ENOSPC', 'EIO', 'EACCES'])(
    'causes a StorageError for %s, and leaves no file',
    async code => {
      const folder = await temporaryFolder();
      replaceCall('link', failing(code));
      await expect(openTombstones(folder)).rejects.toMatchObject({
        code: 'ERR_STORAGE',
        path: folder,
        message: expect.stringContaining(code),
      });
      expect(await readdir(folder)).toEqual([]);
    },
  );

  it.each(['EPERM', 'ENOTSUP', 'EOPNOTSUPP', 'ENOSYS', 'EMLINK', 'EISDIR'])(
    'is created directly under its name if the file system has no hard links: %s',
    async code => {
      const folder = await temporaryFolder();
      replaceCall('link', failing(code));
      await record(folder);
      expect((await readdir(folder)).toSorted()).toEqual(['data.mdb', 'lock.mdb']);
    },
  );

  it('is replaced by that of another process that was faster', async () => {
    const folder = await temporaryFolder();
    const { link } = promises;
    let refused: unknown;
    replaceCall('link', async (file, name) => {
      await link(file, name);
      await link(file, name).catch(error => {
        refused = error;
        throw error;
      });
    });
    await record(folder);
    expect(refused).toMatchObject({ code: 'EEXIST' });
    expect((await readdir(folder)).toSorted()).toEqual(['data.mdb', 'lock.mdb']);
  });
});

it('a damaged usage file causes an error, but does not crash the service', async () => {
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

const pageKey = (part: number, n: number) => {
  const key = Buffer.alloc(14);
  key.writeUInt32BE(part, 1);
  key.writeUInt32BE((n * 7_919) % 100_003, 10);
  return key;
};

/**
 * Creates a file of at least ten pages. Its root counts one more page than the file has. That page
 * is free and was never written.
 */
async function shortFile(): Promise<string> {
  const folder = await temporaryFolder();
  const database = await openLmdb(folder);
  for (const [part, count] of [219, 97, 54].entries())
    await database.transaction(() => {
      for (let n = 0; n < count; n++) database.put(pageKey(part, n), Buffer.alloc(0));
    });
  await database.transaction(() => {
    for (const key of [...database.getKeys({ end: pageKey(2, 0) })])
      database.remove(Buffer.from(key));
  });
  await database.close();
  const bytes = await readFile(path.join(folder, 'data.mdb'));
  // The fourth transaction is in the first meta page, which contains the number of the last page.
  expect((Number(bytes.readBigUInt64LE(144)) + 1) * 4_096).toBe(bytes.length + 4_096);
  return folder;
}

async function keysIn(folder: string): Promise<string[]> {
  const database = await openLmdb(folder);
  const keys = [...database.getKeys()].map(key => Buffer.from(key).toString('hex'));
  await database.close();
  return keys;
}

// Found by `npm run faults -- disks`, tombstones/power.
it('an LMDB file whose last page is free and was never written is accepted', async () => {
  expect(await keysIn(await shortFile())).toHaveLength(54);
});

it('an LMDB file that lacks a page in use causes an error', async () => {
  const folder = await shortFile();
  const file = path.join(folder, 'data.mdb');
  const all = await keysIn(folder);
  let refused = 0;
  for (let pages = (await stat(file)).size / 4_096 - 1; pages >= 2; pages--) {
    await truncate(file, pages * 4_096);
    if (lmdbDamage(file) === undefined) expect(await keysIn(folder)).toEqual(all);
    else refused++;
  }
  expect(refused).toBeGreaterThan(0);
});

const PAGE = 4096;

it('hasAllPages returns false for pages that refer to each other in a circle', async () => {
  const handle = openSync(path.join(await temporaryFolder(), 'data.mdb'), 'w+');
  onTestFinished(() => closeSync(handle));
  // This is a branch page with one entry, which points to the page itself.
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
