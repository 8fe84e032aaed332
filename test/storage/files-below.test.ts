import { mkdir, symlink, writeFile } from 'node:fs/promises';
import path from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { describe, expect, it } from 'vitest';
import { StorageError } from '../../src/base/errors.js';
import { filesBelow } from '../../src/storage/files-below.js';
import { temporaryFolder } from '../temporary-folder.js';

const all = { match: () => true };

async function made(...names: readonly string[]): Promise<string> {
  const folder = await temporaryFolder();
  for (const name of names) {
    await mkdir(path.dirname(path.join(folder, name)), { recursive: true });
    await writeFile(path.join(folder, name), '');
  }
  return folder;
}

describe('filesBelow', () => {
  it('lists files in order of path, without hidden files', async () => {
    const folder = await made('b', 'a/z', 'a-', 'é', '雪/x', '.c', '.d/e', 'a/.f');
    expect(await filesBelow(folder, all)).toEqual(['a-', 'a/z', 'b', 'é', '雪/x']);
    expect(await filesBelow(folder, { ...all, hiddenFolders: true })).toContain('.d/e');
  });

  it('distinguishes symbolic links from files, and does not enter linked folders', async () => {
    const folder = await made('a', 'b/c');
    await symlink(path.join(folder, 'a'), path.join(folder, 'to-file'));
    await symlink(folder, path.join(folder, 'b/round'));
    expect(await filesBelow(folder, all)).toEqual(['a', 'b/c', 'b/round', 'to-file']);
    const match = (_: string, isRegular: boolean) => isRegular;
    expect(await filesBelow(folder, { match })).toEqual(['a', 'b/c']);
  });

  it('rejects with the name of an unreadable folder', async () => {
    const folder = path.join(await temporaryFolder(), 'none');
    await expect(filesBelow(folder, all)).rejects.toThrow(
      expect.objectContaining({
        constructor: StorageError,
        message: expect.stringContaining(folder),
      }),
    );
  });

  it('causes no unhandled rejection if `match` throws in a folder and in a subfolder', async () => {
    const folder = await made('a/a', 'a/b/a', 'b');
    const unhandled: unknown[] = [];
    const onUnhandled = (error: unknown) => unhandled.push(error);
    process.on('unhandledRejection', onUnhandled);
    const match = (name: string) => {
      throw new Error(name);
    };
    await expect(filesBelow(folder, { match })).rejects.toThrow('b');
    await sleep(50);
    process.off('unhandledRejection', onUnhandled);
    expect(unhandled).toEqual([]);
  });

  it('lists a name that contains U+FFFD in valid UTF-8', async () => {
    expect(await filesBelow(await made('a\ufffd/b\ufffd'), all)).toEqual(['a\ufffd/b\ufffd']);
  });

  it.runIf(process.platform === 'linux')(
    'rejects with the bytes of a matching file name or a folder name that is not UTF-8',
    async () => {
      const folder = await made('a.txt');
      const latin = (name: string) => Buffer.from(`${folder}/${name}`, 'latin1');
      await writeFile(latin("caf\xe9's.json"), '');
      await expect(filesBelow(folder, all)).rejects.toThrow(
        `in ${folder} is not UTF-8: $'caf\\xe9\\x27s.json', in Windows-1252 "café's.json". Rename it`,
      );
      const match = (name: string) => !name.includes('caf');
      expect(await filesBelow(folder, { match })).toEqual(['a.txt']);
      await mkdir(latin('\xfcber'));
      expect(await filesBelow(folder, { match })).toEqual(['a.txt']);
      await writeFile(latin('\xfcber/b.json'), '');
      await expect(filesBelow(folder, { match })).rejects.toThrow("$'\\xfcber/b.json'");
    },
  );
});
