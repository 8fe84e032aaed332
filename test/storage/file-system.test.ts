import { execFileSync } from 'node:child_process';
import { mkdir, readFile, symlink, writeFile } from 'node:fs/promises';
import { describe, expect, it } from 'vitest';
import { StorageError } from '../../src/base/errors.js';
import {
  firstBytes,
  nodeFileSystem,
  openExisting,
  openNew,
  openToRead,
  regularStatus,
} from '../../src/storage/file-system.js';
import { LISTS_OPEN_FILES, openFilesBelow } from '../open-files.js';
import { temporaryFolder } from '../temporary-folder.js';

async function folderOfKinds(): Promise<string> {
  const folder = await temporaryFolder();
  await writeFile(`${folder}/file`, 'content');
  await symlink('file', `${folder}/link`);
  await symlink('nothing', `${folder}/broken`);
  await mkdir(`${folder}/folder`);
  execFileSync('mkfifo', [`${folder}/pipe`]);
  return folder;
}

describe('regularStatus', () => {
  it('returns the status of a regular file, or undefined if no file has the name', async () => {
    const folder = await folderOfKinds();
    expect((await regularStatus(nodeFileSystem, `${folder}/file`))?.size).toBe(7);
    expect(await regularStatus(nodeFileSystem, `${folder}/other`)).toBeUndefined();
  });

  it.each(['link', 'broken', 'folder', 'pipe'])(
    'rejects if the path is not a regular file (%s)',
    async name => {
      const folder = await folderOfKinds();
      const status = regularStatus(nodeFileSystem, `${folder}/${name}`);
      await expect(status).rejects.toThrow(StorageError);
      await expect(status).rejects.toThrow('is not a regular file');
    },
  );
});

describe('openToRead', () => {
  it('opens a file through a symbolic link', async () => {
    const handle = await openToRead(`${await folderOfKinds()}/link`);
    expect(await handle.readFile('utf8')).toBe('content');
    await handle.close();
  });

  it.each(['folder', 'pipe'])(
    'rejects without blocking if the path is not a regular file (%s)',
    async name => {
      await expect(openToRead(`${await folderOfKinds()}/${name}`)).rejects.toThrow(
        'is not a regular file',
      );
    },
  );

  it.skipIf(!LISTS_OPEN_FILES).each(['folder', 'pipe'])(
    'leaves nothing open if the path is not a regular file (%s)',
    async name => {
      const folder = await folderOfKinds();
      await expect(openToRead(`${folder}/${name}`)).rejects.toThrow(StorageError);
      expect(openFilesBelow(folder)).toEqual([]);
    },
  );
});

it.skipIf(!LISTS_OPEN_FILES)('firstBytes leaves its file closed', async () => {
  const folder = await folderOfKinds();
  expect(String(await firstBytes(`${folder}/file`, 4))).toBe('cont');
  expect(openFilesBelow(folder)).toEqual([]);
});

describe('openNew', () => {
  it('replaces a regular file of the same name', async () => {
    const folder = await folderOfKinds();
    const handle = await openNew(nodeFileSystem, `${folder}/file`);
    await handle.write('new');
    await handle.close();
    expect(await readFile(`${folder}/file`, 'utf8')).toBe('new');
  });

  it.each(['link', 'broken', 'folder', 'pipe'])(
    'rejects if the path exists but is not a regular file (%s)',
    async name => {
      const folder = await folderOfKinds();
      await expect(openNew(nodeFileSystem, `${folder}/${name}`)).rejects.toThrow(StorageError);
      expect(await readFile(`${folder}/file`, 'utf8')).toBe('content');
    },
  );
});

it.each(['link', 'broken', 'folder', 'pipe'])(
  'openExisting rejects if the path is not a regular file (%s)',
  async name => {
    await expect(openExisting(nodeFileSystem, `${await folderOfKinds()}/${name}`)).rejects.toThrow(
      StorageError,
    );
  },
);

it.each([
  [0, ''],
  [3, 'con'],
  [7, 'content'],
  [9, 'content'],
])('firstBytes, asked for %i bytes of a file, returns %j', async (count, text) => {
  expect(String(await firstBytes(`${await folderOfKinds()}/file`, count))).toBe(text);
});
