import { ConnectionError } from '../base/errors.js';
import { GzipDecoder } from '../gzip/inflate-stream.js';
import { CR, LF } from '../json/byte-codes.js';
import { LineFramer } from '../json/line-framer.js';
import type { OnDamaged } from '../json/records.js';
import { recordLimits } from '../json/records.js';
import type { Batches } from './flow.js';
import { frameRecords } from './frame-records.js';

/**
 * The largest block that is checked for heartbeats, in bytes. A block of this size could hold hours of
 * heartbeats. Checking every byte of a larger block would take far longer than inflating it.
 */
const MAX_HEARTBEAT_BYTES = 4096;

/** If an oversized record continues for this many bytes, the stream counts as damaged. */
const MAX_SKIPPED_BYTES = 64 * 1024 * 1024;

/** A live gzip response. Chunks that arrive together are one array. */
export interface LiveBytes {
  readonly rawBlocks: AsyncIterable<readonly Buffer[]>;
  readonly url: string;
}

export interface LiveRecordsOptions {
  /**
   * Called each time bytes have arrived and their records have been delivered. `isHeartbeat` is true if the
   * bytes contained only heartbeats.
   */
  readonly onBytes?: ((isHeartbeat: boolean) => void) | undefined;
  /**
   * Called with each record that is too large or not a JSON object. If absent, the first such record throws.
   */
  readonly onDamaged?: OnDamaged | undefined;
}

/**
 * Reads the records of a live stream. Delivers the exact bytes of each record as soon as the record is
 * complete, and skips heartbeats. CRLF separates records. Inflates and frames in one step, because an
 * additional stage would delay every message.
 */
export function liveRecords(
  connection: LiveBytes,
  { onBytes, onDamaged }: LiveRecordsOptions = {},
): Batches<Buffer> {
  const limits = recordLimits('stream');
  let hasEnded = false;
  const content = async function* () {
    yield* inflated(connection, onBytes);
    hasEnded = true;
  };
  const damaged: OnDamaged = (record, error) => {
    // An incomplete last record is not damaged. It means that the connection broke, even if it was
    // closed cleanly.
    if (hasEnded)
      throw new ConnectionError(`${connection.url} ended in the middle of a record`, {
        failure: 'cut',
        url: connection.url,
        cause: error,
      });
    if (onDamaged === undefined) throw error;
    return onDamaged(record, error);
  };
  return frameRecords(
    'replay',
    content(),
    origin =>
      new LineFramer('\r\n', limits, origin, {
        onDamaged: damaged,
        limitsAreOptions: false,
        maxSkippedBytes: MAX_SKIPPED_BYTES,
      }),
  );
}

async function* inflated(
  { rawBlocks, url: origin }: LiveBytes,
  onBytes: ((isHeartbeat: boolean) => void) | undefined,
): Batches<Buffer> {
  const file = new GzipDecoder({ plain: 'refuse', maxBytes: Number.POSITIVE_INFINITY, origin });
  try {
    for await (const chunks of rawBlocks) {
      let isHeartbeat: boolean | undefined;
      // The service flushes each message, so chunks are small. One decoder call for all chunks is faster than
      // one for each.
      const bytes = chunks.length === 1 ? chunks[0]! : Buffer.concat(chunks);
      for (const items of file.push(bytes)) {
        isHeartbeat = (isHeartbeat ?? true) && items.every(isLineEnds);
        yield { items, origin };
      }
      onBytes?.(isHeartbeat ?? false);
    }
    file.end();
  } finally {
    file.close();
  }
}

/** Whether these bytes are only line ends, which the service sends as heartbeats. */
function isLineEnds(bytes: Buffer): boolean {
  return bytes.length <= MAX_HEARTBEAT_BYTES && bytes.every(byte => byte === CR || byte === LF);
}
