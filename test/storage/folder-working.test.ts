import { readFile } from 'node:fs/promises';
import path from 'node:path';
import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest';
import { StorageError } from '../../src/base/errors.js';
import { nodeFileSystem } from '../../src/storage/file-system.js';
import { absolutePath, fileSystemIn } from '../../src/storage/folder.js';
import { temporaryFolder } from '../temporary-folder.js';

afterEach(() => vi.restoreAllMocks());

it('absolutePath resolves a relative path from the working folder, and only normalizes an absolute one', () => {
  expect(absolutePath('out/../a')).toBe(path.join(process.cwd(), 'a'));
  expect(absolutePath('/out//./a/../b')).toBe('/out/b');
});

describe('if the working folder is deleted,', () => {
  beforeEach(() => {
    vi.spyOn(process, 'cwd').mockImplementation(() => {
      throw Object.assign(new Error('uv_cwd'), { code: 'ENOENT' });
    });
  });

  it('absolutePath throws a StorageError that names a relative path', () => {
    expect(() => absolutePath('out/a')).toThrow(StorageError);
    expect(() => absolutePath('out/a')).toThrow('Could not find out/a: the working folder');
  });

  it('absolutePath returns an absolute path unchanged', () => {
    expect(absolutePath('/out/a')).toBe('/out/a');
  });
});

it('fileSystemIn() resolves relative paths from its folder, whatever the working folder', async () => {
  const folder = await temporaryFolder();
  const fs = fileSystemIn(folder, nodeFileSystem);
  await fs.mkdir('a');
  const handle = await fs.open('a/old', 'w');
  await handle.write('content');
  await handle.close();
  await fs.rename('a/old', `${folder}/a/new`);
  expect((await fs.lstat('a/new')).size).toBe(7);
  expect(await fs.readFile('a/new', 'utf8')).toBe('content');
  expect(await readFile(`${folder}/a/new`, 'utf8')).toBe('content');
  await fs.unlink(`${folder}/a/new`);
  await expect(fs.lstat('a/new')).rejects.toThrow('ENOENT');
});
