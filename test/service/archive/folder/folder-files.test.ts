import { readdir, utimes, writeFile } from 'node:fs/promises';
import path from 'node:path';
import { describe, expect, test } from 'vitest';
import { StorageError } from '../../../../src/base/errors.js';
import { files } from '../../../../src/sinks/files.js';
import { addFiles } from '../archive-folder.js';
import { folders, NOON, posts, prints, served } from './noon-posts.js';

describe('the files of an archive of a folder', () => {
  test('are the outputs of files() without its checkpoint', async () => {
    const all = posts(NOON, 10);
    const folder = await folders.make({});
    await files({ path: `${folder}/{day}.jsonl.gz`, checkpoint: `${folder}/checkpoint.json` })(
      (async function* () {
        yield* all;
      })(),
    );
    expect(await readdir(folder)).toContain('checkpoint.json');
    expect((await served(folder)).toSorted()).toEqual(prints(all).toSorted());
    const [index] = await readdir(path.join(folder, '.millrace-index'));
    // A run that resumes replaces its checkpoint. The posts stay the same, so the index must stay
    // valid.
    await utimes(path.join(folder, 'checkpoint.json'), 1, 1);
    await served(folder);
    expect(await readdir(path.join(folder, '.millrace-index'))).toEqual([index]);
    await addFiles(folder, { 'notes.json': '{\n  "version": 1\n}\n' });
    await expect(folders.open(folder)).rejects.toThrow('notes.json');
  });

  test.runIf(process.platform === 'linux')(
    'cause an error with the bytes of a name that is not UTF-8',
    async () => {
      const folder = await folders.make({});
      await writeFile(Buffer.from(`${folder}/caf\xe9.jsonl`, 'latin1'), '');
      await expect(folders.open(folder)).rejects.toThrow("is not UTF-8: $'caf\\xe9.jsonl'");
    },
  );

  test('cause an error if there are none or the folder does not exist', async () => {
    const folder = await folders.make({ 'readme.txt': 'hello' });
    await expect(folders.open(folder)).rejects.toBeInstanceOf(StorageError);
    await expect(folders.open(path.join(folder, 'nowhere'))).rejects.toBeInstanceOf(StorageError);
  });
});
