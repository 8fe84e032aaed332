import fc from 'fast-check';

export const MAGIC = Buffer.from([0x28, 0xb5, 0x2f, 0xfd]);
export const SKIPPED = Buffer.from([0x5a, 0x2a, 0x4d, 0x18, 3, 0, 0, 0, 1, 2, 3]);

/**
 * Creates a zstd frame with a window of 1 KiB. Each of its blocks is stored uncompressed or repeats
 * one byte.
 */
export function frameOf(
  parts: readonly { readonly bytes: Buffer; readonly repeat: boolean }[],
): Buffer {
  const written = parts.map(({ bytes, repeat }, index) => {
    const isLast = index === parts.length - 1 ? 1 : 0;
    const isRepeated = repeat && bytes.length > 0;
    const header = Buffer.alloc(3);
    header.writeUIntLE((bytes.length << 3) | ((isRepeated ? 1 : 0) << 1) | isLast, 0, 3);
    return Buffer.concat([header, isRepeated ? bytes.subarray(0, 1) : bytes]);
  });
  return Buffer.concat([MAGIC, Buffer.from([0, 0]), ...written]);
}

export const contentOf = (parts: readonly { readonly bytes: Buffer; readonly repeat: boolean }[]) =>
  Buffer.concat(
    parts.map(({ bytes, repeat }) => (repeat ? Buffer.alloc(bytes.length, bytes[0]) : bytes)),
  );

export const bytes = (maxLength: number) =>
  fc.uint8Array({ maxLength }).map(array => Buffer.from(array));
export const parts = fc.array(fc.record({ bytes: bytes(200), repeat: fc.boolean() }), {
  minLength: 1,
  maxLength: 4,
});
