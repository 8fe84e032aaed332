import fc from 'fast-check';
import { snappyUncompress } from 'hyparquet';
import { describe, expect, it } from 'vitest';
import { snappy } from '../../src/parquet/snappy.js';

function uncompressed(compressed: Uint8Array, length: number): Buffer {
  const output = new Uint8Array(length);
  snappyUncompress(compressed, output);
  return Buffer.from(output);
}

const PIECE = fc.oneof(
  fc.uint8Array({ maxLength: 200 }),
  fc.string({ unit: fc.constantFrom('a', 'b', 'ab '), maxLength: 300 }).map(Buffer.from),
);

describe('snappy', () => {
  it('is read back by another implementation, with repeated pieces near and far', () => {
    fc.assert(
      fc.property(
        fc.array(PIECE, { minLength: 1, maxLength: 6 }),
        fc.array(fc.nat({ max: 5 }), { maxLength: 400 }),
        (pieces, order) => {
          const bytes = Buffer.concat(order.map(index => pieces[index % pieces.length]!));
          expect(uncompressed(snappy(bytes), bytes.length).equals(bytes)).toBe(true);
        },
      ),
    );
  });

  it.each([0, 1, 14, 15, 16, 59, 60, 61, 255, 256, 257, 65_535, 65_536, 70_000, 300_000])(
    'is read back where %i bytes are all equal, and where none are',
    length => {
      const random = Buffer.alloc(length);
      let state = 1;
      for (let at = 0; at < length; at++) {
        state = (Math.imul(state, 1664525) + 1013904223) >>> 0;
        random[at] = state >>> 24;
      }
      for (const bytes of [Buffer.alloc(length, 'x'), random, Buffer.concat([random, random])]) {
        const compressed = snappy(bytes);
        expect(uncompressed(compressed, bytes.length).equals(bytes)).toBe(true);
      }
      expect(snappy(Buffer.alloc(length, 'x')).length).toBeLessThan(20 + length / 16);
    },
  );
});
