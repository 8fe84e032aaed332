import { createGunzip } from 'node:zlib';
import { DataError } from '../errors.js';

const CHUNK = 256 * 1024;
/** What goes in at once. Gzip grows a thousandfold at most, so no more than 32 MiB wait to be taken. */
const STEP = 32 * 1024;

/**
 * Inflates a file of one or more gzip members in the thread pool, as its bytes come. An error of the
 * input, or of the caller between two blocks, comes through as it is, after the input is closed.
 *
 * @throws DataError that is worth another try: cut short, corrupt, empty, or with something after its end.
 */
export async function* inflateStream(
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
  // The decoder calls nothing back for a write that fails, so an error ends the wait, too.
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
  // After the last member the decoder leaves what does not begin another.
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
    // An empty file is no error to the decoder.
    if (bytes === 0) throw damaged(origin, 0);
    await settled(done => gunzip.once('end', done).end());
    check();
    yield* take();
  } finally {
    gunzip.destroy();
  }
}

function damaged(origin: string, byteOffset: number, cause: unknown = undefined): DataError {
  return new DataError('The file is no whole gzip file: it is cut short, or damaged', {
    cause,
    place: { origin, byteOffset },
    retryable: true,
  });
}
