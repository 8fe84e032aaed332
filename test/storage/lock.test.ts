import { once } from 'node:events';
import { type FileHandle, readdir, readFile, rm, stat, utimes, writeFile } from 'node:fs/promises';
import { setTimeout as sleep } from 'node:timers/promises';
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { StorageError } from '../../src/base/errors.js';
import { thisProcess } from '../../src/base/process-identity.js';
import { type FileSystem, nodeFileSystem, type OpenFile } from '../../src/storage/file-system.js';
import { recoveryLockPath, takeLock } from '../../src/storage/lock.js';
import { spawn } from '../child-processes.js';
import { bySuite } from '../suite.js';
import { temporaryFolder } from '../temporary-folder.js';
import { unchecked } from '../unchecked.js';

function lock(folder: string) {
  return takeLock(`${folder}/run.lock`);
}

async function deadProcess(): Promise<number> {
  const child = spawn(process.execPath, ['-e', '']);
  await once(child, 'close');
  return child.pid as number;
}

function holder(pid: number | undefined) {
  return { ...thisProcess(), pid, started: undefined, token: 'x' };
}

function slowFiles(files: Map<string, string>, delays: readonly number[]): FileSystem {
  let call = 0;
  const slowly = async <T>(work: () => T): Promise<T> => {
    const ticks = delays[call++ % delays.length] as number;
    for (let tick = 0; tick < ticks; tick++) await null;
    return work();
  };
  const fail = (code: string): never => {
    throw Object.assign(new Error(code), { code });
  };
  const open = (path: string) =>
    slowly(() => {
      if (files.has(path)) fail('EEXIST');
      files.set(path, '');
      return {
        write: (bytes: Uint8Array) =>
          slowly(() => {
            // Writing to a file that was removed has no effect.
            if (files.has(path)) files.set(path, Buffer.from(bytes).toString());
            return { bytesWritten: bytes.length };
          }),
        datasync: () => slowly(() => {}),
        close: () => slowly(() => {}),
      };
    });
  const readFile = (path: string) => slowly(() => files.get(path) ?? fail('ENOENT'));
  const unlink = (path: string) =>
    slowly(() => {
      if (!files.delete(path)) fail('ENOENT');
    });
  const lstat = (path: string) =>
    slowly(() => (files.has(path) ? { mtimeMs: Date.now() } : fail('ENOENT')));
  return unchecked<FileSystem>({ open, readFile, unlink, lstat });
}

describe('a file lock', () => {
  it('has one holder at a time, even within one process', async () => {
    const folder = await temporaryFolder();
    const first = await lock(folder);
    const second = lock(folder);
    await expect(second).rejects.toThrow(StorageError);
    await expect(second).rejects.toThrow(`process ${process.pid}. Wait until it ends`);
    await first.release();
    await (await lock(folder)).release();
    expect(await readdir(folder)).toEqual([]);
  });

  it('is acquired by exactly one of many concurrent callers', async () => {
    const folder = await temporaryFolder();
    await writeFile(`${folder}/run.lock`, JSON.stringify(holder(await deadProcess())));
    const all = await Promise.allSettled(Array.from({ length: 20 }, () => lock(folder)));
    expect(all.filter(one => one.status === 'fulfilled').length).toBe(1);
  });

  it('never has two holders, however calls and kills interleave', async () => {
    const dead = holder(await deadProcess());
    const stale = JSON.stringify({ ...dead, token: 'x' });
    const killedOver = JSON.stringify({ ...dead, token: 'y' });
    await fc.assert(
      fc.asyncProperty(
        fc.integer({ min: 2, max: 6 }),
        fc.array(fc.nat(6), { minLength: 10, maxLength: 60 }),
        fc.nat(2),
        async (contenders, delays, killed) => {
          const files = new Map([['run.lock', stale]]);
          if (killed > 0) files.set('run.lock.old', killedOver);
          if (killed > 1) files.set('run.lock.old.old', stale);
          const fs = slowFiles(files, delays);
          let holding = 0;
          let taken = 0;
          await Promise.all(
            Array.from({ length: contenders }, async () => {
              try {
                const lock = await takeLock('run.lock', { fs });
                taken++;
                expect(++holding).toBe(1);
                for (let turn = 0; turn < 20; turn++) await null;
                holding--;
                await lock.release();
              } catch (error) {
                if (!(error instanceof StorageError)) throw error;
              }
            }),
          );
          expect(taken).toBeGreaterThan(0);
          expect([...files]).toEqual([]);
        },
      ),
      { numRuns: bySuite(25, 1_200) },
    );
  });

  it('is taken over from a dead process', async () => {
    const folder = await temporaryFolder();
    await writeFile(`${folder}/run.lock`, JSON.stringify(holder(await deadProcess())));
    const taken = await lock(folder);
    expect(JSON.parse(await readFile(`${folder}/run.lock`, 'utf8'))).toMatchObject({
      pid: process.pid,
    });
    await taken.release();
    expect(await readdir(folder)).toEqual([]);
  });

  it('is not removed if another process has taken it from a dead holder', async () => {
    const file = `${await temporaryFolder()}/run.lock`;
    await writeFile(file, JSON.stringify(holder(await deadProcess())));
    const other = JSON.stringify(holder(process.ppid));
    const fs: FileSystem = {
      ...nodeFileSystem,
      open: async (path, flags, mode) => {
        if (path.endsWith('.old')) await writeFile(file, other);
        return nodeFileSystem.open(path, flags, mode);
      },
    };
    await expect(takeLock(file, { fs })).rejects.toThrow('Another run holds');
    expect(await readFile(file, 'utf8')).toBe(other);
  });

  it('is taken over from a process whose id was reused', async () => {
    const folder = await temporaryFolder();
    const other = { ...thisProcess(), started: '1', token: 'x' };
    await writeFile(`${folder}/run.lock`, JSON.stringify({ ...other, pid: process.ppid }));
    if (process.platform === 'linux') await (await lock(folder)).release();
    await writeFile(`${folder}/run.lock`, JSON.stringify({ ...other, pid: process.pid }));
    await (await lock(folder)).release();
  });

  it('is not taken over from a running process', async () => {
    const folder = await temporaryFolder();
    const child = spawn(process.execPath, ['-e', 'setInterval(() => {}, 1000)']);
    try {
      await writeFile(`${folder}/run.lock`, JSON.stringify(holder(child.pid)));
      await expect(lock(folder)).rejects.toThrow(`process ${child.pid}`);
    } finally {
      child.kill('SIGKILL');
    }
  });

  const elsewhere = { pid: 1, host: 'elsewhere', machine: 'another', token: 'x' };

  it('is not taken over from a process on another machine that keeps writing to it', async () => {
    const folder = await temporaryFolder();
    const beat = setInterval(
      () => void writeFile(`${folder}/run.lock`, JSON.stringify(elsewhere)),
      300,
    );
    try {
      await writeFile(`${folder}/run.lock`, JSON.stringify(elsewhere));
      await expect(lock(folder)).rejects.toThrow('process 1 on elsewhere. Wait until it ends');
    } finally {
      clearInterval(beat);
    }
  });

  it('is taken over from a process that was killed before the host name changed', async () => {
    const folder = await temporaryFolder();
    await writeFile(`${folder}/run.lock`, JSON.stringify(elsewhere));
    await longAgo(`${folder}/run.lock`);
    await (await lock(folder)).release();
    expect(await readdir(folder)).toEqual([]);
  });

  it('is taken over 10 s after the last write of a process that cannot be checked', async () => {
    const folder = await temporaryFolder();
    const file = `${folder}/run.lock`;
    await writeFile(file, JSON.stringify(elsewhere));
    const written = new Date(Date.now() - 8_000);
    await utimes(file, written, written);
    await (await lock(folder)).release();
    expect(Date.now() - written.getTime()).toBeGreaterThan(9_500);
  });

  it('is taken over from a thread of the same process if that thread has ended', async () => {
    const folder = await temporaryFolder();
    const file = `${folder}/run.lock`;
    await writeFile(file, JSON.stringify({ ...thisProcess(), token: 'of another thread' }));
    await longAgo(file);
    await (await lock(folder)).release();
  });

  it('is updated regularly by its holder as a sign of life', async () => {
    const folder = await temporaryFolder();
    const taken = await lock(folder);
    const file = `${folder}/run.lock`;
    await longAgo(file);
    for (const { mtimeMs } = await stat(file); (await stat(file)).mtimeMs === mtimeMs; )
      await sleep(50);
    await taken.check();
    await taken.release();
  });

  it('keeps no file open after it is released', async () => {
    const opened: FileHandle[] = [];
    const open: FileSystem['open'] = async (...args) => {
      const handle = await nodeFileSystem.open(...args);
      opened.push(handle);
      return handle;
    };
    const fs = { ...nodeFileSystem, open };
    const held = await takeLock(`${await temporaryFolder()}/run.lock`, { fs });
    await held.release();
    // A handle that is closed has the descriptor -1.
    expect(opened.map(({ fd }) => fd)).toEqual([-1]);
  });

  it('keeps no file open if its content cannot be written', async () => {
    let isOpen = false;
    const full = Object.assign(new Error('no space left on device'), { code: 'ENOSPC' });
    const open: FileSystem['open'] = async (...args) => {
      const handle = await nodeFileSystem.open(...args);
      isOpen = true;
      return {
        ...unchecked<OpenFile>({}),
        write: () => Promise.reject(full),
        close: async () => {
          await handle.close();
          isOpen = false;
        },
      };
    };
    const fs = { ...nodeFileSystem, open };
    await expect(takeLock(`${await temporaryFolder()}/run.lock`, { fs })).rejects.toThrow(
      'The disk is full',
    );
    expect(isOpen).toBe(false);
  });

  it('does not remove the recovery lock of a process that checks it when it is released', async () => {
    const folder = await temporaryFolder();
    const held = await lock(folder);
    const checking = await takeLock(recoveryLockPath(`${folder}/run.lock`));
    await held.release();
    await checking.check();
    await checking.release();
    expect(await readdir(folder)).toEqual([]);
  });

  it('tells a holder that did not write in time that another process has taken over', async () => {
    const folder = await temporaryFolder();
    const taken = await lock(folder);
    await writeFile(`${folder}/run.lock`, JSON.stringify(elsewhere));
    await expect(taken.check()).rejects.toThrow('Another process took');
    await taken.release();
    expect(JSON.parse(await readFile(`${folder}/run.lock`, 'utf8'))).toEqual(elsewhere);
  });

  it('tells its holder that the lock file was removed', async () => {
    const folder = await temporaryFolder();
    const held = await lock(folder);
    await rm(`${folder}/run.lock`);
    const failure = await held.check().catch((error: unknown) => error);
    expect(failure).toBeInstanceOf(StorageError);
    expect(failure).toMatchObject({ path: `${folder}/run.lock`, retryable: true });
    expect(String(failure)).toContain(
      'run.lock is gone: it or its folder was deleted, or another process took it over and has ended',
    );
    expect(String(failure)).toMatch(/Run again, and leave the file there until the run ends$/);
    await held.release();
  });

  it.each(['', '{"pi', 'null', '{}'])(
    'is taken over if the content of its file names no holder (%j)',
    async text => {
      const folder = await temporaryFolder();
      await writeFile(`${folder}/run.lock`, text);
      await longAgo(`${folder}/run.lock`);
      await (await lock(folder)).release();
      expect(await readdir(folder)).toEqual([]);
    },
  );
});

async function longAgo(file: string): Promise<void> {
  await utimes(file, new Date(0), new Date(0));
}
