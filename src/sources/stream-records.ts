import type { StreamConnection } from '../client/stream-connection.js';
import { type Batches, batchesOf, Flow } from '../flow.js';
import { gunzip } from '../operators/gunzip.js';
import { jsonLines } from '../operators/json-lines.js';

/**
 * The records of a stream, as soon as they are whole: the exact bytes of each, without heartbeats. They
 * are parted by CRLF and may be cut at any byte, in the gzip as in a character. `onBytes` is told of
 * each arrival, heartbeats too, a few before their records come.
 */
export function streamRecords(
  connection: StreamConnection,
  signal: AbortSignal,
  { onBytes }: { readonly onBytes?: () => void } = {},
): Batches<Buffer> {
  const origin = connection.url;
  const bytes = new Flow<Uint8Array>(async function* () {
    for await (const items of connection.blocks) {
      onBytes?.();
      // A flush of each message makes many small pieces, and each would be a call of the decoder.
      yield { items: items.length > 1 ? [Buffer.concat(items)] : items, origin };
    }
  });
  return batchesOf(jsonLines({ separator: '\r\n' })(gunzip()(bytes)), { signal });
}
