import fc from 'fast-check';
import { snappyUncompress } from 'hyparquet';
import { describe, expect, it } from 'vitest';
import { RowBlockBuilder, readPart } from '../../../src/tables/parquet/row-block.js';
import { ValueEncoder } from '../../../src/tables/parquet/value-encoder.js';

const encoder = new ValueEncoder();

function pageOf(texts: readonly string[]): { plain: Buffer; compressed: Buffer } {
  const builder = new RowBlockBuilder(['string']);
  for (const text of texts) builder.add([text]);
  encoder.begin('string', readPart(['string'], builder.take().parts[0]!));
  const pages: { plain: Buffer; compressed: Buffer }[] = [];
  encoder.pages(({ values }) => {
    pages.push({ plain: Buffer.from(values), compressed: Buffer.from(encoder.snappy(values)) });
  });
  return pages[0]!;
}

function uncompressed({ plain, compressed }: ReturnType<typeof pageOf>): Buffer {
  const output = new Uint8Array(plain.length);
  snappyUncompress(compressed, output);
  return Buffer.from(output);
}

const PIECE = fc.oneof(
  fc.string({ maxLength: 200, unit: 'binary-ascii' }),
  fc.string({ unit: fc.constantFrom('a', 'b', 'ab '), maxLength: 300 }),
);

describe('the Snappy encoder', () => {
  it('writes data with near and far repeats so that another implementation reads them', () => {
    fc.assert(
      fc.property(
        fc.array(PIECE, { minLength: 1, maxLength: 6 }),
        fc.array(fc.nat({ max: 5 }), { minLength: 1, maxLength: 400 }),
        (pieces, order) => {
          const page = pageOf(order.map(index => pieces[index % pieces.length]!));
          expect(uncompressed(page).equals(page.plain)).toBe(true);
        },
      ),
    );
  });

  // A page that contains one string is four bytes longer than the string.
  it.each([4, 5, 14, 15, 16, 59, 60, 61, 255, 256, 257, 65_535, 65_536, 70_000, 300_000])(
    'writes %i equal or different bytes so that another implementation reads them',
    length => {
      let random = '';
      let state = 1;
      while (random.length < length - 4) {
        state = (Math.imul(state, 1664525) + 1013904223) >>> 0;
        random += String.fromCharCode(state >>> 25);
      }
      const equal = pageOf(['x'.repeat(length - 4)]);
      for (const page of [equal, pageOf([random]), pageOf([random, random])])
        expect(uncompressed(page).equals(page.plain)).toBe(true);
      expect(equal.plain.length).toBe(length);
      expect(equal.compressed.length).toBeLessThan(20 + length / 16);
    },
  );
});
