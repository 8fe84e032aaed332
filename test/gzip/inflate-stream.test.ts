import { gzipSync } from 'node:zlib';
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { DataError } from '../../src/base/errors.js';
import { GzipDecoder, type GzipDecoderOptions } from '../../src/gzip/inflate-stream.js';
import { cutAt, cuts } from '../json/cut.js';

const OPTIONS = { plain: 'refuse', maxBytes: 1e6, origin: 'posts.gz' } as const;

function inflate(blocks: readonly Uint8Array[], options: Partial<GzipDecoderOptions> = {}) {
  const decoder = new GzipDecoder({ ...OPTIONS, ...options });
  const out: Buffer[] = [];
  try {
    for (const block of blocks)
      for (const some of decoder.push(Buffer.from(block))) out.push(...some);
    decoder.end();
  } catch (error) {
    expect(error).toBeInstanceOf(DataError);
    return { bytes: Buffer.concat(out), error: error as DataError };
  } finally {
    decoder.close();
  }
  return { bytes: Buffer.concat(out), error: undefined };
}

const member = fc.string({ maxLength: 60 }).map(text => Buffer.from(text.repeat(40)));
const file = fc
  .tuple(fc.array(member, { minLength: 1, maxLength: 3 }), fc.constantFrom(0, 1, 600))
  .map(([members, zeros]) => ({
    gzip: Buffer.concat([...members.map(one => gzipSync(one)), Buffer.alloc(zeros)]),
    plain: Buffer.concat(members),
  }));

describe('a gzip file decoded as its bytes arrive', () => {
  it('is inflated to the exact bytes, for any chunk sizes', () => {
    fc.assert(
      fc.property(
        file.chain(one => fc.tuple(fc.constant(one), cuts(one.gzip.length))),
        fc.integer({ min: 1, max: 100 }),
        ([{ gzip, plain }, places], step) => {
          expect(inflate(cutAt(gzip, places), { step })).toEqual({
            bytes: plain,
            error: undefined,
          });
        },
      ),
    );
  });

  it('causes an error if it is truncated, after all readable data is delivered', () => {
    const plain = Buffer.from('a line of a file\n'.repeat(50));
    const gzip = gzipSync(plain);
    for (let length = 0; length < gzip.length; length++) {
      const { bytes, error } = inflate([gzip.subarray(0, length)]);
      expect(error?.message).toContain('cut short');
      expect(error?.position.origin).toBe('posts.gz');
      expect(bytes.equals(plain.subarray(0, bytes.length))).toBe(true);
    }
  });

  it('causes an error with the position of the bytes that follow its end', () => {
    const gzip = gzipSync('content');
    const { bytes, error } = inflate([gzip, Buffer.from('\0\0x')]);
    expect(String(bytes)).toBe('content');
    expect(error?.message).toContain('something follows the end of the data');
    expect(error?.position.byteOffset).toBe(gzip.length + 2);
  });

  it('may inflate to exactly `maxBytes`, but causes an error beyond that', () => {
    const gzip = gzipSync('x'.repeat(1_000));
    expect(inflate([gzip], { maxBytes: 1_000 }).error).toBeUndefined();
    expect(inflate([gzip], { maxBytes: 999 }).error?.message).toContain('more than 999 bytes');
  });
});

describe('a file that is not gzip', () => {
  it('causes an error with advice', () => {
    expect(inflate([Buffer.from('{"id":1}')]).error?.message).toContain('This is not gzip');
  });

  it("passes unchanged with `plain: 'pass'`", () => {
    const blocks = [Buffer.from('{"id"'), Buffer.from(':1}')];
    expect(String(inflate(blocks, { plain: 'pass' }).bytes)).toBe('{"id":1}');
  });

  it("causes an error beyond `maxBytes` even with `plain: 'pass'`", () => {
    const blocks = [Buffer.alloc(600, 'x'), Buffer.alloc(600, 'x')];
    const { bytes, error } = inflate(blocks, { plain: 'pass', maxBytes: 1_000 });
    expect(bytes).toHaveLength(600);
    expect(error?.message).toContain('more than 1000 bytes');
  });

  it("may be empty only with `plain: 'pass'`", () => {
    expect(inflate([], { plain: 'pass' }).error).toBeUndefined();
    expect(inflate([]).error?.message).toContain('cut short');
  });
});
