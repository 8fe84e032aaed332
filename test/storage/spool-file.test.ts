import { type FileHandle, open, readdir } from 'node:fs/promises';
import path from 'node:path';
import fc from 'fast-check';
import { describe, expect, it, vi } from 'vitest';
import { StorageError } from '../../src/base/errors.js';
import { SpoolFile } from '../../src/storage/spool-file.js';
import { bySuite } from '../suite.js';
import { temporaryFolder } from '../temporary-folder.js';

describe('SpoolFile', () => {
  it('returns the bytes that were written, in blocks of any size and from any position', async () => {
    const folder = await temporaryFolder();
    const chunk = fc.uint8Array({ maxLength: 50 }).map(bytes => Buffer.from(bytes));
    await fc.assert(
      fc.asyncProperty(
        fc.array(fc.array(chunk, { maxLength: 4 }), { maxLength: 5 }),
        fc.integer({ min: 1, max: 40 }),
        fc.nat(),
        fc.nat(),
        async (writes, blockBytes, from, length) => {
          const spool = await SpoolFile.open('a test', folder);
          try {
            for (const chunks of writes) await spool.write(chunks);
            const whole = Buffer.concat(writes.flat());
            const blocks: Buffer[] = [];
            for await (const block of spool.blocks(blockBytes)) blocks.push(block);
            expect(Buffer.concat(blocks)).toEqual(whole);
            expect(blocks.every(block => block.length <= blockBytes)).toBe(true);
            const start = from % (whole.length + 1);
            const size = length % (whole.length - start + 1);
            expect(await spool.read(start, size)).toEqual(whole.subarray(start, start + size));
          } finally {
            await spool.close();
          }
        },
      ),
      { numRuns: bySuite(13, 50) },
    );
  });

  it('has no name in its folder, so that a killed process leaves no file', async () => {
    const folder = await temporaryFolder();
    const spool = await SpoolFile.open('a test', folder);
    await spool.write([Buffer.from('content')]);
    expect(await readdir(folder)).toEqual([]);
    await spool.close();
  });

  it('writes the rest of its bytes if the disk accepts only some at first', async () => {
    const folder = await temporaryFolder();
    const probe = await open(path.join(folder, 'probe'), 'w');
    const writev = vi.spyOn(Object.getPrototypeOf(probe) as FileHandle, 'writev');
    await probe.close();
    writev.mockImplementation(async function (this: FileHandle, chunks, position) {
      const [first = new Uint8Array()] = chunks as readonly Uint8Array[];
      const { bytesWritten } = await this.write(first, 0, 2, position);
      return { bytesWritten, buffers: chunks };
    });
    try {
      const spool = await SpoolFile.open('a test', folder);
      await spool.write([Buffer.from('abc'), Buffer.from('def')]);
      await spool.write([Buffer.from('ghi')]);
      expect(String(await spool.read(0, 9))).toBe('abcdefghi');
      await spool.close();
    } finally {
      writev.mockRestore();
    }
  });

  it('rejects with a StorageError if the file is shorter than the requested range', async () => {
    const spool = await SpoolFile.open('a test', await temporaryFolder());
    await spool.write([Buffer.from('abc')]);
    const reading = spool.read(1, 3);
    await expect(reading).rejects.toThrow(StorageError);
    await expect(reading).rejects.toThrow('was truncated');
    await spool.close();
  });

  it('rejects with a StorageError that says what the file is for if the file cannot be created', async () => {
    const folder = `${await temporaryFolder()}/missing`;
    const opening = SpoolFile.open('the results', folder);
    await expect(opening).rejects.toThrow(StorageError);
    await expect(opening).rejects.toThrow('store the results in');
  });
});
