import { mkdir, stat, symlink, writeFile } from 'node:fs/promises';
import path from 'node:path';
import { describe, expect, it } from 'vitest';
import { nodeFileSystem } from '../../src/storage/file-system.js';
import { makeFolder, makeSyncedFolder, syncFolder } from '../../src/storage/folder.js';
import { temporaryFolder } from '../temporary-folder.js';
import { SimulatedDisk } from './simulated-disk.js';

describe('makeFolder', () => {
  it('creates all missing parents, and returns them from the nearest to the root', async () => {
    const top = await temporaryFolder();
    const above = await makeFolder(`${top}/a/b/c`);
    expect((await stat(`${top}/a/b/c`)).isDirectory()).toBe(true);
    expect(above.slice(0, 3)).toEqual([`${top}/a/b`, `${top}/a`, top]);
    expect(above.at(-1)).toBe(path.parse(top).root);
    expect(await makeFolder(`${top}/a/b/c`)).toEqual(above);
  });

  it('may be called several times concurrently', async () => {
    const top = await temporaryFolder();
    await Promise.all(Array.from({ length: 20 }, (_, n) => makeFolder(`${top}/a/b/c/${n % 3}`)));
    expect((await stat(`${top}/a/b/c/2`)).isDirectory()).toBe(true);
  });

  it('accepts a symbolic link to a folder', async () => {
    const top = await temporaryFolder();
    await mkdir(`${top}/target`);
    await symlink('target', `${top}/link`);
    await makeFolder(`${top}/link/a`);
    expect((await stat(`${top}/target/a`)).isDirectory()).toBe(true);
  });

  it('rejects with the error of the system if a file has the same name', async () => {
    const top = await temporaryFolder();
    await writeFile(`${top}/file`, '');
    await expect(makeFolder(`${top}/file`)).rejects.toThrow('EEXIST');
    await expect(makeFolder(`${top}/file/a`)).rejects.toThrow('ENOTDIR');
  });

  it('sets the given mode on the folder and on each new parent', async () => {
    const top = await temporaryFolder();
    await makeSyncedFolder(`${top}/a/b`, { mode: 0o700 });
    for (const name of ['a', 'a/b'])
      expect((await stat(`${top}/${name}`)).mode & 0o777).toBe(0o700);
  });

  it('creates, with a sync, a folder that still exists after a power cut', async () => {
    const disk = new SimulatedDisk();
    await makeSyncedFolder('/a/b/c', { fs: disk });
    disk.restart(() => 0.99);
    expect((await disk.lstat('/a/b/c')).isDirectory()).toBe(true);
  });
});

describe('a folder that cannot be synced', () => {
  it.each(['EACCES', 'EPERM', 'EROFS', 'EINVAL', 'ENOTSUP', 'EISDIR'])(
    'causes no error if the file system refuses the sync with %s',
    async code => {
      const open = async () => {
        throw Object.assign(new Error(code), { code });
      };
      await syncFolder('/a', { ...nodeFileSystem, open });
    },
  );

  it('causes an error if the disk fails', async () => {
    const open = async () => {
      throw Object.assign(new Error('EIO'), { code: 'EIO' });
    };
    await expect(syncFolder('/a', { ...nodeFileSystem, open })).rejects.toThrow('EIO');
  });
});
