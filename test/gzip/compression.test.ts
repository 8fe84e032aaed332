import { execFileSync } from 'node:child_process';
import { gunzipSync } from 'node:zlib';
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { compressBlock, compressBlockSync } from '../../src/gzip/compression.js';
import { nodeZstd } from '../../src/gzip/zstd.js';
import { bySuite } from '../suite.js';

const block = fc.oneof(
  fc.uint8Array({ maxLength: 300 }),
  fc.string({ maxLength: 100 }).map(text => new Uint8Array(Buffer.from(text.repeat(500)))),
);
const join = (blocks: readonly Uint8Array[]) => Buffer.concat(blocks);

describe('blocks that are compressed separately', () => {
  const blocksAndLevel = [
    fc.array(block, { minLength: 1, maxLength: 4 }),
    fc.integer({ min: 0, max: 9 }),
  ] as const;

  it('form one valid gzip file, at any level', () => {
    fc.assert(
      fc.property(...blocksAndLevel, (blocks, level) => {
        const here = blocks.map(one => compressBlockSync(one, { kind: 'gzip', level }));
        expect(gunzipSync(join(here))).toEqual(join(blocks));
      }),
      { numRuns: bySuite(10, 40) },
    );
  });

  it('have the same bytes whether the main thread or the thread pool of Node compresses them', async () => {
    await fc.assert(
      fc.asyncProperty(...blocksAndLevel, async (blocks, level) => {
        const compression = { kind: 'gzip', level } as const;
        const here = blocks.map(one => compressBlockSync(one, compression));
        const inPool = await Promise.all(blocks.map(one => compressBlock(one, compression)));
        expect(inPool.map(one => Buffer.from(one))).toEqual(here.map(one => Buffer.from(one)));
      }),
      { numRuns: bySuite(10, 40) },
    );
  });

  it.skipIf(nodeZstd === undefined)('form one valid zstd file', async () => {
    await fc.assert(
      fc.asyncProperty(fc.array(block, { minLength: 1, maxLength: 4 }), async blocks => {
        const here = blocks.map(one => compressBlockSync(one, { kind: 'zstd' }));
        const inPool = await Promise.all(blocks.map(one => compressBlock(one, { kind: 'zstd' })));
        for (const frames of [here, inPool])
          expect(join(frames.map(frame => nodeZstd!.zstdDecompressSync(frame)))).toEqual(
            join(blocks),
          );
      }),
      { numRuns: bySuite(10, 40) },
    );
  });

  it.skipIf(nodeZstd === undefined)('have a zstd checksum, which detects a changed byte', () => {
    const frame = compressBlockSync(Buffer.from('content'), { kind: 'zstd' });
    frame[frame.length - 1]! ^= 1;
    expect(() => nodeZstd!.zstdDecompressSync(frame)).toThrow();
  });
});

it('the gzip command reads two concatenated blocks as one file, without a warning', () => {
  const blocks = ['first\n', 'second\n'].map(text =>
    compressBlockSync(Buffer.from(text), { kind: 'gzip', level: 6 }),
  );
  expect(String(execFileSync('gzip', ['-dc'], { input: join(blocks) }))).toBe('first\nsecond\n');
});
