import { type ComplianceEvent, parseComplianceEvent } from '../activity/compliance-event.js';
import { type InStreamMessage, parseInStreamMessage } from '../activity/in-stream-message.js';
import { ConnectionError, DataError, HttpError, MillraceError } from '../errors.js';
import { liveRecords } from '../flow/live-records.js';
import type { Account } from '../http/account.js';
import { connectLive, isFinalStatus } from '../http/live-connection.js';
import type { DamagedRecord, OnDamaged } from '../json/damaged-record.js';
import { MINUTE, SECOND } from '../time.js';

/** What is told of a connection. Times are epoch milliseconds. */
export interface Listener {
  connected(at: number): void;
  /** All that came before that time was handed on. */
  received(at: number): void;
  /** Resolves when there is room for more. */
  /** Told of a record that is no event; what it throws ends all. */
  damaged(record: DamagedRecord, error: DataError): void;
  events(events: readonly ComplianceEvent[]): Promise<void>;
}

/** So many arrivals may be on their way through the operators: what came before was handed on. */
const BLOCKS_AHEAD = 4;
/** After a connection that broke: so much longer each time, up to the most. */
const BROKEN_STEP = SECOND / 4;
const BROKEN_MOST = 16 * SECOND;
/** After an error of the service: doubling from the first, up to the most. */
const ERROR_FIRST = 5 * SECOND;
const ERROR_MOST = 320 * SECOND;
/** After a 429 that does not say how long. */
const LIMITED = MINUTE;

/**
 * Stays connected to a stream that does not end (service.md 4.5, 7.4), until the signal. Resolves
 * never, and rejects for what no waiting will mend, or when not even the first connection can be made.
 */
export async function maintainConnection(
  account: Account,
  url: URL,
  signal: AbortSignal,
  listener: Listener,
): Promise<never> {
  const { timing, clock, onRetry, retry } = account;
  let everConnected = false;
  let refused: { readonly error: unknown } | undefined;
  const onDamaged: OnDamaged = (record, error) => {
    try {
      listener.damaged(record, error);
    } catch (thrown) {
      refused = { error: thrown };
      throw thrown;
    }
  };
  let failures = 0;
  while (true) {
    const start = await account.rateLimiter('compliance', url).acquire(undefined, signal);
    let trouble: MillraceError;
    try {
      const connection = await connectLive(account, url, start, signal);
      everConnected = true;
      listener.connected(clock.now());
      let reason = 'without a reason';
      try {
        const arrivals: number[] = [];
        const onBytes = () => {
          arrivals.push(clock.now());
          if (arrivals.length > BLOCKS_AHEAD) listener.received(arrivals.shift() as number);
        };
        const records = liveRecords(connection, { onBytes, onDamaged });
        for await (const { items } of records) {
          failures = 0;
          const events: ComplianceEvent[] = [];
          for (const record of items) {
            const message = readRecord(record);
            if (message instanceof DataError)
              onDamaged({ raw: Buffer.from(record), origin: connection.url }, message);
            else if ('raw' in message) events.push(message);
            else reason = `with the words: ${message.message}`;
          }
          if (events.length > 0) await listener.events(events);
        }
      } finally {
        connection.close();
      }
      trouble = new ConnectionError(`The compliance stream of ${connection.url} ended ${reason}`, {
        failure: 'cut',
        url: connection.url,
      });
    } catch (error) {
      signal.throwIfAborted();
      if (refused !== undefined) throw refused.error;
      if (!(error instanceof MillraceError)) throw error;
      if (error instanceof HttpError ? isFinalStatus(error) : !isTransient(error, everConnected))
        throw error;
      trouble = error;
    }
    failures++;
    if (!everConnected && failures >= retry.attempts) throw trouble;
    const waitMs = waitAfter(trouble, failures, timing.random());
    onRetry?.({ error: trouble, attempts: failures, waitMs });
    await timing.sleep(waitMs, signal);
  }
}

function readRecord(record: Buffer): InStreamMessage | ComplianceEvent | DataError {
  try {
    return parseInStreamMessage(record) ?? parseComplianceEvent(record);
  } catch (error) {
    if (error instanceof DataError) return error;
    throw error;
  }
}

/** Bytes that are wrong may have gone wrong on the way, where there were good ones before. */
function isTransient({ code, retryable }: MillraceError, everConnected: boolean): boolean {
  return retryable || (everConnected && (code === 'ERR_DATA' || code === 'ERR_CONNECTION'));
}

function waitAfter(trouble: MillraceError, failures: number, random: number): number {
  if (!(trouble instanceof HttpError))
    return Math.min(BROKEN_MOST, BROKEN_STEP * failures) * (0.5 + random / 2);
  const backoff = Math.min(ERROR_MOST, ERROR_FIRST * 2 ** (failures - 1)) * (0.5 + random / 2);
  if (trouble.status === 429) return trouble.retryAfterMs ?? Math.max(LIMITED, backoff);
  return Math.max(backoff, trouble.retryAfterMs ?? 0);
}
