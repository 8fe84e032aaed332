import type { IncomingHttpHeaders } from 'node:http';
import { DataError } from '../errors.js';
import type { Account } from './account.js';
import { decodeBody } from './decode-body.js';
import type { HttpRequest, HttpResponse } from './http-message.js';
import { readResponseError } from './response-error.js';
import { ResponseHandler } from './response-handler.js';

/**
 * Sends one request and resolves once its answer begins. Credentials go to configured origins only;
 * redirects are not followed; anything but a success is an `HttpError`.
 *
 * @throws HttpError, ConnectionError, or the signal's reason.
 */
export async function sendRequest(account: Account, request: HttpRequest): Promise<HttpResponse> {
  const { method, url, body = null, signal, isSignedUrl = false, authorize } = request;
  signal?.throwIfAborted();
  const authorization = isSignedUrl ? undefined : (authorize ?? (() => account.basicFor(url)))();
  const client = await account.connections.take(url.origin);
  if (signal?.aborted) {
    account.connections.give(url.origin, client);
    throw signal.reason;
  }
  const wire = new ResponseHandler(account, client, url, signal);
  const sentAt = account.timing.now();
  wire.client.dispatch(
    {
      path: url.pathname + url.search,
      method,
      headers: {
        accept: isSignedUrl ? '*/*' : 'application/json',
        'accept-encoding': isSignedUrl ? 'identity' : 'gzip',
        ...(authorization === undefined ? {} : { authorization }),
        ...request.headers,
      },
      body,
    },
    wire,
  );
  const { status, headers } = await wire.begun;
  // Files lie on hosts of others.
  if (!isSignedUrl) account.clock.hear(headers.date, sentAt);
  const answer: HttpResponse = {
    status,
    headers,
    url: wire.url,
    body: isSignedUrl && isSuccess(status) ? wire.body() : decoded(wire, headers),
    rawBlocks: wire.blocks(),
    get receivedBytes() {
      return wire.receivedBytes;
    },
    close: () => wire.close(),
  };
  if (isSuccess(status) || request.expectedStatuses?.includes(status)) return answer;
  try {
    throw await readResponseError(account, request, answer);
  } finally {
    answer.close();
  }
}

function isSuccess(status: number): boolean {
  return status >= 200 && status < 300;
}

function decoded(wire: ResponseHandler, headers: IncomingHttpHeaders): AsyncIterable<Buffer> {
  const encoding = String(headers['content-encoding'] ?? '')
    .trim()
    .toLowerCase();
  if (encoding === '' || encoding === 'identity') return wire.body();
  if (encoding === 'gzip' || encoding === 'x-gzip') return decodeBody(wire.body(), wire.url);
  wire.close();
  throw new DataError(`The answer is encoded as ${encoding}, and only gzip was asked for`, {
    place: { origin: wire.url },
  });
}
