import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { bySuite } from '../../suite.js';
import { written } from './written-column.js';

describe('the pages of a Parquet column', () => {
  it.each(['snappy', 'gzip', 'none'] as const)(
    'are the same after compression and decompression with %s, with few and many values',
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
        { numRuns: bySuite(8, 30) },
      );
    },
  );
});
