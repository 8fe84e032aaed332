import { chmod, readdir, readFile, readlink, stat, symlink, writeFile } from 'node:fs/promises';
import { describe, expect, it } from 'vitest';
import { StorageError } from '../../src/base/errors.js';
import { replaceFile, replaceFileOn } from '../../src/storage/replace-file.js';
import { bySuite } from '../suite.js';
import { temporaryFolder } from '../temporary-folder.js';
import { PowerCut, SimulatedDisk } from './simulated-disk.js';

describe('replaceFile', () => {
  it('writes the new content, and leaves no temporary file', async () => {
    const folder = await temporaryFolder();
    for (const content of ['first', Buffer.from('second')]) {
      await replaceFile(`${folder}/file`, content);
      expect(await readFile(`${folder}/file`, 'utf8')).toBe(String(content));
    }
    expect(await readdir(folder)).toEqual(['file']);
  });

  it('writes the content that a function produces, and returns its result', async () => {
    const folder = await temporaryFolder();
    const result = await replaceFile(`${folder}/file`, async aside => {
      await aside.write('written');
      return 7;
    });
    expect(result).toBe(7);
    expect(await readFile(`${folder}/file`, 'utf8')).toBe('written');
  });

  it('leaves the file unchanged if the function throws', async () => {
    const folder = await temporaryFolder();
    await writeFile(`${folder}/file`, 'old');
    const replacing = replaceFile(`${folder}/file`, async aside => {
      await aside.write('half');
      throw new Error('failed');
    });
    await expect(replacing).rejects.toThrow('failed');
    expect(await readFile(`${folder}/file`, 'utf8')).toBe('old');
    expect(await readdir(folder)).toEqual(['file']);
  });

  it('sets the given mode, whatever the old mode was', async () => {
    const folder = await temporaryFolder();
    await writeFile(`${folder}/file`, 'old');
    await chmod(`${folder}/file`, 0o644);
    await replaceFile(`${folder}/file`, 'new', { mode: 0o600 });
    expect((await stat(`${folder}/file`)).mode & 0o777).toBe(0o600);
  });

  it.each(['exists', 'appears during the write'])('rejects if a symbolic link %s', async when => {
    const folder = await temporaryFolder();
    await writeFile(`${folder}/target`, 'old');
    const link = () => symlink('target', `${folder}/link`);
    if (when === 'exists') await link();
    let called = false;
    const replacing = replaceFile(`${folder}/link`, async aside => {
      called = true;
      if (when !== 'exists') await link();
      await aside.write('new');
    });
    await expect(replacing).rejects.toThrow(StorageError);
    expect(called).toBe(when !== 'exists');
    expect(await readlink(`${folder}/link`)).toBe('target');
    expect(await readFile(`${folder}/target`, 'utf8')).toBe('old');
    expect((await readdir(folder)).sort()).toEqual(['link', 'target']);
  });

  it('leaves either the old or the new file after a power cut at any call', async () => {
    const seen = new Set<string>();
    for (let seed = 0; seed < bySuite(5, 50); seed++)
      for (let cutAt = 1; ; cutAt++) {
        const disk = new SimulatedDisk();
        await replaceFileOn(disk, '/file', 'old');
        disk.cutAt = cutAt;
        const isCut = await replaceFileOn(disk, '/file', 'the new content').then(
          () => false,
          error => {
            if (!(error instanceof PowerCut)) throw error;
            return true;
          },
        );
        disk.restart(() => (seed * 0.618) % 1);
        const content = String(disk.read('/file'));
        seen.add(content);
        expect(isCut ? ['old', 'the new content'] : ['the new content']).toContain(content);
        if (!isCut) break;
      }
    expect(seen.size).toBe(2);
  });
});
