import { DataError, isNodeError } from '../errors.js';
import { GzipDecoder } from '../gzip/gzip-decoder.js';
import { cutResponse } from './connection-errors.js';

/** Bytes that go into the decoder in one call. Gzip expands up to 1,032 times, so 4 MiB come out. */
const STEP = 4 * 1024;

/** A body above this that is this many times as long as its gzip bytes is a bomb. JSON expands some 30 times at most. */
const MAX_BOMB_BYTES = 16 * 1024 * 1024;
const MAX_RATIO = 200;

/**
 * Decodes a gzip body as it arrives. A body that ends early is a cut response; one with wrong bytes
 * throws a retryable `DataError`, since the bytes may have been damaged in transit. One that expands far more
 * than JSON does throws one that is not retryable.
 */
export async function* decodeBody(
  body: AsyncIterable<Buffer>,
  url: string,
): AsyncGenerator<Buffer, void, undefined> {
  const file = new GzipDecoder({
    plain: 'refuse',
    maxBytes: Number.POSITIVE_INFINITY,
    origin: url,
    step: STEP,
  });
  let receivedBytes = 0;
  let decodedBytes = 0;
  try {
    for await (const chunk of body) {
      receivedBytes += chunk.length;
      for (const blocks of decoded(file, chunk, url)) {
        for (const { length } of blocks) decodedBytes += length;
        if (decodedBytes > MAX_BOMB_BYTES && decodedBytes > MAX_RATIO * receivedBytes)
          throw new DataError(
            `The gzip body of the response is a decompression bomb: ${receivedBytes} bytes expand to more than ${decodedBytes}`,
            { position: { origin: url } },
          );
        yield* blocks;
      }
    }
    if (receivedBytes === 0) throw cutResponse(url, 'its gzip body is empty');
    end(file, url);
  } finally {
    file.close();
  }
}

function* decoded(file: GzipDecoder, chunk: Buffer, url: string): Generator<readonly Buffer[]> {
  try {
    yield* file.push(chunk);
  } catch (error) {
    throw bodyError(error, url);
  }
}

function end(file: GzipDecoder, url: string): void {
  try {
    file.end();
  } catch (error) {
    throw bodyError(error, url);
  }
}

function bodyError(error: unknown, url: string): Error {
  const cause = error instanceof Error ? error.cause : error;
  if (isNodeError(cause, 'Z_BUF_ERROR')) return cutResponse(url, 'its gzip body has no end', cause);
  return new DataError('The gzip body of the response is damaged', {
    cause: error,
    position: { origin: url },
    retryable: true,
  });
}
