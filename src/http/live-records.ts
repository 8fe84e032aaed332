import type { Batches } from '../flow/flow.js';
import { framed } from '../flow/framed.js';
import { GzipFile } from '../gzip/gzip-file.js';
import type { OnDamaged } from '../json/damaged-record.js';
import { LineFramer } from '../json/line-framer.js';
import { recordLimits } from '../json/record-limits.js';
import type { LiveConnection } from './live-connection.js';

export interface LiveRecordsOptions {
  /** Told of each arrival, heartbeats too, a few before their records come. */
  readonly onBytes?: (() => void) | undefined;
  /** Told of each record that is no JSON object, or too large; one throws where it is absent. */
  readonly onDamaged?: OnDamaged | undefined;
}

/**
 * The records of a stream: the exact bytes of each, without heartbeats, as soon as they are whole. They
 * are parted by CRLF and may be cut at any byte, in the gzip as in a character. Ends with the connection,
 * without the stages of a flow, each of which a message would have to pass.
 */
export function liveRecords(
  connection: LiveConnection,
  { onBytes, onDamaged }: LiveRecordsOptions = {},
): Batches<Buffer> {
  const limits = recordLimits('stream');
  return framed(
    inflated(connection, onBytes),
    origin => new LineFramer('\r\n', limits, origin, { onDamaged, limitsAreOptions: false }),
  );
}

async function* inflated(
  { blocks, url: origin }: LiveConnection,
  onBytes: (() => void) | undefined,
): Batches<Buffer> {
  const file = new GzipFile({ plain: 'refuse', maxBytes: Number.POSITIVE_INFINITY, origin });
  try {
    for await (const pieces of blocks) {
      onBytes?.();
      // A flush of each message makes many small pieces, and each would be a call of the decoder.
      const bytes = pieces.length === 1 ? pieces[0]! : Buffer.concat(pieces);
      for (const items of file.push(bytes)) yield { items, origin };
    }
    file.end();
  } finally {
    file.close();
  }
}
