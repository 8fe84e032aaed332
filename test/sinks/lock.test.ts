import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { readdir, readFile, writeFile } from 'node:fs/promises';
import os from 'node:os';
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { StorageError } from '../../src/errors.js';
import { type FileSystem, nodeFileSystem } from '../../src/sinks/file-system.js';
import { takeLock } from '../../src/sinks/lock.js';
import { temporaryFolders } from './temporary-folder.js';

const temporaryFolder = temporaryFolders();

function lock(folder: string) {
  return takeLock(nodeFileSystem, `${folder}/run.lock`);
}

async function deadProcess(): Promise<number> {
  const child = spawn(process.execPath, ['-e', '']);
  await once(child, 'close');
  return child.pid as number;
}

/** Files in memory, where each call takes a while. */
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
            // Who writes to a file that was removed writes to no one.
            if (files.has(path)) files.set(path, Buffer.from(bytes).toString());
            return { bytesWritten: bytes.length };
          }),
        close: () => slowly(() => {}),
      };
    });
  const readFile = (path: string) => slowly(() => files.get(path) ?? fail('ENOENT'));
  const unlink = (path: string) =>
    slowly(() => {
      if (!files.delete(path)) fail('ENOENT');
    });
  return { open, readFile, unlink } as unknown as FileSystem;
}

describe('a lock', () => {
  it('is held by one at a time, also within a process', async () => {
    const folder = await temporaryFolder();
    const first = await lock(folder);
    const second = lock(folder);
    await expect(second).rejects.toThrow(StorageError);
    await expect(second).rejects.toThrow(`process ${process.pid}. Wait for its end`);
    await first.release();
    await (await lock(folder)).release();
    expect(await readdir(folder)).toEqual([]);
  });

  it('goes to exactly one of many that come at once', async () => {
    const folder = await temporaryFolder();
    await writeFile(
      `${folder}/run.lock`,
      JSON.stringify({ pid: await deadProcess(), host: os.hostname(), token: 'x' }),
    );
    const all = await Promise.allSettled(Array.from({ length: 20 }, () => lock(folder)));
    expect(all.filter(one => one.status === 'fulfilled').length).toBe(1);
  });

  it('is never held by two, however their calls fall between each other, also of killed processes', async () => {
    const dead = { pid: await deadProcess(), host: os.hostname() };
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
                const lock = await takeLock(fs, 'run.lock');
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
      { numRuns: 300 },
    );
  }, 60_000);

  it('is taken over from a dead process', async () => {
    const folder = await temporaryFolder();
    await writeFile(
      `${folder}/run.lock`,
      JSON.stringify({ pid: await deadProcess(), host: os.hostname(), token: 'x' }),
    );
    const taken = await lock(folder);
    expect(JSON.parse(await readFile(`${folder}/run.lock`, 'utf8'))).toMatchObject({
      pid: process.pid,
    });
    await taken.release();
    expect(await readdir(folder)).toEqual([]);
  });

  it('is taken over from a process whose number was given to another', async () => {
    const folder = await temporaryFolder();
    const other = { host: os.hostname(), started: '1', token: 'x' };
    await writeFile(`${folder}/run.lock`, JSON.stringify({ ...other, pid: process.ppid }));
    if (process.platform === 'linux') await (await lock(folder)).release();
    await writeFile(`${folder}/run.lock`, JSON.stringify({ ...other, pid: process.pid }));
    await (await lock(folder)).release();
  });

  it('is left to a process that lives', async () => {
    const folder = await temporaryFolder();
    const child = spawn(process.execPath, ['-e', 'setInterval(() => {}, 1000)']);
    try {
      await writeFile(
        `${folder}/run.lock`,
        JSON.stringify({ pid: child.pid, host: os.hostname(), token: 'x' }),
      );
      await expect(lock(folder)).rejects.toThrow(`process ${child.pid}`);
    } finally {
      child.kill('SIGKILL');
    }
  });

  it('is left to another machine, of whose processes nothing is known', async () => {
    const folder = await temporaryFolder();
    await writeFile(
      `${folder}/run.lock`,
      JSON.stringify({ pid: 1, host: 'elsewhere', token: 'x' }),
    );
    await expect(lock(folder)).rejects.toThrow('process 1 on elsewhere');
  });

  it.each(['', '{"pi', 'null', '{}'])('is taken over when it holds no name (%j)', async text => {
    const folder = await temporaryFolder();
    await writeFile(`${folder}/run.lock`, text);
    await (await lock(folder)).release();
    expect(await readdir(folder)).toEqual([]);
  });
});
