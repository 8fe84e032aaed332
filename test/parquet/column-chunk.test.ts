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
      // Each text is in it once, and the indexes have as many bits as they need.
      const texted = [...new Set(all)].reduce((sum, text) => sum + 4 + text.length, 0);
      const indexBytes = (all.length * (32 - Math.clz32(new Set(all).size - 1))) / 8;
      expect(chunk.plainBytes - texted).toBeLessThan(1.1 * indexBytes + 200);
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

  it('has a dictionary where values differ only in the first or only in the last block', async () => {
    const different = Array.from({ length: 1_000 }, (_, n) => `a text with the number ${n}`);
    const same = Array.from({ length: 9 }, () => different.map(() => 'the same text'));
    for (const blocks of [
      [different, ...same],
      [...same, different],
    ]) {
      const { chunk, values } = await written('string', blocks);
      expect(values).toEqual(blocks.flat());
      expect(chunk.hasDictionary).toBe(true);
    }
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
    const indexed = await written('string', [few]);
    expect(indexed.values).toEqual(few);
    expect(indexed.chunk.dataPages).toBe(3);
    const numbers = Array.from({ length: 300_000 }, (_, n) => n * 3);
    const plain = await written('int32', [numbers]);
    expect(plain.values).toEqual(numbers);
    expect(plain.chunk.dataPages).toBe(2);
  });

  it.each([
    ['boolean', fc.boolean(), (value: boolean) => Buffer.of(value ? 1 : 0)],
    ['int32', fc.integer({ min: -(2 ** 31), max: 2 ** 31 - 1 }), int32],
    ['int64', fc.bigInt({ min: -(2n ** 63n), max: 2n ** 63n - 1n }), int64],
    ['double', fc.double({ noNaN: true }).filter(value => value !== 0), double],
    [
      'timestamp',
      fc.date({ noInvalidDate: true }),
      (value: Date) => int64(BigInt(value.getTime())),
    ],
  ] as const)(
    'has the least and the greatest %s of its blocks, and the number of nulls',
    async (type, value, bytesOf) => {
      const cells: fc.Arbitrary<RowValue> = fc.oneof(
        value as fc.Arbitrary<RowValue>,
        fc.constant(null),
      );
      await fc.assert(
        fc.asyncProperty(
          fc.array(fc.array(cells, { maxLength: 12 }), { minLength: 1, maxLength: 3 }),
          fc.integer({ min: 1, max: 30 }),
          async (blocks, times) => {
            const all = blocks.map(block => Array.from({ length: times }, () => block).flat());
            const { chunk, values } = await written(type, all);
            const given = all.flat();
            expect(values.map(String)).toEqual(given.map(readOf));
            const there = given.filter(cell => cell !== null);
            expect(chunk.statistics?.nulls).toBe(given.length - there.length);
            const ordered = there.sort((a, b) => (a < b ? -1 : a > b ? 1 : 0));
            const bounds = chunk.statistics?.bounds;
            expect(bounds && Buffer.from(bounds.min)).toEqual(
              ordered.length === 0 ? undefined : bytesOf(ordered[0] as never),
            );
            expect(bounds && Buffer.from(bounds.max)).toEqual(
              ordered.length === 0 ? undefined : bytesOf(ordered.at(-1) as never),
            );
          },
        ),
        { numRuns: 30 },
      );
    },
  );

  it('bounds doubles by both zeros', async () => {
    for (const zero of [0, -0]) {
      const { bounds } = (await written('double', [[zero]])).chunk.statistics!;
      expect(Buffer.from(bounds!.min)).toEqual(double(-0));
      expect(Buffer.from(bounds!.max)).toEqual(double(0));
    }
  });

  it('bounds texts in the order of their bytes, also where they begin alike or are long', async () => {
    const start = fc.constantFrom(
      '',
      'abcdefg',
      'abcdefgh',
      `x${'é'.repeat(31)}`,
      'x'.repeat(63),
      'x'.repeat(64),
    );
    const text = fc
      .tuple(start, fc.string({ unit: 'grapheme', maxLength: 4 }))
      .map(parts => parts.join(''));
    await fc.assert(
      fc.asyncProperty(
        fc.array(fc.array(text, { minLength: 1, maxLength: 8 }), { minLength: 1, maxLength: 3 }),
        async blocks => {
          const { chunk } = await written('string', blocks);
          const ordered = blocks
            .flat()
            .map(one => Buffer.from(one))
            .sort(Buffer.compare);
          const { min, max, isMinExact, isMaxExact } = chunk.statistics!.bounds!;
          const [first, last] = [ordered[0]!, ordered.at(-1)!];
          expect(first.subarray(0, min.length)).toEqual(Buffer.from(min));
          expect(isMinExact).toBe(first.length <= 64);
          expect(min.length).toBeGreaterThan(Math.min(first.length, 64) - 4);
          expect(isMaxExact).toBe(last.length <= 64);
          if (isMaxExact) expect(Buffer.from(max)).toEqual(last);
          else expect(Buffer.compare(Buffer.from(max), last)).toBe(1);
        },
      ),
    );
  });

  it.each(['list<string>', 'list<double>'] as const)(
    'has each %s, empty ones and nulls',
    async type => {
      const element = type === 'list<string>' ? fc.string() : fc.double({ noNaN: true });
      await fc.assert(
        fc.asyncProperty(
          fc.array(fc.oneof(fc.constant(null), fc.array(element as fc.Arbitrary<string>)), {
            minLength: 1,
          }),
          async lists => {
            const { chunk, values } = await written(type, [lists, lists]);
            expect(values.map(list => list ?? null)).toEqual([...lists, ...lists]);
            expect(chunk.statistics).toBeUndefined();
          },
        ),
        { numRuns: 30 },
      );
    },
  );
});

function int32(value: number): Buffer {
  return Buffer.from(Int32Array.of(value).buffer);
}

function int64(value: bigint): Buffer {
  return Buffer.from(BigInt64Array.of(value).buffer);
}

function double(value: number): Buffer {
  return Buffer.from(Float64Array.of(value).buffer);
}

function readOf(cell: RowValue): string {
  return String(cell);
}
