import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import type { RowValue } from '../../../src/tables/column.js';
import { bySuite } from '../../suite.js';
import { written } from './written-column.js';

describe('the statistics of a Parquet column chunk', () => {
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
    'contain the smallest and the largest %s, and the number of nulls',
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
            expect(values.map(String)).toEqual(given.map(String));
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
        { numRuns: bySuite(8, 30) },
      );
    },
  );

  it('contain -0 and 0 as the bounds if the only value is a zero', async () => {
    for (const zero of [0, -0]) {
      const { bounds } = (await written('double', [[zero]])).chunk.statistics!;
      expect(Buffer.from(bounds!.min)).toEqual(double(-0));
      expect(Buffer.from(bounds!.max)).toEqual(double(0));
    }
  });

  it('contain strings in byte order, even if the strings start alike or are long', async () => {
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

  it('contain truncated bounds of long strings that are valid UTF-8', async () => {
    const bounds = async (text: string) =>
      (await written('string', [[text]])).chunk.statistics!.bounds;
    expect(Buffer.from((await bounds(`${'x'.repeat(62)}a\x7f-`))!.max)).toEqual(
      Buffer.from(`${'x'.repeat(62)}b`),
    );
    expect(await bounds('\x7f'.repeat(65))).toBeUndefined();
  });
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
