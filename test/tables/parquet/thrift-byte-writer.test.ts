import fc from 'fast-check';
import { expect, it } from 'vitest';
import { ByteWriter } from '../../../src/tables/parquet/thrift.js';

/** Encodes a number as unsigned LEB128, as Parquet defines it. */
function printVarint(value: number): number[] {
  let rest = BigInt(value);
  const bytes: number[] = [];
  do {
    const low = Number(rest & 0x7fn);
    rest >>= 7n;
    bytes.push(rest === 0n ? low : low | 0x80);
  } while (rest > 0n);
  return bytes;
}

it('ByteWriter keeps all bytes in order while its memory grows', () => {
  const piece = fc.oneof(
    fc.record({ byte: fc.nat(255) }),
    fc.record({ varint: fc.oneof(fc.nat(300), fc.maxSafeNat()) }),
    fc.record({ append: fc.uint8Array({ maxLength: 40 }) }),
  );
  fc.assert(
    fc.property(fc.array(piece), fc.nat(20), (pieces, size) => {
      const out = new ByteWriter(size);
      const expected: number[] = [];
      for (const one of pieces) {
        if ('byte' in one) out.byte(one.byte);
        else if ('varint' in one) out.varint(one.varint);
        else out.append(one.append);
        if ('byte' in one) expected.push(one.byte);
        else if ('varint' in one) expected.push(...printVarint(one.varint));
        else expected.push(...one.append);
      }
      expect([...out.bytes]).toEqual(expected);
    }),
  );
});

it('ByteWriter reserves memory after the written bytes', () => {
  const out = new ByteWriter(2);
  out.append(Buffer.from('ab'));
  const memory = out.reserve(1_000);
  expect(memory.length - out.length).toBeGreaterThanOrEqual(1_000);
  expect(memory.toString('latin1', 0, 2)).toBe('ab');
});
