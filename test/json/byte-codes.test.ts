import { describe, expect, it } from 'vitest';
import { bufferOf } from '../../src/json/byte-codes.js';

describe('bufferOf', () => {
  it('returns only the bytes of a view, not of the larger buffer', () => {
    const whole = new Uint8Array([1, 2, 3, 4]);
    const view = bufferOf(whole.subarray(1, 3));
    expect([...view]).toEqual([2, 3]);
    expect(view.buffer).toBe(whole.buffer);
  });
});
