import { DataError, type HttpError, OptionError } from '../base/errors.js';
import { SECOND } from '../base/time.js';
import { type Account, checkAccount } from './account.js';
import type { HttpResponse } from './http-message.js';
import type { Permit } from './rate-limits.js';
import { sendRequest } from './request.js';
import { realTime } from './timing.js';

/**
 * An open stream of the service: a response whose `rawBlocks` are gzip without an end, and can be read once. They throw
 * a `ConnectionError` when the stream breaks off, and when nothing, not even a heartbeat, arrives for the account's
 * `timeouts.silenceMs`. While nobody reads, silence is not counted.
 */
export type LiveConnection = Pick<HttpResponse, 'url' | 'rawBlocks' | 'receivedBytes' | 'close'>;

/**
 * Connects to a stream, without a retry: the caller keeps the rates of connections, by `permit`.
 *
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

/** Wrong credentials, addresses and methods: connecting again does not help. */
const FINAL: readonly number[] = [401, 403, 404, 405, 410];

/**
 * Whether connecting to a stream again is pointless. After any other status, such as a 406 for the service's
 * present state, the service asks clients to connect again.
 */
export function isFinalStatus({ status }: HttpError): boolean {
  return (status >= 300 && status < 400) || FINAL.includes(status);
}

/** How long a stream of the service may be silent. */
const MAX_SILENCE_MS = 30 * SECOND;

/**
 * Checks that the account waits for longer than a stream may be silent.
 *
 * @throws OptionError
 */
export function checkSilence(account: Account, purpose: string): void {
  checkAccount(account);
  const { silenceMs } = account.timeouts;
  // A test that sets the time also sets the heartbeats of its service.
  if (account.timing !== realTime || silenceMs > MAX_SILENCE_MS) return;
  throw new OptionError(
    'timeouts.silenceMs',
    `\`timeouts.silenceMs\` is ${silenceMs} ms, and must be more than ${MAX_SILENCE_MS} ms for ${purpose}: the service may send nothing for that long`,
  );
}
