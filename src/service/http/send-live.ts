import type { ServerResponse } from 'node:http';
import { type BodyHit, cut, sendWithFault } from './faulty-body.js';

/** Ends a live stream without a valid last chunk. */
export class StreamCutError extends Error {
  readonly how: 'reset' | 'close';

  constructor(how: 'reset' | 'close') {
    super('The stream is cut off');
    this.name = 'StreamCutError';
    this.how = how;
  }
}

/**
 * Sends a gzip stream and closes the connection at its end. Pulls from the stream only as fast as the
 * consumer reads.
 */
export async function sendLive(
  response: ServerResponse,
  live: AsyncIterable<Buffer>,
  hit: BodyHit | undefined,
  signal: AbortSignal,
): Promise<void> {
  response.shouldKeepAlive = false;
  response.writeHead(200, {
    'Content-Type': 'application/json; charset=utf-8',
    'Content-Encoding': 'gzip',
    Vary: 'Accept-Encoding',
  });
  if (response.req.method === 'HEAD') {
    response.end();
    return;
  }
  response.flushHeaders();
  try {
    if (hit !== undefined) return await sendWithFault(live, response, hit, signal);
    for await (const chunk of live) if (!response.write(chunk)) await drained(response, signal);
    response.end();
  } catch (error) {
    if (!(error instanceof StreamCutError)) throw error;
    await cut(response, error.how);
  }
}

function drained(response: ServerResponse, signal: AbortSignal): Promise<void> {
  return new Promise((resolve, reject) => {
    const done = () => {
      response.off('drain', done);
      signal.removeEventListener('abort', done);
      if (signal.aborted) reject(signal.reason);
      else resolve();
    };
    response.on('drain', done);
    signal.addEventListener('abort', done);
    if (signal.aborted) done();
  });
}
