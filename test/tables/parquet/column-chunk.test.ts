import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { bySuite } from '../../suite.js';
import { written } from './written-column.js';

/**
 * Returns the index of the first difference, or -1. `toEqual` would take seconds for a million
 * values.
 */
function firstOther(values: readonly unknown[], expected: readonly unknown[]): number {
  const all = values.length >= expected.length ? values : expected;
  return all.findIndex((_, at) => values[at] !== expected[at]);
}

describe('a Parquet column chunk', () => {
  it.each([1, 2, 3, 5, 9, 17, 33, 65, 129, 257, 1_025, 4_097, 33_000, 70_000])(
    'has a dictionary if it contains %i repeated strings',
    async different => {
      const texts = Array.from({ length: different }, (_, n) => `a text with the number ${n}`);
      // Every third value is the same string. The encoder's sample therefore has many duplicates,
      // and it expects that a dictionary is worthwhile.
      const all = Array.from({ length: 6 * different + 3 }, (_, n) =>
        n % 3 === 0 ? 'the text of every third' : texts[(n * 7919) % different]!,
      );
      const { chunk, values } = await written('string', [
        all.slice(0, different),
        all.slice(different),
      ]);
      expect(firstOther(values, all)).toBe(-1);
      expect(chunk.hasDictionary).toBe(true);
      // The dictionary contains each string once. Each index has as few bits as possible.
      const texted = [...new Set(all)].reduce((sum, text) => sum + 4 + text.length, 0);
      const indexBytes = (all.length * (32 - Math.clz32(new Set(all).size - 1))) / 8;
      expect(chunk.plainBytes - texted).toBeLessThan(1.1 * indexBytes + 200);
    },
  );

  it('states an uncompressed size that includes the page headers', async () => {
    const { chunk } = await written('string', [['a', 'b'], ['c']], 'none');
    expect(chunk.plainBytes).toBe(chunk.length);
  });

  it('has no dictionary if most values differ, even if a sample of the values repeats', async () => {
    const ids = Array.from({ length: 3_000 }, (_, n) => `${1_500_000_000_000 + n * 7}`);
    const { chunk, values } = await written('string', [ids]);
    expect(values).toEqual(ids);
    expect(chunk.hasDictionary).toBe(false);
    // The sample of 1,000 values takes every second value, so it contains only the value that is
    // repeated.
    const hidden = Array.from({ length: 1_999 }, (_, n) =>
      n % 2 === 0 ? 'the same' : `other ${n}`,
    );
    const other = await written('string', [hidden]);
    expect(other.values).toEqual(hidden);
    expect(other.chunk.hasDictionary).toBe(false);
  });

  it('has a dictionary if the values differ only in the first or the last block', async () => {
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

  it('keeps strings apart that differ in one byte or in length', async () => {
    const base = 'abcdefghijk';
    const texts = [base, `${base}l`, base.slice(1), ''];
    for (let at = 0; at < base.length; at++)
      texts.push(`${base.slice(0, at)}_${base.slice(at + 1)}`);
    const all = Array.from({ length: 40 * texts.length }, (_, n) => texts[n % texts.length]!);
    const { chunk, values } = await written('string', [all]);
    expect(values).toEqual(all);
    expect(chunk.hasDictionary).toBe(true);
  });

  it('keeps strings apart that have the same hash', async () => {
    // There are so many strings that some of them have the same 32-bit hash.
    const different = 200_000;
    const all = Array.from({ length: 6 * different }, (_, n) => {
      const at = (n * 7919) % different;
      const text = (Math.imul(at, 0x2545f491) >>> 0).toString(16).padStart(8, '0');
      return n % 3 === 0 ? 'the text of every third' : text;
    });
    const { chunk, values } = await written('string', [all]);
    expect(chunk.hasDictionary).toBe(true);
    expect(firstOther(values, all)).toBe(-1);
  });

  it('has a dictionary only if the dictionary halves the size', async () => {
    const numbers = (different: number) => Array.from({ length: 1_200 }, (_, n) => n % different);
    // A plain value needs 4 bytes. For 200 values, a dictionary needs 800 bytes and indices of 8
    // bits. For 300 values, it needs 1,200 bytes and indices of 9 bits.
    expect((await written('int32', [numbers(200)])).chunk.hasDictionary).toBe(true);
    expect((await written('int32', [numbers(300)])).chunk.hasDictionary).toBe(false);
  });

  it('has one page per MiB of values, and more pages for many nulls', async () => {
    const texts = Array.from({ length: 3_000 }, (_, n) => `${n} `.padEnd(1_000, `${n * 31}`));
    const long = await written('string', [texts]);
    expect(long.values).toEqual(texts);
    expect(long.chunk.dataPages).toBe(3);
    const nulls = await written('string', [Array.from({ length: 2_200_000 }, () => null)]);
    expect(nulls.chunk.dataPages).toBe(3);
    const few = Array.from({ length: 800_000 }, (_, n) => (n % 3 === 0 ? 'one' : 'another'));
    const indexed = await written('string', [few]);
    expect(firstOther(indexed.values, few)).toBe(-1);
    expect(indexed.chunk.dataPages).toBe(3);
    const numbers = Array.from({ length: 300_000 }, (_, n) => n * 3);
    const plain = await written('int32', [numbers]);
    expect(firstOther(plain.values, numbers)).toBe(-1);
    expect(plain.chunk.dataPages).toBe(2);
  });

  it.each(['list<string>', 'list<double>'] as const)(
    'keeps every %s, including empty ones and nulls',
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
        { numRuns: bySuite(8, 30) },
      );
    },
  );
});
