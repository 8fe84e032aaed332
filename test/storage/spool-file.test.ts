import { readdir } from 'node:fs/promises';
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
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
