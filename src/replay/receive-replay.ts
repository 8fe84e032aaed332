import {
  type InfoMessage,
  type InStreamMessage,
  parseInStreamMessage,
} from '../activity/in-stream-message.js';
import { ConnectionError, DataError, type MillraceError } from '../errors.js';
import { liveRecords } from '../flow/live-records.js';
import type { LiveConnection } from '../http/live-connection.js';
import type { DamagedRecord, OnDamaged } from '../json/damaged-record.js';
import type { ReplaySpool } from './replay-spool.js';

export interface Damaged {
  readonly record: DamagedRecord;
  readonly error: DataError;
}

/** What may be damaged of one connection; beyond, it is the connection that is. */
const MAX_DAMAGED = 1_000;
const MAX_DAMAGED_BYTES = 64 * 1024 * 1024;

/** How one connection of a replay ended. */
export interface Received {
  readonly activities: number;
  /** Those among them that are no JSON objects, or too large. */
  readonly damaged: readonly Damaged[];
  /** The service's last word; absent when the connection ended without. */
  readonly info: InfoMessage | undefined;
  /** Why there is none. */
  readonly error: MillraceError | undefined;
}

/**
 * Puts all activities of a connection into a spool, as fast as they come, up to the service's last
 * word. A connection that breaks is no error here, a disk that does is.
 */
export async function receiveReplay(
  connection: LiveConnection,
  spool: ReplaySpool,
  signal: AbortSignal,
): Promise<Received> {
  let activities = 0;
  const damaged: Damaged[] = [];
  let damagedBytes = 0;
  const onDamaged: OnDamaged = (record, error) => {
    activities++;
    damagedBytes += record.raw.length;
    if (damaged.length === MAX_DAMAGED || damagedBytes > MAX_DAMAGED_BYTES) throw error;
    damaged.push({ record, error });
  };
  let info: InfoMessage | undefined;
  let trouble: MillraceError | undefined;
  try {
    for await (const { items } of liveRecords(connection, { onDamaged })) {
      const records: Buffer[] = [];
      for (const record of items) {
        const message = messageOf(record);
        if (message === undefined) records.push(record);
        else if (message.kind === 'info' && message.outcome !== undefined) info = message;
        else if (message.kind === 'error')
          trouble = new ConnectionError(`${connection.url} said: ${message.message}`, {
            failure: 'cut',
            url: connection.url,
          });
      }
      activities += records.length;
      if (records.length > 0) await spool.add(records);
    }
  } catch (error) {
    signal.throwIfAborted();
    if (!(error instanceof ConnectionError || error instanceof DataError)) throw error;
    // After the last word only bytes that are wrong take it back, not how the connection went.
    // What looks damaged may have gone wrong on the way, unless the checksum at the end says otherwise.
    if (info === undefined || isCorrupt(error) || damaged.length > 0)
      return { activities, damaged, info: undefined, error: error };
  } finally {
    connection.close();
  }
  if (info === undefined)
    trouble ??= new ConnectionError(
      `The replay of ${connection.url} ended without a word on whether it is complete`,
      { failure: 'cut', url: connection.url },
    );
  return { activities, damaged, info, error: info === undefined ? trouble : undefined };
}

/** A record that cannot be read is for the one who parses it to refuse. */
function messageOf(record: Buffer): InStreamMessage | undefined {
  try {
    return parseInStreamMessage(record);
  } catch (error) {
    if (!(error instanceof DataError)) throw error;
    return undefined;
  }
}

/** Rather than cut short. */
function isCorrupt(error: MillraceError): boolean {
  const { cause } = error;
  const short = cause instanceof Error && 'code' in cause && cause.code === 'Z_BUF_ERROR';
  return error instanceof DataError && !short;
}
