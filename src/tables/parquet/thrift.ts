export class ByteWriter {
  length = 0;
  #bytes: Buffer;

  constructor(size = 256) {
    this.#bytes = Buffer.allocUnsafeSlow(size);
  }

  /** The bytes written so far. The result is valid until more bytes are written. */
  get bytes(): Buffer {
    return this.#bytes.subarray(0, this.length);
  }

  /** Reserves `size` bytes. Returns the whole memory. The caller must write its bytes at offset `length`. */
  reserve(size: number): Buffer {
    const needed = this.length + size;
    if (needed > this.#bytes.length) {
      const grown = Buffer.allocUnsafeSlow(Math.max(needed, 2 * this.#bytes.length));
      this.#bytes.copy(grown, 0, 0, this.length);
      this.#bytes = grown;
    }
    return this.#bytes;
  }

  byte(value: number): void {
    this.reserve(1)[this.length++] = value;
  }

  append(bytes: Uint8Array): void {
    this.reserve(bytes.length).set(bytes, this.length);
    this.length += bytes.length;
  }

  /** Writes a number below 2^53 in unsigned LEB128. */
  varint(value: number): void {
    const bytes = this.reserve(8);
    let rest = value;
    while (rest >= 0x80) {
      bytes[this.length++] = (rest % 0x80) | 0x80;
      rest = Math.floor(rest / 0x80);
    }
    bytes[this.length++] = rest;
  }
}

export type ThriftValue =
  | { readonly kind: 'i32' | 'i64'; readonly value: number }
  | { readonly kind: 'boolean'; readonly value: boolean }
  | { readonly kind: 'binary'; readonly value: Uint8Array }
  | { readonly kind: 'list'; readonly value: readonly ThriftValue[] }
  | { readonly kind: 'struct'; readonly value: ThriftStruct };

/** The values of a Thrift struct by field id, in ascending order. */
export type ThriftStruct = Readonly<Record<number, ThriftValue | undefined>>;

export const i32 = (value: number): ThriftValue => ({ kind: 'i32', value });
/** Creates a 64-bit field. The number must be below 2^52, because the encoding doubles it. */
export const i64 = (value: number): ThriftValue => ({ kind: 'i64', value });
export const boolean = (value: boolean): ThriftValue => ({ kind: 'boolean', value });
export const binary = (value: Uint8Array): ThriftValue => ({ kind: 'binary', value });
export const utf8 = (value: string): ThriftValue => binary(Buffer.from(value));
export const list = (value: readonly ThriftValue[]): ThriftValue => ({ kind: 'list', value });
export const struct = (value: ThriftStruct): ThriftValue => ({ kind: 'struct', value });

const TYPES = { i32: 5, i64: 6, binary: 8, list: 9, struct: 12 } as const;
const TRUE = 1;
const FALSE = 2;
const STOP = 0;

/** Encodes a struct in Thrift's compact protocol. */
export function printThrift(value: ThriftStruct): Buffer {
  const out = new ByteWriter();
  printStruct(out, value);
  return out.bytes;
}

function printStruct(out: ByteWriter, fields: ThriftStruct): void {
  let last = 0;
  for (const [key, value] of Object.entries(fields)) {
    if (value === undefined) continue;
    const id = Number(key);
    // The ids of successive fields in Parquet's structs differ by at most 15, so the short form is
    // sufficient.
    out.byte(((id - last) << 4) | typeOf(value));
    last = id;
    if (value.kind !== 'boolean') print(out, value);
  }
  out.byte(STOP);
}

function typeOf(value: ThriftValue): number {
  if (value.kind === 'boolean') return value.value ? TRUE : FALSE;
  return TYPES[value.kind];
}

function print(out: ByteWriter, one: ThriftValue): void {
  switch (one.kind) {
    case 'i32':
    case 'i64':
      out.varint(one.value < 0 ? -2 * one.value - 1 : 2 * one.value);
      break;
    case 'boolean':
      out.byte(typeOf(one));
      break;
    case 'binary':
      out.varint(one.value.length);
      out.append(one.value);
      break;
    case 'list': {
      const { length } = one.value;
      const type = length === 0 ? TYPES.struct : typeOf(one.value[0]!);
      out.byte((Math.min(length, 15) << 4) | type);
      if (length >= 15) out.varint(length);
      for (const element of one.value) print(out, element);
      break;
    }
    case 'struct':
      printStruct(out, one.value);
  }
}
