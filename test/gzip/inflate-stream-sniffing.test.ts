import { gzipSync } from 'node:zlib';
import { describe, expect, it } from 'vitest';
import { DataError } from '../../src/base/errors.js';
import { SniffingDecoder } from '../../src/gzip/inflate-stream.js';
import { nodeZstd } from '../../src/gzip/zstd.js';

const TEXT = Buffer.from('{"id":1}\n'.repeat(20));

async function inflate(bytes: Uint8Array, blockBytes: number, plain: 'refuse' | 'pass' = 'refuse') {
  const decoder = new SniffingDecoder({ plain, maxBytes: 1e6, origin: 'posts' });
  const out: Buffer[] = [];
  try {
    for (let at = 0; at < bytes.length; at += blockBytes)
      for await (const blocks of decoder.push(Buffer.from(bytes.subarray(at, at + blockBytes))))
        out.push(...blocks);
    for (const blocks of decoder.end()) out.push(...blocks);
  } finally {
    decoder.close();
  }
  return String(Buffer.concat(out));
}

describe.each([1, 2, 3, 4, 5, 1_000])('a file read in blocks of %i bytes', blockBytes => {
  it('is recognized as gzip by its first bytes', async () => {
    expect(await inflate(gzipSync(TEXT), blockBytes)).toBe(String(TEXT));
  });

  it.skipIf(nodeZstd === undefined)('is recognized as zstd by its first bytes', async () => {
    expect(await inflate(nodeZstd!.zstdCompressSync(TEXT), blockBytes)).toBe(String(TEXT));
  });

  it("passes unchanged with `plain: 'pass'` if it is neither gzip nor zstd", async () => {
    for (const length of [0, 1, 2, 3, 4, TEXT.length]) {
      const plain = TEXT.subarray(0, length);
      expect(await inflate(plain, blockBytes, 'pass')).toBe(String(plain));
    }
  });

  it("passes unchanged with `plain: 'pass'` if only its first bytes are those of zstd", async () => {
    const start = Buffer.of(0x28, 0xb5, 0x2f);
    expect(await inflate(start, blockBytes, 'pass')).toBe(String(start));
  });

  it("causes an error without `plain: 'pass'` if it is neither gzip nor zstd", async () => {
    await expect(inflate(TEXT, blockBytes)).rejects.toThrow(DataError);
    await expect(inflate(TEXT.subarray(0, 1), blockBytes)).rejects.toThrow('This is not gzip');
  });
});
