import { DataError, isNodeError } from '../errors.js';
import { GzipFile } from '../gzip/gzip-file.js';
import { cutResponse } from './connection-errors.js';

/** Bytes that go into the decoder in one call. Gzip expands up to 1,032 times, so 4 MiB come out. */
const STEP = 4 * 1024;

/**
 * Decodes a gzip body as it arrives. A body that ends early is a cut response; one with wrong bytes
 * throws a retryable `DataError`, since the bytes may have been damaged in transit.
 */
export async function* decodeBody(
  body: AsyncIterable<Buffer>,
  url: string,
): AsyncGenerator<Buffer, void, undefined> {
  const file = new GzipFile({
    plain: 'refuse',
    maxBytes: Number.POSITIVE_INFINITY,
    origin: url,
    step: STEP,
  });
  let receivedBytes = 0;
  try {
    for await (const chunk of body) {
      receivedBytes += chunk.length;
      for (const blocks of decoded(file, chunk, url)) yield* blocks;
    }
    if (receivedBytes === 0) throw cutResponse(url, 'its gzip body is empty');
    end(file, url);
  } finally {
    file.close();
  }
}

function* decoded(file: GzipFile, chunk: Buffer, url: string): Generator<readonly Buffer[]> {
  try {
    yield* file.push(chunk);
  } catch (error) {
    throw bodyError(error, url);
  }
}

function end(file: GzipFile, url: string): void {
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
