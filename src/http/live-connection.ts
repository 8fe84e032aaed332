import { DataError, type HttpError, OptionError } from '../errors.js';
import { SECOND } from '../time.js';
import { type Account, checkAccount } from './account.js';
import type { Permit } from './rate-limiter.js';
import { sendRequest } from './send-request.js';
import { realTime } from './timing.js';

/** A stream of the service that is open: gzip that goes on as long as there is something to tell. */
export interface LiveConnection {
  /** The address without its query, for messages. */
  readonly url: string;
  /**
   * The gzip as it comes, all that has come at a time. Can be read once. Throws `ConnectionError` when
   * the stream breaks off, and when nothing comes for the account's `timeouts.silenceMs`: heartbeats are
   * life, and a connection that is not read from is not counted as silent.
   */
  readonly blocks: AsyncIterable<readonly Buffer[]>;
  readonly receivedBytes: number;
  /** Lets go of the connection. */
  close(): void;
}

/**
 * Connects to a stream. `start` is the turn that the call was given, as the
 * service counts connections; nothing is retried here.
 *
 * @throws HttpError, ConnectionError, DataError, or the signal's reason.
 */
export async function connectLive(
  account: Account,
  url: URL,
  start: Permit,
  signal: AbortSignal,
): Promise<LiveConnection> {
  const response = await sendRequest(account, {
    method: 'GET',
    url,
    headers: { connection: 'keep-alive', 'accept-encoding': 'gzip' },
    signal,
  }).finally(() => start.responded());
  const encoding = String(response.headers['content-encoding'] ?? 'none');
  if (!/^(x-)?gzip$/i.test(encoding)) {
    response.close();
    throw new DataError(`The stream is not gzip: its content encoding is ${encoding}`, {
      place: { origin: response.url },
      retryable: true,
    });
  }
  return {
    url: response.url,
    blocks: response.rawBlocks,
    get receivedBytes() {
      return response.receivedBytes;
    },
    close: () => response.close(),
  };
}

/** Wrong credentials, addresses and methods do not pass. */
const FINAL: readonly number[] = [401, 403, 404, 405, 410];

/**
 * Whether connecting to a stream again is of no use. The service asks clients to connect again after
 * any other status: what it refuses for its own state, such as a 406, may pass.
 */
export function isFinalStatus({ status }: HttpError): boolean {
  return (status >= 300 && status < 400) || FINAL.includes(status);
}

/** How long a stream of the service may send nothing. */
const MAX_QUIET_MS = 30 * SECOND;

/**
 * That the account waits for longer than a stream may be quiet.
 *
 * @throws OptionError
 */
export function checkSilence(account: Account, purpose: string): void {
  checkAccount(account);
  const { silenceMs } = account.timeouts;
  // A test that sets the time also sets the heartbeats of its service.
  if (account.timing !== realTime || silenceMs > MAX_QUIET_MS) return;
  throw new OptionError(
    'timeouts.silenceMs',
    `\`timeouts.silenceMs\` is ${silenceMs} ms, and must be more than ${MAX_QUIET_MS} ms for ${purpose}: the service may send nothing for that long`,
  );
}
