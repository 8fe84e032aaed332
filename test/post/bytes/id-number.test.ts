import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { IdNumber } from '../../../src/post/bytes/id-number.js';

const number = new IdNumber();

/** The id that was read last. */
function value(): bigint {
  return (BigInt(number.high) << 32n) + BigInt(number.low);
}

const id = fc.oneof(
  fc.bigInt({ min: 1n, max: 2n ** 64n - 1n }),
  fc.bigInt({ min: 2n ** 32n - 2n, max: 2n ** 32n + 2n }),
  fc.bigInt({ min: 2n ** 53n - 2n, max: 2n ** 53n + 2n }),
  fc.bigInt({ min: 2n ** 64n - 3n, max: 2n ** 64n - 1n }),
);

describe('an id of 64 bits', () => {
  it('is read exactly from text', () => {
    fc.assert(
      fc.property(id, one => {
        expect(number.parse(String(one))).toBe(true);
        expect(value()).toBe(one);
      }),
    );
  });

  it('is read exactly from bytes, up to the first that is no digit', () => {
    fc.assert(
      fc.property(id, fc.constantFrom('', '"', ',1', ' ', '/', ':'), (one, rest) => {
        expect(number.parseDigits(Buffer.from(`[${one}${rest}`), 1)).toBe(true);
        expect(value()).toBe(one);
      }),
    );
  });
});

it.each(['', '0', '01', '-1', '+1', '1.0', ' 1', '1 ', '1e3', '18446744073709551616', '１'])(
  'the text %j is no id of 64 bits',
  text => {
    expect(number.parse(text)).toBe(false);
  },
);

it.each(['', '0', '01', '-1', 'x1', '18446744073709551616', '99999999999999999999999999'])(
  'the bytes of %j are no id of 64 bits',
  text => {
    expect(number.parseDigits(Buffer.from(text), 0)).toBe(false);
  },
);
