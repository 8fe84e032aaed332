import type { StreamConnection } from '../client/stream-connection.js';
import { type Batches, batchesOf, Flow } from '../flow.js';
import { gunzip } from '../operators/gunzip.js';
import { jsonLines } from '../operators/json-lines.js';
import { inflateInPool } from './inflate-in-pool.js';

export interface StreamRecordsOptions {
  /** Told of each arrival, heartbeats too, a few before their records come. */
  readonly onBytes?: (() => void) | undefined;
  /**
   * Whether records may come later than they could: the stream is then inflated in the thread pool,
   * which takes half as long where there is a lot of it, and longer where messages come one by one.
   */
  readonly late?: boolean | undefined;
}

/**
 * The records of a stream: the exact bytes of each, without heartbeats, as soon as they are whole. They
 * are parted by CRLF and may be cut at any byte, in the gzip as in a character.
 */
export function streamRecords(
  connection: StreamConnection,
  signal: AbortSignal,
  { onBytes, late = false }: StreamRecordsOptions = {},
): Batches<Buffer> {
  const origin = connection.url;
  const arrivals = new Flow<Uint8Array>(async function* () {
    for await (const items of connection.blocks) {
      onBytes?.();
      // A flush of each message makes many small pieces, and each would be a call of the decoder.
      yield { items: items.length > 1 ? [Buffer.concat(items)] : items, origin };
    }
  });
  const inflated = late
    ? new Flow<Uint8Array>(async function* () {
        for await (const items of inflateInPool(connection.blocks, origin)) yield { items, origin };
      })
    : gunzip()(arrivals);
  return batchesOf(jsonLines({ separator: '\r\n' })(inflated), { signal });
}
