import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { readdir, readFile, writeFile } from 'node:fs/promises';
import os from 'node:os';
import { describe, expect, it } from 'vitest';
import { StorageError } from '../../src/errors.js';
import { nodeFileSystem } from '../../src/sinks/file-system.js';
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
