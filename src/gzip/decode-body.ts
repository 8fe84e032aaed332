import { Gunzip } from 'minizlib';
import { DataError } from '../errors.js';
import { cutResponse } from '../http/connection-errors.js';

/** What goes into the decoder at once: gzip grows a thousandfold at most, so this bounds a step. */
const STEP = 4 * 1024;

/**
 * A gzip body, decoded as it streams. One that ends early is a cut answer; one whose bytes are wrong
 * is a `DataError` that is worth another try, since they may have gone wrong on the way.
 */
export async function* decodeBody(
  body: AsyncIterable<Buffer>,
  url: string,
): AsyncGenerator<Buffer, void, undefined> {
  const gunzip = new Gunzip({});
  let decoded: Buffer[] = [];
  let failure: Error | undefined;
  gunzip.on('data', (chunk: Buffer) => decoded.push(chunk));
  gunzip.on('error', error => {
    failure ??= error instanceof Error ? error : new Error(String(error));
  });
  const take = (): Buffer[] => {
    if (failure !== undefined) throw broken(failure, url);
    const chunks = decoded;
    decoded = [];
    return chunks;
  };
  let receivedBytes = 0;
  for await (const chunk of body) {
    receivedBytes += chunk.length;
    for (let at = 0; at < chunk.length; at += STEP) {
      gunzip.write(chunk.subarray(at, at + STEP));
      yield* take();
    }
  }
  if (receivedBytes === 0) throw cutResponse(url, 'its gzip body is empty');
  gunzip.end();
  yield* take();
}

function broken(cause: Error, url: string): Error {
  if ('code' in cause && cause.code === 'Z_BUF_ERROR')
    return cutResponse(url, 'its gzip body has no end', cause);
  return new DataError('The gzip body of the answer is damaged', {
    cause,
    place: { origin: url },
    retryable: true,
  });
}
