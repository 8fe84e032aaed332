import {
  ConnectionError,
  DataError,
  isNodeError,
  type MillraceError,
  orDataError,
} from '../base/errors.js';
import { liveRecords } from '../flow/live-stream-records.js';
import type { Progress } from '../flow/progress.js';
import type { LiveConnection } from '../http/live-connection.js';
import type { Damaged, OnDamaged } from '../json/records.js';
import { type InfoMessage, parseConnectionMessage } from '../post/in-stream-message.js';
import type { ReplaySpool } from './replay-spool.js';

/**
 * The maximum number of damaged records from one connection, and their maximum total size in bytes. If there
 * are more, the connection is closed, and `end` of its result is the error of the last one.
 */
const MAX_DAMAGED = 1_000;
const MAX_DAMAGED_BYTES = 64 * 1024 * 1024;

export interface Received {
  readonly activities: number;
  readonly bytes: number;
  /** Records that are not JSON objects or are too large. */
  readonly damaged: readonly Damaged[];
  /** The final message, or the reason why there is none. */
  readonly end: InfoMessage | MillraceError;
}

/**
 * Stores all activities of a connection in a spool as fast as they arrive, until the final message. If the
 * connection breaks, returns its error. If the disk fails, throws.
 *
 * @param progress counts the bytes as they arrive; activities are counted only once they are delivered
 */
export async function receiveReplay(
  connection: LiveConnection,
  spool: ReplaySpool,
  signal: AbortSignal,
  progress: Progress | undefined,
): Promise<Received> {
  let countedBytes = 0;
  const onBytes = () => {
    const { receivedBytes } = connection;
    if (progress !== undefined) progress.receivedBytes += receivedBytes - countedBytes;
    countedBytes = receivedBytes;
  };
  let activities = 0;
  const damaged: Damaged[] = [];
  let damagedBytes = 0;
  const onDamaged: OnDamaged = (record, error) => {
    activities++;
    damagedBytes += record.raw.length;
    if (damaged.length === MAX_DAMAGED || damagedBytes > MAX_DAMAGED_BYTES) throw error;
    damaged.push({ record, error });
  };
  const ended = (end: Received['end']) => ({ activities, bytes: spool.bytes, damaged, end });
  const { url } = connection;
  const cut = (message: string) => new ConnectionError(message, { failure: 'cut', url });
  let info: InfoMessage | undefined;
  let trouble: MillraceError | undefined;
  try {
    for await (const { items } of liveRecords(connection, { onDamaged, onBytes })) {
      const records: Buffer[] = [];
      for (const record of items) {
        const message = orDataError(() => parseConnectionMessage(record));
        if (message === undefined) records.push(record);
        else if (message instanceof DataError)
          onDamaged({ raw: Buffer.from(record), origin: url }, message);
        else if (message.kind === 'info' && message.outcome !== undefined) info = message;
        else if (message.kind === 'error') trouble = cut(`${url} said: ${message.message}`);
      }
      activities += records.length;
      if (records.length > 0) await spool.add(records);
    }
  } catch (error) {
    signal.throwIfAborted();
    if (!(error instanceof ConnectionError || error instanceof DataError)) throw error;
    // An error after the final message is ignored, with two exceptions: if bytes are corrupt, and if some
    // records are damaged. Without a correct checksum at the end, those records may have been damaged in
    // transit.
    if (info === undefined || isCorrupt(error) || damaged.length > 0) return ended(error);
  } finally {
    connection.close();
  }
  const silent = `The replay of ${url} ended without a word on whether it is complete`;
  return ended(info ?? trouble ?? cut(silent));
}

/** Whether the bytes are corrupt, not just truncated. */
function isCorrupt(error: MillraceError): boolean {
  return error instanceof DataError && !isNodeError(error.cause, 'Z_BUF_ERROR');
}
