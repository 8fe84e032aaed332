import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { bufferOf, decodeUtf8 } from '../../src/json/decode-utf8.js';

describe('decodeUtf8', () => {
  it('gives the same as toString, for text and any other bytes', () => {
    const letter = fc.constantFrom(
      'a',
      '\n',
      '\u007f',
      '\u0080',
      'é',
      '\ufeff',
      '大',
      '😀',
      '\ud83d',
    );
    const bytes = fc.oneof(
      fc.string({ unit: letter }).map(text => Buffer.from(text)),
      fc.uint8Array({ maxLength: 40 }),
    );
    fc.assert(
      fc.property(bytes, input => {
        expect(decodeUtf8(input)).toBe(Buffer.from(input).toString());
      }),
      { numRuns: 500 },
    );
  });

  it('decodes only the bytes of a view into a larger buffer', () => {
    const whole = new Uint8Array([1, 2, 3, 4]);
    const view = bufferOf(whole.subarray(1, 3));
    expect([...view]).toEqual([2, 3]);
    expect(view.buffer).toBe(whole.buffer);
  });
});
