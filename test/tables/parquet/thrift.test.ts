import fc from 'fast-check';
import { expect, it } from 'vitest';
import {
  binary,
  boolean,
  i32,
  i64,
  list,
  printThrift,
  struct,
  type ThriftStruct,
  type ThriftValue,
} from '../../../src/tables/parquet/thrift.js';

class Reader {
  readonly #bytes: Buffer;
  at = 0;

  constructor(bytes: Buffer) {
    this.#bytes = bytes;
  }

  struct(): Record<number, unknown> {
    const fields: Record<number, unknown> = {};
    for (let id = 0; ; ) {
      const head = this.#bytes[this.at++]!;
      if (head === 0) return fields;
      id += head >> 4;
      fields[id] = this.#value(head & 15);
    }
  }

  #varint(): bigint {
    let value = 0n;
    for (let shift = 0n; ; shift += 7n) {
      const byte = this.#bytes[this.at++]!;
      value |= BigInt(byte & 0x7f) << shift;
      if (byte < 0x80) return value;
    }
  }

  #value(type: number): unknown {
    switch (type) {
      case 1:
      case 2:
        return type === 1;
      case 5:
      case 6: {
        const value = this.#varint();
        return Number(value & 1n ? -(value >> 1n) - 1n : value >> 1n);
      }
      case 8: {
        const length = Number(this.#varint());
        this.at += length;
        return this.#bytes.toString('hex', this.at - length, this.at);
      }
      case 9: {
        const head = this.#bytes[this.at++]!;
        const length = head >> 4 === 15 ? Number(this.#varint()) : head >> 4;
        // In a list, a boolean takes a whole byte.
        return Array.from({ length }, () =>
          (head & 15) <= 2 ? this.#bytes[this.at++] === 1 : this.#value(head & 15),
        );
      }
      case 12:
        return this.struct();
      default:
        throw new Error(`A type that Parquet does not use: ${type}`);
    }
  }
}

interface Printed {
  readonly value: ThriftValue;
  readonly read: unknown;
}

const scalars = {
  i32: fc.integer().map((value): Printed => ({ value: i32(value), read: value })),
  i64: fc
    .integer({ min: -(2 ** 52) + 1, max: 2 ** 52 - 1 })
    .map((value): Printed => ({ value: i64(value), read: value })),
  boolean: fc.boolean().map((value): Printed => ({ value: boolean(value), read: value })),
  binary: fc.uint8Array({ maxLength: 200 }).map(
    (value): Printed => ({
      value: binary(value),
      read: Buffer.from(value).toString('hex'),
    }),
  ),
};

const { root } = fc.letrec<{ root: { fields: ThriftStruct; read: unknown } }>(tie => {
  const within = tie('root').map(({ fields, read }): Printed => ({ value: struct(fields), read }));
  const kinds = [...Object.values(scalars), within];
  const one = fc.oneof({ depthSize: 'small' }, ...kinds);
  // All elements of a list have the same type.
  const lists = fc.oneof(
    { depthSize: 'small' },
    ...kinds.map(kind => fc.array(kind, { maxLength: 20 })),
  );
  const field = fc.oneof(
    one,
    lists.map(
      (elements): Printed => ({
        value: list(elements.map(({ value }) => value)),
        read: elements.map(({ read }) => read),
      }),
    ),
  );
  return {
    root: fc
      .array(fc.tuple(fc.integer({ min: 1, max: 15 }), fc.option(field)), { maxLength: 6 })
      .map(steps => {
        const fields: Record<number, ThriftValue | undefined> = {};
        const read: Record<number, unknown> = {};
        let id = 0;
        for (const [step, one] of steps) {
          id += step;
          // If a field is missing, the distance to the next field is larger. It may not fit in the
          // form that takes one byte.
          if (one === null) id -= step;
          else {
            fields[id] = one.value;
            read[id] = one.read;
          }
        }
        return { fields, read };
      }),
  };
});

it('a Thrift struct is the same after it is written and parsed, with nested lists and structs', () => {
  fc.assert(
    fc.property(root, ({ fields, read }) => {
      const bytes = printThrift(fields);
      const reader = new Reader(bytes);
      expect(reader.struct()).toEqual(read);
      expect(reader.at).toBe(bytes.length);
    }),
  );
});

it('an undefined Thrift field is omitted', () => {
  expect(printThrift({ 1: i32(1), 2: undefined, 3: i32(2) })).toEqual(
    printThrift({ 1: i32(1), 3: i32(2) }),
  );
});
