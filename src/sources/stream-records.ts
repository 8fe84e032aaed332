import type { StreamConnection } from '../client/stream-connection.js';
import { type Batches, batchesOf, Flow } from '../flow.js';
import { GzipFile } from '../operators/gzip-file.js';
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
  const inflated = new Flow<Uint8Array>(async function* () {
    if (late) {
      for await (const items of inflateInPool(connection.blocks, origin)) yield { items, origin };
      return;
    }
    // Without the stages that `gunzip` has for files, each of which a message would have to pass.
    const file = new GzipFile({ plain: 'refuse', maxBytes: Number.POSITIVE_INFINITY, origin });
    try {
      for await (const pieces of connection.blocks) {
        onBytes?.();
        // A flush of each message makes many small pieces, and each would be a call of the decoder.
        const bytes = pieces.length === 1 ? pieces[0]! : Buffer.concat(pieces);
        for (const block of file.push(bytes)) yield { items: [block], origin };
      }
      file.end();
    } finally {
      file.close();
    }
  });
  return batchesOf(jsonLines({ separator: '\r\n' })(inflated), { signal });
}
