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

/** If there are more damaged records than this, the connection counts as damaged. */
const MAX_DAMAGED = 1_000;
const MAX_DAMAGED_BYTES = 64 * 1024 * 1024;

/** The outcome of one connection of a replay. */
export interface Received {
  readonly activities: number;
  /** The size of these activities in bytes. */
  readonly bytes: number;
  /** The records that are not JSON objects or are too large. */
  readonly damaged: readonly Damaged[];
  /** The final message, or the reason why there is none. */
  readonly end: InfoMessage | MillraceError;
}

/**
 * Stores all activities of a connection in a spool as fast as they arrive, up to the final message. Returns
 * the error of a broken connection, but throws errors of the disk.
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
        // A damaged record is stored, too. The parser of activities reports it.
        if (message === undefined || message instanceof DataError) records.push(record);
        else if (message.kind === 'info' && message.outcome !== undefined) info = message;
        else if (message.kind === 'error') trouble = cut(`${url} said: ${message.message}`);
      }
      activities += records.length;
      if (records.length > 0) await spool.add(records);
    }
  } catch (error) {
    signal.throwIfAborted();
    if (!(error instanceof ConnectionError || error instanceof DataError)) throw error;
    // After the final message, it does not matter how the connection ended, unless bytes are
    // corrupt. Damaged records may have been damaged in transit, unless the checksum at the end was
    // right.
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
