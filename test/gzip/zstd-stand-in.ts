import { Transform, type TransformCallback } from 'node:stream';
import { decompressZstd } from 'hyparquet-compressors';

/** The size of blocks and of the window. 128 KiB is the largest block that zstd allows. */
const BLOCK = 128 * 1024;
const START = Buffer.from([0x28, 0xb5, 0x2f, 0xfd, 0, 7 << 3]);

function blocksOf(bytes: Buffer): Buffer[] {
  const blocks: Buffer[] = [];
  for (let at = 0; at < bytes.length; at += BLOCK)
    blocks.push(headerOf(Math.min(BLOCK, bytes.length - at)), bytes.subarray(at, at + BLOCK));
  return blocks;
}

function headerOf(length: number, isLast = false): Buffer {
  const header = Buffer.alloc(3);
  header.writeUIntLE((length << 3) | (isLast ? 1 : 0), 0, 3);
  return header;
}

function createZstdCompress(): Transform {
  let start = START;
  return new Transform({
    transform(bytes: Buffer, _encoding, done: TransformCallback) {
      done(null, Buffer.concat([start, ...blocksOf(bytes)]));
      start = Buffer.alloc(0);
    },
    flush: done => done(null, Buffer.concat([start, headerOf(0, true)])),
  });
}

function createZstdDecompress(): Transform {
  const frame: Buffer[] = [];
  return new Transform({
    transform(bytes: Buffer, _encoding, done) {
      frame.push(bytes);
      done();
    },
    flush: done => done(null, Buffer.from(decompressZstd(Buffer.concat(frame)))),
  });
}

/** Decodes only the first frame, like Node's function. */
function zstdDecompressSync(frame: Buffer, { maxOutputLength }: { maxOutputLength: number }) {
  const content = Buffer.from(decompressZstd(frame));
  if (content.length > maxOutputLength) throw new RangeError('ERR_BUFFER_TOO_LARGE');
  return content;
}

function zstdDecompress(
  frame: Buffer,
  options: { maxOutputLength: number },
  done: (error: unknown, content?: Buffer) => void,
): void {
  try {
    done(null, zstdDecompressSync(frame, options));
  } catch (error) {
    done(error);
  }
}

function zstdCompressSync(block: Buffer): Buffer {
  return Buffer.concat([START, ...blocksOf(block), headerOf(0, true)]);
}

function zstdCompress(
  block: Buffer,
  _options: object,
  done: (error: null, frame: Buffer) => void,
): void {
  done(null, zstdCompressSync(block));
}

/**
 * Returns `node:zlib` with zstd functions, even if this version of Node lacks them. The frames are
 * valid, but their blocks are not compressed. This is for tests of how the library uses zstd. Tests
 * of the format itself need the real functions.
 */
export function zlibWithZstd(zlib: typeof import('node:zlib')): object {
  if ('createZstdCompress' in zlib) return zlib;
  const constants = { ...zlib.constants, ZSTD_c_checksumFlag: 201 };
  const all = {
    ...zlib,
    createZstdCompress,
    createZstdDecompress,
    zstdCompress,
    zstdCompressSync,
    zstdDecompress,
    zstdDecompressSync,
    constants,
  };
  return { ...all, default: all };
}
