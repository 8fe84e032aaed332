import type { StreamConnection } from '../client/stream-connection.js';
import { type Batches, batchesOf, Flow } from '../flow.js';
import { GzipFile } from '../operators/gzip-file.js';
import { jsonLines } from '../operators/json-lines.js';

export interface StreamRecordsOptions {
  /** Told of each arrival, heartbeats too, a few before their records come. */
  readonly onBytes?: (() => void) | undefined;
}

/**
 * The records of a stream: the exact bytes of each, without heartbeats, as soon as they are whole. They
 * are parted by CRLF and may be cut at any byte, in the gzip as in a character.
 */
export function streamRecords(
  connection: StreamConnection,
  signal: AbortSignal,
  { onBytes }: StreamRecordsOptions = {},
): Batches<Buffer> {
  const origin = connection.url;
  const inflated = new Flow<Uint8Array>(async function* () {
    // Without the stages that `gunzip` has for files, each of which a message would have to pass.
    const file = new GzipFile({ plain: 'refuse', maxBytes: Number.POSITIVE_INFINITY, origin });
    try {
      for await (const pieces of connection.blocks) {
        onBytes?.();
        // A flush of each message makes many small pieces, and each would be a call of the decoder.
        const bytes = pieces.length === 1 ? pieces[0]! : Buffer.concat(pieces);
        for (const items of file.push(bytes)) yield { items, origin };
      }
      file.end();
    } finally {
      file.close();
    }
  });
  return batchesOf(jsonLines({ separator: '\r\n' })(inflated), { signal });
}
