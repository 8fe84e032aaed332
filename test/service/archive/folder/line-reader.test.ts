import { rename, stat, utimes, writeFile } from 'node:fs/promises';
import path from 'node:path';
import { gzipSync } from 'node:zlib';
import { beforeEach, describe, expect, it, vi } from 'vitest';
import { StorageError } from '../../../../src/base/errors.js';
import { compressBlock } from '../../../../src/gzip/compression.js';
import { nodeZstd } from '../../../../src/gzip/zstd.js';
import {
  type IndexedFile,
  LineReader,
} from '../../../../src/service/archive/folder/line-reader.js';
import { temporaryFolder } from '../../../temporary-folder.js';

vi.mock('node:zlib', async original => {
  const { zlibWithZstd } = await import('../../../gzip/zstd-stand-in.js');
  return zlibWithZstd(await original<typeof import('node:zlib')>());
});

let folder: string;
beforeEach(async () => {
  folder = await temporaryFolder();
});

/**
 * Creates the file and its reader. The reader's index contains the current size and modification
 * time of the file.
 */
async function readerOf(form: IndexedFile['form'], content: Buffer): Promise<LineReader> {
  const file = path.join(folder, 'a.json');
  await writeFile(file, content);
  const { size, mtimeMs } = await stat(file);
  const indexed = { path: 'a.json', bytes: size, modifiedMs: mtimeMs, form, textBytes: 8 };
  return new LineReader(folder, folder, [indexed]);
}

const text = Buffer.from('{"id":1}');
const zstdFrame = async (bytes: Buffer) =>
  (nodeZstd ? await compressBlock(bytes, { kind: 'zstd' }) : undefined) as Buffer;
const zstd = await zstdFrame(text);
const frames = Buffer.concat([
  await zstdFrame(text.subarray(0, 3)),
  await zstdFrame(text.subarray(3)),
]);
const within = { file: 0, offset: 0, bytes: 8 };
const beyond = { file: 0, offset: 6, bytes: 8 };

describe('LineReader', () => {
  it.each([
    ['plain', text],
    ['gzip', gzipSync(text)],
    ['zstd', zstd],
    ['zstd', frames],
  ] as const)('reads the lines of a %s file', async (form, content) => {
    const reader = await readerOf(form, content);
    expect(await reader.read([within])).toEqual([text]);
  });

  it.each([
    ['plain', text],
    ['gzip', gzipSync(text)],
    ['zstd', zstd],
  ] as const)(
    'reads the lines of a %s file again once the file is back, although a read failed in between',
    async (form, content) => {
      const reader = await readerOf(form, content);
      const file = path.join(folder, 'a.json');
      await rename(file, `${file}.away`);
      await expect(reader.read([within])).rejects.toThrow(StorageError);
      await rename(`${file}.away`, file);
      expect(await reader.read([within])).toEqual([text]);
    },
  );

  it.each([
    ['a shorter plain file', 'plain', text],
    ['a shorter gzip file', 'gzip', gzipSync(text)],
    ['a truncated gzip file', 'gzip', gzipSync(text).subarray(0, 12)],
    ['a shorter zstd file', 'zstd', zstd],
    ['a truncated zstd file', 'zstd', zstd.subarray(0, -1)],
    ['a damaged zstd file', 'zstd', Buffer.concat([zstd, text])],
  ] as const)(
    'rejects with the name of a file that has changed since it was indexed: %s',
    async (_, form, content) => {
      const reader = await readerOf(form, content);
      const error = await reader.read([beyond]).catch(error => error);
      expect(error).toBeInstanceOf(StorageError);
      expect(error.path).toBe(path.join(folder, 'a.json'));
      expect(error.message).toContain('has changed since it was indexed. Open the archive again');
    },
  );

  it('rejects with the name of a file that has changed to the same size since it was indexed', async () => {
    const reader = await readerOf('plain', text);
    const file = path.join(folder, 'a.json');
    await writeFile(file, '{"id":2}');
    await utimes(file, new Date(), new Date('2030-01-01'));
    await expect(reader.read([within])).rejects.toMatchObject({ code: 'ERR_STORAGE', path: file });
  });
});
