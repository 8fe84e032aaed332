import { gzipSync } from 'node:zlib';
import fc from 'fast-check';
import { describe, expect, it, vi } from 'vitest';
import { compressBlockSync } from '../../src/gzip/compression.js';
import { inflateGzip, inflateWhole, inflateWholeHere } from '../../src/gzip/inflate-whole.js';
import { ZstdDecoder } from '../../src/gzip/zstd.js';
import { bySuite } from '../suite.js';

vi.mock('node:zlib', async original => {
  const { zlibWithZstd } = await import('./zstd-stand-in.js');
  return zlibWithZstd(await original<typeof import('node:zlib')>());
});

const zstd = (text: string | Buffer) =>
  Buffer.from(compressBlockSync(Buffer.from(text), { kind: 'zstd' }));
const SKIPPED = Buffer.from([0x5a, 0x2a, 0x4d, 0x18, 3, 0, 0, 0, 1, 2, 3]);

async function inBlocks(file: Buffer): Promise<Buffer | undefined> {
  const decoder = new ZstdDecoder({ origin: 'x', maxBytes: Number.POSITIVE_INFINITY });
  const blocks: Buffer[] = [];
  try {
    for await (const block of decoder.push(file)) blocks.push(block);
    decoder.end();
    return Buffer.concat(blocks);
  } catch {
    return undefined;
  } finally {
    decoder.close();
  }
}

async function inflated(file: Buffer, maxBytes = 1e6): Promise<Buffer | undefined> {
  const here = await inflateWholeHere(file, maxBytes);
  const inPool = await inflateWhole(file, maxBytes);
  expect(inPool?.equals(here ?? Buffer.of(1))).toBe(here === undefined ? undefined : true);
  return here;
}

describe('a zstd file inflated in one call', () => {
  const frame = fc.oneof(
    fc.uint8Array({ maxLength: 500 }).map(bytes => zstd(Buffer.from(bytes))),
    fc.constant(SKIPPED),
  );

  it('yields the same bytes as when it is decoded in blocks, or undefined, even if it is damaged', async () => {
    let whole = 0;
    await fc.assert(
      fc.asyncProperty(
        fc.array(frame, { minLength: 1, maxLength: 4 }),
        fc.option(fc.nat(), { freq: 2 }),
        fc.option(fc.tuple(fc.nat(), fc.nat(255)), { freq: 2 }),
        fc.constantFrom('', '', 'junk'),
        async (frames, cut, change, end) => {
          const file = Buffer.concat([...frames, Buffer.from(end)]);
          if (change !== null) file[change[0] % file.length] = change[1];
          const part = cut === null ? file : file.subarray(0, cut % (file.length + 1));
          const found = await inflated(part);
          // The file was not inflated as a whole, so there is nothing to compare.
          if (found === undefined) return;
          whole++;
          expect(found).toEqual(await inBlocks(part));
        },
      ),
      { numRuns: bySuite(50, 200) },
    );
    expect(whole).toBeGreaterThan(bySuite(5, 20));
  });

  it('is inflated if all its frames are complete', async () => {
    const texts = ['one', '', 'two'.repeat(100_000)];
    const file = Buffer.concat([SKIPPED, ...texts.map(zstd), SKIPPED]);
    expect(String(await inflated(file))).toBe(texts.join(''));
    const within = Buffer.concat([Buffer.from('before'), file, Buffer.from('after')]);
    expect(String(await inflated(within.subarray(6, 6 + file.length)))).toBe(texts.join(''));
  });

  it('is not inflated if its frames together exceed the limit', async () => {
    const file = Buffer.concat([zstd('x'.repeat(60)), zstd('x'.repeat(40))]);
    expect((await inflated(file, 100))?.length).toBe(100);
    expect(await inflated(file, 99)).toBeUndefined();
  });

  it('is inflated into a buffer that can be transferred', async () => {
    const content = (await inflated(zstd('short'))) as Buffer;
    expect(content.buffer.byteLength).toBe(5);
  });
});

it('inflateWhole inflates a gzip file, and returns an uncompressed file unchanged', async () => {
  expect(String(await inflated(gzipSync('a gzip file')))).toBe('a gzip file');
  expect(await inflated(Buffer.from('a plain file of more than twenty bytes'))).toBeUndefined();
});

it('inflateGzip does not inflate a gzip file with bytes after its end', async () => {
  const file = gzipSync('text');
  expect(String(await inflateGzip(file, 100))).toBe('text');
  expect(String(await inflateGzip(Buffer.concat([file, file]), 100))).toBe('texttext');
  expect(await inflateGzip(Buffer.concat([file, Buffer.alloc(8)]), 100)).toBeUndefined();
});

it('inflateGzip does not inflate a zstd file', async () => {
  expect(await inflateGzip(zstd('some text'.repeat(10)), 1_000)).toBeUndefined();
});
