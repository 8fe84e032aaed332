import { describe, expect, it } from 'vitest';
import { Buffers, MAX_BUFFER_BYTES } from '../../../src/sinks/write/format.js';

describe('the memory of the buffer pool of sinks', () => {
  it('is reused only after the buffer is returned', () => {
    const buffers = new Buffers();
    const first = buffers.take(MAX_BUFFER_BYTES);
    buffers.give(first.subarray(0, 10));
    buffers.give(Buffer.allocUnsafeSlow(MAX_BUFFER_BYTES));
    expect(buffers.take(MAX_BUFFER_BYTES).buffer).toBe(first.buffer);
    expect(buffers.take(MAX_BUFFER_BYTES).buffer).not.toBe(first.buffer);
  });
});
