import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { CarryOver } from '../../src/json/records.js';

describe('CarryOver', () => {
  it('joins the parts of a record, even after the blocks that contained them are overwritten', () => {
    const chunk = fc.uint8Array({ maxLength: 9 }).map(bytes => Buffer.from(bytes));
    fc.assert(
      fc.property(fc.array(fc.tuple(fc.array(chunk), chunk)), records => {
        const carry = new CarryOver();
        for (const [chunks, last] of records) {
          const expected = Buffer.concat([...chunks, last]);
          for (const one of chunks) {
            carry.add(one);
            one.fill(0);
          }
          expect(carry.byteLength).toBe(expected.length - last.length);
          expect(carry.join(last)).toEqual(expected);
          expect(carry.byteLength).toBe(0);
        }
      }),
    );
  });

  it('does not copy a record that is in a single block', () => {
    const last = Buffer.from('record');
    expect(new CarryOver().join(last)).toBe(last);
  });
});
