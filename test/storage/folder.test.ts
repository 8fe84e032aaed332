import { mkdir, stat, symlink, writeFile } from 'node:fs/promises';
import path from 'node:path';
import { describe, expect, it } from 'vitest';
import { nodeFileSystem } from '../../src/storage/file-system.js';
import { makeFolder, makeSyncedFolder, syncFolder } from '../../src/storage/folder.js';
import { temporaryFolder } from '../temporary-folder.js';
import { SimulatedDisk } from './simulated-disk.js';

describe('a folder that is made', () => {
  it('has all of its parents, which are returned from the nearest up to the root', async () => {
    const top = await temporaryFolder();
    const above = await makeFolder(`${top}/a/b/c`);
    expect((await stat(`${top}/a/b/c`)).isDirectory()).toBe(true);
    expect(above.slice(0, 3)).toEqual([`${top}/a/b`, `${top}/a`, top]);
    expect(above.at(-1)).toBe(path.parse(top).root);
    expect(await makeFolder(`${top}/a/b/c`)).toEqual(above);
  });

  it('may be made by several callers at a time', async () => {
    const top = await temporaryFolder();
    await Promise.all(Array.from({ length: 20 }, (_, n) => makeFolder(`${top}/a/b/c/${n % 3}`)));
    expect((await stat(`${top}/a/b/c/2`)).isDirectory()).toBe(true);
  });

  it('may be a link to a folder', async () => {
    const top = await temporaryFolder();
    await mkdir(`${top}/target`);
    await symlink('target', `${top}/link`);
    await makeFolder(`${top}/link/a`);
    expect((await stat(`${top}/target/a`)).isDirectory()).toBe(true);
  });

  it('is the error of the system where a file has its name, or that of a parent', async () => {
    const top = await temporaryFolder();
    await writeFile(`${top}/file`, '');
    await expect(makeFolder(`${top}/file`)).rejects.toThrow('EEXIST');
    await expect(makeFolder(`${top}/file/a`)).rejects.toThrow('ENOTDIR');
  });

  it('has the given mode, as well as each parent that is made', async () => {
    const top = await temporaryFolder();
    await makeSyncedFolder(`${top}/a/b`, { mode: 0o700 });
    for (const name of ['a', 'a/b'])
      expect((await stat(`${top}/${name}`)).mode & 0o777).toBe(0o700);
  });

  it('is there after a power cut once it is synced', async () => {
    const disk = new SimulatedDisk();
    await makeSyncedFolder('/a/b/c', { fs: disk });
    disk.restart(() => 0.99);
    expect((await disk.lstat('/a/b/c')).isDirectory()).toBe(true);
  });
});

describe('a folder that cannot be synced', () => {
  it.each(['EACCES', 'EPERM', 'EROFS', 'EINVAL', 'ENOTSUP', 'EISDIR'])(
    'is left as it is where the file system refuses it with %s',
    async code => {
      const open = async () => {
        throw Object.assign(new Error(code), { code });
      };
      await syncFolder('/a', { ...nodeFileSystem, open });
    },
  );

  it('is an error where the disk fails', async () => {
    const open = async () => {
      throw Object.assign(new Error('EIO'), { code: 'EIO' });
    };
    await expect(syncFolder('/a', { ...nodeFileSystem, open })).rejects.toThrow('EIO');
  });
});
