import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import {
  Buffers,
  type ByteChunks,
  type Encoder,
  linesFormat,
  MAX_BUFFER_BYTES,
} from '../../../src/sinks/write/format.js';

const anyLine = fc
  .oneof(
    { weight: 8, arbitrary: fc.nat({ max: 3_000 }) },
    { weight: 2, arbitrary: fc.nat({ max: 200_000 }) },
    { weight: 1, arbitrary: fc.nat({ max: 2 * MAX_BUFFER_BYTES }) },
  )
  .map(length => Buffer.alloc(length, 97 + (length % 26)));

function encoderOf(buffers: Buffers, isNew: boolean): Encoder<Uint8Array> {
  const format = linesFormat({ encode: (line: Buffer) => line, header: Buffer.from('header') });
  return format.encoder({ isNew, buffers });
}

describe('a line encoder', () => {
  it('returns all lines once and in order, and reports the size of its output', () => {
    fc.assert(
      fc.property(
        fc.array(fc.tuple(anyLine, fc.boolean()), { maxLength: 30 }),
        fc.boolean(),
        (lines, isNew) => {
          const buffers = new Buffers();
          const encoder = encoderOf(buffers, isNew);
          const blocks: Buffer[] = [];
          const flush = () => {
            const { size, heldBytes } = encoder;
            const [block = new Uint8Array()] = encoder.flush() as ByteChunks;
            if (size! > 0) expect(block.length).toBe(size);
            if (size! > 0) expect(buffers.memoryOf(block)).toBe(heldBytes);
            blocks.push(Buffer.from(block));
            // Gives the memory of the buffer back, so that it is used again. Later data must not
            // change the lines.
            buffers.give(block);
          };
          for (const [line, isFlushed] of lines) {
            encoder.add(line);
            if (isFlushed || encoder.full) flush();
          }
          flush();
          const header = isNew ? ['header'] : [];
          const expected = [...header, ...lines.map(([line]) => line)];
          expect(
            Buffer.concat(blocks).equals(Buffer.from(expected.map(l => `${l}\n`).join(''))),
          ).toBe(true);
        },
      ),
    );
  });

  it('reports that it is full before a line no longer fits into its largest buffer', () => {
    const buffers = new Buffers();
    const encoder = encoderOf(buffers, false);
    const line = Buffer.alloc(2_000);
    while (!encoder.full) encoder.add(line);
    expect(encoder.heldBytes).toBe(MAX_BUFFER_BYTES);
    expect(encoder.size).toBeGreaterThan(MAX_BUFFER_BYTES / 2);
  });
});
