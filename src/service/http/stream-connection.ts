import { formatSent } from '../../time.js';
import type { ServiceContext } from '../context.js';
import { HttpProblem } from './http-problem.js';
import { LiveResponse } from './live-response.js';
import type { RequestContext } from './router.js';
import { acceptsGzip } from './send-response.js';

/** The time that a consumer that could not keep up has to read the last message, in milliseconds. */
const GRACE_MS = 1_000;

/** Streams are only sent as gzip. @throws HttpProblem 406 for a client that does not accept it. */
export function checkGzip({ request }: RequestContext): void {
  if (!acceptsGzip(request.headers['accept-encoding']))
    throw new HttpProblem(
      406,
      'This connection requires compression. To enable compression, send an ' +
        "'Accept-Encoding: gzip' header in your request and be ready to uncompress the stream as " +
        'it is read on the client end.',
    );
}

/**
 * One connection of a stream, from its first message to its end. `feed` starts when the headers are
 * sent; its signal fires when the consumer has disconnected.
 */
export async function* streamConnection(
  { request, url, signal }: RequestContext,
  { settings, clock, faults }: ServiceContext,
  label: string,
  feed: (wire: LiveResponse, signal: AbortSignal) => Promise<void>,
): AsyncGenerator<Buffer> {
  const { account, heartbeatMs, streamBacklogBytes: backlogBytes } = settings;
  const endpoint = url.pathname.startsWith('/replay/') ? 'replay' : 'compliance';
  const stopping = new AbortController();
  const cut = faults.matchStream('content-cut', endpoint, url.pathname + url.search);
  const wire = new LiveResponse({
    heartbeatMs,
    backlogBytes,
    signal,
    cut,
    onCut: () => cut && faults.tookEffect(cut),
    farewell: () =>
      Buffer.from(
        JSON.stringify({
          error: {
            message:
              `Force closing connection to ${account}/${label} because it reached the maximum ` +
              `allowed backup (buffer size is ${backlogBytes}).`,
            sent: formatSent(clock.now()),
          },
        }),
      ),
    onOverflow() {
      const reset = setTimeout(() => request.socket.resetAndDestroy(), GRACE_MS).unref();
      signal.addEventListener('abort', () => clearTimeout(reset));
    },
  });
  const leave = () => stopping.abort(signal.reason);
  signal.addEventListener('abort', leave);
  const feeding = feed(wire, stopping.signal).catch(error => wire.fail(error));
  try {
    yield* wire;
  } finally {
    stopping.abort(new Error('The stream has ended'));
    signal.removeEventListener('abort', leave);
    await feeding;
  }
}
