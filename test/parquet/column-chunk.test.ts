import fc from 'fast-check';
import { parquetReadObjects } from 'hyparquet';
import { compressors } from 'hyparquet-compressors';
import { describe, expect, it } from 'vitest';
import { encodeChunks } from '../../src/parquet/column-chunk.js';
import type { ParquetCompression } from '../../src/parquet/page-codec.js';
import { ParquetFile } from '../../src/parquet/parquet-file.js';
import { type RowBlock, RowBlockBuilder } from '../../src/parquet/row-block.js';
import type { ColumnType, RowValue } from '../../src/tables/column.js';

/** The chunk of one column of blocks, and what another implementation reads of it. */
async function written(
  type: ColumnType,
  blocks: readonly (readonly RowValue[])[],
  compression: ParquetCompression = 'snappy',
) {
  const made = blocks.map(values => blockOf(type, values));
  const chunks = encodeChunks(
    [type],
    made.map(({ parts }) => parts[0]!),
    compression,
  );
  const rows = made.reduce((sum, block) => sum + block.rows, 0);
  const file = new ParquetFile([{ name: 'value', type }], compression);
  const bytes = Buffer.concat([...file.rowGroup(rows, chunks), file.footer()]);
  const buffer = bytes.buffer.slice(bytes.byteOffset, bytes.byteOffset + bytes.length);
  const read = await parquetReadObjects({ file: buffer as ArrayBuffer, compressors });
  return { chunk: chunks[0]!, values: read.map(({ value }) => value) };
}

function blockOf(type: ColumnType, values: readonly RowValue[]): RowBlock {
  const builder = new RowBlockBuilder([type]);
  for (const value of values) builder.add([value]);
  return builder.take();
}

describe('a column chunk', () => {
  it.each([1, 2, 3, 5, 9, 17, 33, 65, 129, 257, 1_025, 4_097, 33_000, 70_000])(
    'has a dictionary of %i texts, each of which comes several times',
    async different => {
      const texts = Array.from({ length: different }, (_, n) => `a text with the number ${n}`);
      // The common one makes the sample, which meets few of the others twice, expect a dictionary.
      const all = Array.from({ length: 6 * different + 3 }, (_, n) =>
        n % 3 === 0 ? 'the text of every third' : texts[(n * 7919) % different]!,
      );
      const { chunk, values } = await written('string', [
        all.slice(0, different),
        all.slice(different),
      ]);
      expect(values).toEqual(all);
      expect(chunk.hasDictionary).toBe(true);
    },
  );

  it('has no dictionary where most values differ, also where a sample does not show it', async () => {
    const ids = Array.from({ length: 3_000 }, (_, n) => `${1_500_000_000_000 + n * 7}`);
    const { chunk, values } = await written('string', [ids]);
    expect(values).toEqual(ids);
    expect(chunk.hasDictionary).toBe(false);
    // The sample of 1,000 takes every second value: these are the same few.
    const hidden = Array.from({ length: 1_999 }, (_, n) =>
      n % 2 === 0 ? 'the same' : `other ${n}`,
    );
    const other = await written('string', [hidden]);
    expect(other.values).toEqual(hidden);
    expect(other.chunk.hasDictionary).toBe(false);
  });

  it('keeps apart texts that differ in one byte anywhere, or in length', async () => {
    const base = 'abcdefghijk';
    const texts = [base, `${base}l`, base.slice(1), ''];
    for (let at = 0; at < base.length; at++)
      texts.push(`${base.slice(0, at)}_${base.slice(at + 1)}`);
    const all = Array.from({ length: 40 * texts.length }, (_, n) => texts[n % texts.length]!);
    const { chunk, values } = await written('string', [all]);
    expect(values).toEqual(all);
    expect(chunk.hasDictionary).toBe(true);
  });

  it('keeps apart texts of the same hash', async () => {
    // Among this number of texts, some have the same hash of 32 bits.
    const different = 200_000;
    const all = Array.from({ length: 6 * different }, (_, n) => {
      const at = (n * 7919) % different;
      const text = (Math.imul(at, 0x2545f491) >>> 0).toString(16).padStart(8, '0');
      return n % 3 === 0 ? 'the text of every third' : text;
    });
    const { chunk, values } = await written('string', [all]);
    expect(chunk.hasDictionary).toBe(true);
    expect(values.findIndex((value, n) => value !== all[n])).toBe(-1);
  });

  it('has a dictionary only where it and the indexes take half of what the values take', async () => {
    const numbers = (different: number) => Array.from({ length: 1_200 }, (_, n) => n % different);
    // Four bytes a value: an index of 8 bits and 800 bytes, or of 9 bits and 1,200.
    expect((await written('int32', [numbers(200)])).chunk.hasDictionary).toBe(true);
    expect((await written('int32', [numbers(300)])).chunk.hasDictionary).toBe(false);
  });

  it.each(['snappy', 'gzip', 'none'] as const)(
    'is read back with %s, for few and for many values, in several pages',
    async compression => {
      await fc.assert(
        fc.asyncProperty(
          fc.array(fc.oneof(fc.constant(null), fc.string({ unit: 'grapheme' })), {
            minLength: 1,
            maxLength: 50,
          }),
          fc.integer({ min: 1, max: 30 }),
          async (values, times) => {
            const all = Array.from(
              { length: times * values.length },
              (_, n) => values[n % values.length]!,
            );
            expect((await written('string', [all, values], compression)).values).toEqual([
              ...all,
              ...values,
            ]);
          },
        ),
        { numRuns: 30 },
      );
    },
  );

  it('has a page for each mebibyte of its values, and more where they are nulls', async () => {
    const texts = Array.from({ length: 3_000 }, (_, n) => `${n} `.padEnd(1_000, `${n * 31}`));
    const long = await written('string', [texts]);
    expect(long.values).toEqual(texts);
    expect(long.chunk.dataPages).toBe(3);
    const nulls = await written('string', [Array.from({ length: 2_200_000 }, () => null)]);
    expect(nulls.chunk.dataPages).toBe(3);
    const few = Array.from({ length: 800_000 }, (_, n) => (n % 3 === 0 ? 'one' : 'another'));
    expect((await written('string', [few])).chunk.dataPages).toBe(3);
    const numbers = Array.from({ length: 300_000 }, (_, n) => n * 3);
    const plain = await written('int32', [numbers]);
    expect(plain.values).toEqual(numbers);
    expect(plain.chunk.dataPages).toBe(2);
  });
});
