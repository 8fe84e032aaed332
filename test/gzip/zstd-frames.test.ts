import * as zlib from 'node:zlib';
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { isZstd, nodeZstd, ZstdFrames } from '../../src/gzip/zstd.js';
import { cutAt } from '../json/cut.js';
import { unchecked } from '../unchecked.js';
import { bytes, frameOf, MAGIC, parts, SKIPPED } from './zstd-files.js';

function framesIn(pieces: readonly Buffer[]): Buffer[] {
  const frames = new ZstdFrames();
  const found: Buffer[] = [];
  let frame: Buffer[] = [];
  for (const piece of pieces)
    for (const part of frames.push(piece)) {
      frame.push(part.bytes);
      if (!part.ends) continue;
      found.push(Buffer.concat(frame));
      frame = [];
    }
  expect(frames.isComplete).toBe(frame.length === 0 && found.length > 0);
  return found;
}

describe('the frames of a zstd file', () => {
  it('are found without the skippable ones, for any chunk sizes', () => {
    fc.assert(
      fc.property(
        fc.array(fc.tuple(parts, fc.boolean()), { minLength: 1, maxLength: 4 }),
        fc.infiniteStream(fc.nat(2_000)),
        (files, places) => {
          const frames = files.map(([blocksOf]) => frameOf(blocksOf));
          const file = Buffer.concat(
            files.flatMap(([, skipped], index) => [...(skipped ? [SKIPPED] : []), frames[index]!]),
          );
          const cut = cutAt(
            file,
            [...places.take(8)].map(place => place % (file.length + 1)),
          );
          expect(framesIn(cut.map(piece => Buffer.from(piece)))).toEqual(frames);
        },
      ),
    );
  });

  it.skipIf(nodeZstd === undefined)(
    'are found in the output of the compressor, for any options in their headers',
    () => {
      const { zstdCompressSync, constants } = unchecked<{
        readonly zstdCompressSync: (input: Buffer, options: object) => Buffer;
        readonly constants: Record<string, number>;
      }>(zlib);
      fc.assert(
        fc.property(
          bytes(5_000),
          fc.boolean(),
          fc.boolean(),
          fc.nat(2),
          (content, sum, size, more) => {
            const frame = zstdCompressSync(
              Buffer.concat(Array.from({ length: 40 ** more }, () => content)),
              {
                params: {
                  [constants.ZSTD_c_checksumFlag as number]: sum ? 1 : 0,
                  [constants.ZSTD_c_contentSizeFlag as number]: size ? 1 : 0,
                },
              },
            );
            expect(framesIn([Buffer.concat([frame, frame])])).toEqual([frame, frame]);
          },
        ),
      );
    },
  );

  it.each([1, 2, 3])(
    'are incomplete if the file ends %i bytes into the magic number of a later frame',
    length => {
      const frames = new ZstdFrames();
      const frame = frameOf([{ bytes: Buffer.from('content'), repeat: false }]);
      for (const _ of frames.push(Buffer.concat([frame, MAGIC.subarray(0, length)])));
      expect(frames.isComplete).toBe(false);
    },
  );

  it('are recognized by their first four bytes', () => {
    expect(isZstd(MAGIC)).toBe(true);
    expect(isZstd(SKIPPED)).toBe(true);
    for (const length of [0, 1, 2, 3]) expect(isZstd(MAGIC.subarray(0, length))).toBeUndefined();
    for (const text of ['{', '(', '((((', 'PK\x03\x04', '\x1f\x8b'])
      expect(isZstd(Buffer.from(text, 'latin1')) ?? false).toBe(false);
  });
});
