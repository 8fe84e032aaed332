import { createGunzip } from 'node:zlib';
import { DataError } from '../base/errors.js';

const CHUNK = 256 * 1024;
/** Bytes for one decoder call. Gzip expands up to 1,032 times, so at most 32 MiB wait to be read. */
const STEP = 32 * 1024;

/**
 * Inflates a file of one or more gzip members in the thread pool, as its bytes arrive: for downloads that
 * are too large for `inflateGzip`. Errors of the input pass through after the input is closed.
 *
 * @throws DataError Retryable, when the file is cut short, corrupt, empty, or has bytes after its end.
 */
export async function* inflateDownload(
  file: Iterable<Buffer> | AsyncIterable<Buffer>,
  origin: string,
): AsyncGenerator<Buffer, void, undefined> {
  const gunzip = createGunzip({ chunkSize: CHUNK });
  let blocks: Buffer[] = [];
  let failure: Error | undefined;
  let settle = () => {};
  gunzip.on('data', (block: Buffer) => blocks.push(block));
  gunzip.on('error', error => {
    failure = error;
    settle();
  });
  // A write that fails has no callback, so an error ends the wait too.
  const settled = (send: (done: () => void) => void) =>
    new Promise<void>(resolve => {
      settle = resolve;
      send(resolve);
    });
  const take = () => {
    const taken = blocks;
    blocks = [];
    return taken;
  };

  let bytes = 0;
  // The decoder does not read bytes after the last member.
  const check = () => {
    if (failure !== undefined || gunzip.bytesWritten !== bytes)
      throw damaged(origin, gunzip.bytesWritten, failure);
  };
  try {
    for await (const chunk of file)
      for (let at = 0; at < chunk.length; at += STEP) {
        const piece = chunk.subarray(at, at + STEP);
        bytes += piece.length;
        await settled(done => gunzip.write(piece, () => done()));
        check();
        yield* take();
      }
    // The decoder accepts an empty file.
    if (bytes === 0) throw damaged(origin, 0);
    await settled(done => gunzip.once('end', done).end());
    check();
    yield* take();
  } finally {
    gunzip.destroy();
  }
}

function damaged(origin: string, byteOffset: number, cause: unknown = undefined): DataError {
  return new DataError('The file is not a complete gzip file: it is cut short or damaged', {
    cause,
    position: { origin, byteOffset },
    retryable: true,
  });
}
