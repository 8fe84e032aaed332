import { DataError, type HttpError, OptionError } from '../base/errors.js';
import { SECOND } from '../base/time.js';
import { type Account, checkAccount } from './account.js';
import type { HttpResponse } from './http-message.js';
import type { Permit } from './rate-limits.js';
import { sendRequest } from './request.js';
import { realTime } from './timing.js';

/**
 * An open stream of the service. It is a response whose `rawBlocks` are endless gzip data and can be read
 * only once. They throw a `ConnectionError` if the stream breaks off, or if nothing arrives for the account's
 * `timeouts.silenceMs`, not even a heartbeat. Time in which nobody reads does not count as silence.
 */
export type LiveConnection = Pick<HttpResponse, 'url' | 'rawBlocks' | 'receivedBytes' | 'close'>;

/**
 * Connects to a stream, without retries.
 *
 * @param permit The permit of the rate limiter for connections.
 * @throws HttpError, ConnectionError, DataError, or the signal's reason.
 */
export async function connectLive(
  account: Account,
  url: URL,
  permit: Permit,
  signal: AbortSignal,
): Promise<LiveConnection> {
  const response = await sendRequest(account, {
    method: 'GET',
    url,
    headers: { connection: 'keep-alive', 'accept-encoding': 'gzip' },
    signal,
    permit,
  });
  const encoding = response.headers['content-encoding'] ?? 'none';
  if (/^(x-)?gzip$/i.test(encoding)) return response;
  response.close();
  throw new DataError(`The stream is not gzip: its content encoding is ${encoding}`, {
    position: { origin: response.url },
    retryable: true,
  });
}

/** The statuses for wrong credentials, addresses and methods. Connecting again does not help. */
const FINAL: readonly number[] = [401, 403, 404, 405, 410];

/**
 * Whether connecting to a stream again cannot help after this error. Other error statuses, such as
 * 406, depend on the current state of the service, which asks clients to reconnect.
 */
export function isFinalStatus({ status }: HttpError): boolean {
  return (status >= 300 && status < 400) || FINAL.includes(status);
}

/** The longest time for which the service may send nothing on a stream, in milliseconds. */
const MAX_SILENCE_MS = 30 * SECOND;

/**
 * Checks that the account's timeout for silence is longer than the time for which a stream may be silent.
 *
 * @throws OptionError
 */
export function checkSilence(account: Account, purpose: string): void {
  checkAccount(account);
  const { silenceMs } = account.timeouts;
  // Not checked if a test has replaced the clock. Such a test also sets how often its local service sends
  // heartbeats.
  if (account.timing !== realTime || silenceMs > MAX_SILENCE_MS) return;
  throw new OptionError(
    'timeouts.silenceMs',
    `\`timeouts.silenceMs\` is ${silenceMs} ms, and must be more than ${MAX_SILENCE_MS} ms for ${purpose}: the service may send nothing for that long`,
  );
}
