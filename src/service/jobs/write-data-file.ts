import { createHash } from 'node:crypto';
import { createWriteStream } from 'node:fs';
import { mkdir, rename } from 'node:fs/promises';
import { dirname } from 'node:path';
import { Readable } from 'node:stream';
import { pipeline } from 'node:stream/promises';
import { createGzip } from 'node:zlib';

/** Bytes that go into the compressor at once. */
const BLOCK = 64 * 1024;

/** Compresses pieces into a file that is there whole or not at all, and tells what it became. */
export async function writeDataFile(
  path: string,
  pieces: Iterable<Uint8Array>,
  signal: AbortSignal,
): Promise<{ readonly bytes: number; readonly md5: string }> {
  await mkdir(dirname(path), { recursive: true });
  const aside = `${path}.part`;
  const hash = createHash('md5');
  let bytes = 0;
  await pipeline(
    Readable.from(blocksOf(pieces), { objectMode: false }),
    createGzip(),
    async function* (chunks: AsyncIterable<Buffer>) {
      for await (const chunk of chunks) {
        hash.update(chunk);
        bytes += chunk.length;
        yield chunk;
      }
    },
    createWriteStream(aside),
    { signal },
  );
  await rename(aside, path);
  return { bytes, md5: hash.digest('hex') };
}

function* blocksOf(pieces: Iterable<Uint8Array>): Generator<Buffer> {
  let block: Uint8Array[] = [];
  let bytes = 0;
  for (const piece of pieces) {
    block.push(piece);
    bytes += piece.byteLength;
    if (bytes < BLOCK) continue;
    yield Buffer.concat(block, bytes);
    block = [];
    bytes = 0;
  }
  if (bytes > 0) yield Buffer.concat(block, bytes);
}
