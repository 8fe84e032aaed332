import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { Loan } from '../../src/gzip/shared-memory.js';

describe('a loan', () => {
  it('is freed once, when its maker is done and every part has come back, in any order', () => {
    fc.assert(
      fc.property(
        fc.integer({ min: 0, max: 10 }).chain(parts =>
          fc.record({
            parts: fc.constant(parts),
            // Who comes, again and again: the maker is the last number.
            callers: fc.array(fc.integer({ min: 0, max: parts }), { maxLength: 40 }),
          }),
        ),
        ({ parts, callers }) => {
          const memory = Buffer.allocUnsafeSlow(1000);
          const loan = new Loan(memory);
          const giveBack = Array.from({ length: parts }, () => loan.lend());
          const came = new Set<number>();
          for (const caller of callers) {
            if (caller < parts) giveBack[caller]!();
            else if (!came.has(parts)) loan.close();
            came.add(caller);
            expect(memory.length).toBe(came.size === parts + 1 ? 0 : 1000);
          }
        },
      ),
    );
  });
});
