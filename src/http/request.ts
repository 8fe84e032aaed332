import { WatchedRequest } from '../base/diagnostics.js';
import { DataError, isNodeError } from '../base/errors.js';
import { GzipDecoder } from '../gzip/inflate-stream.js';
import type { Account } from './account.js';
import { cutResponse } from './connection-errors.js';
import type { HttpRequest, HttpResponse, ResponseHeaders } from './http-message.js';
import type { Family } from './rate-limits.js';
import { readErrorBody, responseError } from './response-error.js';
import { ResponseHandler } from './response-handler.js';
import { retry } from './retry.js';
import type { UrlSettingName } from './settings.js';

export interface AccountRequest extends HttpRequest {
  /** The family of calls whose rate limits apply to the request. `kind` is its kind within the family. */
  readonly family: Family;
  readonly kind?: string | undefined;
  /**
   * Whether to send the request only once, without retries. For requests that may have an effect even if no
   * response arrives.
   */
  readonly once?: boolean | undefined;
  /** Called before each try. If it throws an error that is not retryable, the call ends with that error. */
  readonly onTry?: (() => void) | undefined;
}

/**
 * Sends a request within the account's rate limits, with retries. Resolves to the result of `read`, which
 * reads the response. If the body breaks off, the request is retried, so `read` must have no side effects
 * before the end of the body. At the end, releases or closes the connection.
 *
 * @throws HttpError, ConnectionError, the error of `read`, or the signal's reason.
 */
export function request<T>(
  account: Account,
  call: AccountRequest,
  read: (response: HttpResponse) => Promise<T>,
): Promise<T> {
  const { signal } = call;
  if (call.once === true) return attempt(account, call, read);
  return retry(account, () => attempt(account, call, read), signal);
}

async function attempt<T>(
  account: Account,
  call: AccountRequest,
  read: (response: HttpResponse) => Promise<T>,
): Promise<T> {
  call.onTry?.();
  const permit = await account.acquire(call.family, call.url, call.signal, call.kind);
  const response = await sendRequest(account, { ...call, permit });
  try {
    return await read(response);
  } finally {
    response.close();
  }
}

/**
 * Sends one request and resolves once its response begins. Sends credentials to configured origins only. Does
 * not follow redirects. Throws an `HttpError` unless the status is a success or one of `expectedStatuses`.
 *
 * @throws HttpError, ConnectionError, or the signal's reason.
 */
export async function sendRequest(account: Account, request: HttpRequest): Promise<HttpResponse> {
  account.progress?.onRequest();
  const watched = WatchedRequest.start(request.method, request.url);
  try {
    return await send(account, request, watched);
  } catch (error) {
    watched?.fail(error);
    throw error;
  } finally {
    // Releases the permit of a request that failed before it was sent. Otherwise, later requests might wait
    // forever. After a sent request, this call does nothing.
    request.permit?.sent();
  }
}

async function send(
  account: Account,
  request: HttpRequest,
  watched: WatchedRequest | undefined,
): Promise<HttpResponse> {
  const { method, url, body = null, signal, isSignedUrl = false, authorize } = request;
  signal?.throwIfAborted();
  const authorization = isSignedUrl ? undefined : (authorize ?? (() => account.basicFor(url)))();
  const connection = await account.connections.acquire(url);
  if (signal?.aborted) {
    account.connections.release(connection);
    throw signal.reason;
  }
  const handler = new ResponseHandler(account, connection, request);
  const sentAt = account.timing.now();
  connection.client.dispatch(
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
    handler,
  );
  const { status, headers } = await handler.begun;
  // Does not learn the time from a signed URL: data files are on other hosts, whose clocks may be wrong.
  if (!isSignedUrl) account.clock.learn(headers.date, sentAt);
  const response: HttpResponse = {
    status,
    headers,
    url: handler.url,
    body: isSignedUrl && isSuccess(status) ? handler.body() : decodedBody(handler, headers),
    rawBlocks: handler.blocks(),
    get receivedBytes() {
      return handler.receivedBytes;
    },
    close() {
      const { failure, receivedBytes } = handler;
      if (failure === undefined) watched?.end(status, receivedBytes);
      else watched?.fail(failure, { status, receivedBytes });
      handler.close();
    },
  };
  if (isSuccess(status) || request.expectedStatuses?.includes(status)) return response;
  try {
    throw responseError(account, request, response, await readErrorBody(response, signal));
  } finally {
    handler.close();
  }
}

function isSuccess(status: number): boolean {
  return status >= 200 && status < 300;
}

function decodedBody(handler: ResponseHandler, headers: ResponseHeaders): AsyncIterable<Buffer> {
  const encoding = (headers['content-encoding'] ?? '').trim().toLowerCase();
  if (encoding === '' || encoding === 'identity') return handler.body();
  if (encoding === 'gzip' || encoding === 'x-gzip') return decodeBody(handler.body(), handler.url);
  handler.close();
  throw new DataError(`The response is encoded as ${encoding}, and only gzip was asked for`, {
    position: { origin: handler.url },
  });
}

/**
 * The maximum number of gzip bytes that are passed to one call of the decoder. Gzip expands data up to 1,032
 * times, so one call returns up to 4 MiB.
 */
const DECODER_CALL_BYTES = 4 * 1024;

/**
 * A body is refused as a decompression bomb if it is larger than this, and also more than `MAX_RATIO` times
 * as large as its gzip bytes. JSON expands at most about 30 times.
 */
const MAX_BOMB_BYTES = 16 * 1024 * 1024;
const MAX_RATIO = 200;

/**
 * Decodes the gzip body of a response as it arrives.
 *
 * @throws ConnectionError if the body is empty or ends early.
 * @throws DataError if the body is damaged, which is retryable because the damage may have happened in
 * transit. A body that expands far more than JSON does is also refused, but that error is not retryable.
 */
export async function* decodeBody(
  body: AsyncIterable<Buffer>,
  url: string,
): AsyncGenerator<Buffer, void, undefined> {
  const file = new GzipDecoder({
    plain: 'refuse',
    maxBytes: Number.POSITIVE_INFINITY,
    origin: url,
    step: DECODER_CALL_BYTES,
  });
  let receivedBytes = 0;
  let decodedBytes = 0;
  try {
    for await (const chunk of body) {
      receivedBytes += chunk.length;
      for (const blocks of pushed(file, chunk, url)) {
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

function* pushed(file: GzipDecoder, chunk: Buffer, url: string): Generator<readonly Buffer[]> {
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

/**
 * Sets the account's clock to the time of the service, before a run computes its window. Otherwise,
 * if this machine's clock is wrong, the window would miss minutes, or the run would report gaps
 * that do not exist. Sends a HEAD request without credentials to the base address, because every
 * response has a `Date` header. Such a request is free and counts towards no limit.
 *
 * @param responses The value of `clock.responses` at the start of the run. If it has changed since
 *   then, a response has already arrived, and no request is sent.
 * @throws ConnectionError, or the signal's reason.
 */
export async function learnServiceTime(
  account: Account,
  base: UrlSettingName,
  { responses, signal }: { readonly responses: number; readonly signal: AbortSignal },
): Promise<void> {
  const { clock } = account;
  if (clock.isKnownSince(responses)) return;
  const url = account.need(base, 'the time of the service');
  const ask = async () => {
    try {
      const authorize = () => undefined;
      (await sendRequest(account, { method: 'HEAD', url, signal, authorize })).close();
    } catch (error) {
      // A response that refuses the request also sets the clock, because it has a `Date` header.
      if (!clock.isKnownSince(responses)) throw error;
    }
  };
  await retry(account, ask, signal);
}
