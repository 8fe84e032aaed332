import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { csvRow } from '../../src/tables/csv-row.js';

describe('a row of CSV', () => {
  it('prints any time as toISOString does', () => {
    const time = fc.date({ noInvalidDate: true });
    fc.assert(
      fc.property(fc.array(time, { minLength: 1 }), times => {
        for (const one of times) expect(csvRow([one], false)).toBe(`${one.toISOString()}\r`);
      }),
    );
  });
});
