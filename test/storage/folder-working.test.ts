import { readFile } from 'node:fs/promises';
import path from 'node:path';
import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest';
import { StorageError } from '../../src/base/errors.js';
import { nodeFileSystem } from '../../src/storage/file-system.js';
import { absolutePath, fileSystemIn } from '../../src/storage/folder.js';
import { temporaryFolder } from '../temporary-folder.js';

afterEach(() => vi.restoreAllMocks());

it('a relative path starts from the working folder, and an absolute path is only normalized', () => {
  expect(absolutePath('out/../a')).toBe(path.join(process.cwd(), 'a'));
  expect(absolutePath('/out//./a/../b')).toBe('/out/b');
});

describe('without a working folder', () => {
  beforeEach(() => {
    vi.spyOn(process, 'cwd').mockImplementation(() => {
      throw Object.assign(new Error('uv_cwd'), { code: 'ENOENT' });
    });
  });

  it('a relative path is a StorageError that names it', () => {
    expect(() => absolutePath('out/a')).toThrow(StorageError);
    expect(() => absolutePath('out/a')).toThrow('Could not find out/a: the working folder');
  });

  it('an absolute path stays unchanged', () => {
    expect(absolutePath('/out/a')).toBe('/out/a');
  });
});

it('a file system in a folder resolves relative paths there, in any working folder', async () => {
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
