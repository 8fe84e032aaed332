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

/** With more damaged records than this, the connection counts as damaged. */
const MAX_DAMAGED = 1_000;
const MAX_DAMAGED_BYTES = 64 * 1024 * 1024;

/** How one connection of a replay ended. */
export interface Received {
  readonly activities: number;
  /** Bytes of these activities. */
  readonly bytes: number;
  /** The activities that are not JSON objects, or too large. */
  readonly damaged: readonly Damaged[];
  /** The final message, or why there is none. */
  readonly end: InfoMessage | MillraceError;
}

/**
 * Stores all activities of a connection in a spool as fast as they come, up to the final message. A
 * broken connection is part of the result; an error of the disk is thrown.
 *
 * @param progress counts the bytes as they arrive; activities count once they are delivered
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
        // A damaged record is reported by the parser of activities.
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
    // After the final message only corrupt bytes matter, not how the connection ended. Damaged records
    // may have been damaged in transit, unless the checksum at the end was right.
    if (info === undefined || isCorrupt(error) || damaged.length > 0) return ended(error);
  } finally {
    connection.close();
  }
  const silent = `The replay of ${url} ended without a word on whether it is complete`;
  return ended(info ?? trouble ?? cut(silent));
}

/** Whether the bytes are corrupt, and not only cut short. */
function isCorrupt(error: MillraceError): boolean {
  return error instanceof DataError && !isNodeError(error.cause, 'Z_BUF_ERROR');
}
