import { checkOptions, type OptionTable, oneOf, whole } from '../base/check.js';
import { stageFlow } from '../files/plan.js';
import type { Batch, Batches, Operator } from '../flow/flow.js';
import { workAhead } from '../flow/read-ahead.js';
import { bytesOf } from '../flow/wrong-item.js';
import type { InflateLimits } from '../gzip/compression.js';
import { SniffingDecoder } from '../gzip/inflate-stream.js';
import { inflateGzip } from '../gzip/inflate-whole.js';
import type { Bytes, FileBytes } from '../json/records.js';

/** Options of `gunzip`: what to do with files that are not compressed, and the maximum inflated size. */
export interface GunzipOptions {
  /**
   * What to do with a file that is neither gzip nor zstd: `refuse` throws, `pass` passes its bytes through.
   * @default 'refuse'
   */
  readonly plain?: 'refuse' | 'pass' | undefined;
  /**
   * The maximum inflated size of one file, in bytes. Memory is bounded even without this limit, because large
   * files are inflated in pieces.
   * @default Infinity
   */
  readonly maxBytes?: number | undefined;
}

/**
 * How many files are inflated in advance while the consumer works on an earlier file. If the contents of a
 * file exceed `MAX_CONTENT_BYTES`, the file is inflated in pieces instead.
 */
const AHEAD = 1;
const MAX_CONTENT_BYTES = 16 * 1024 * 1024;
/**
 * The size of a delivered block in bytes. A small block saves memory: the objects that are created from it
 * are freed when the next block arrives.
 */
const BLOCK_BYTES = 256 * 1024;

const OPTIONS = {
  plain: oneOf(
    'what to do with a file that is neither gzip nor zstd',
    ['refuse', 'pass'],
    'refuse',
  ),
  maxBytes: whole('bytes of one file once inflated', {
    min: 1,
    orInfinity: true,
    default: Number.POSITIVE_INFINITY,
  }),
} satisfies OptionTable<GunzipOptions>;

/**
 * Inflates gzip files of one or several members, and zstd files if Node has zstd (22.15 and later). The first
 * bytes of a file decide which format it has. If each gzip file arrives as one batch, the next file is
 * inflated in the thread pool while earlier files are processed. `localFiles` delivers files in this way. The
 * order of the files is kept. Bytes of a live stream are delivered as soon as they arrive.
 *
 * @throws OptionError Immediately, if an option is invalid.
 * @throws DataError From the flow, with file and byte, if a file is truncated or corrupt, or if anything but
 *   zeros follows its end. Also thrown for a zstd file if this version of Node cannot read zstd. Everything
 *   that was inflated before the error is delivered first, except up to 16 KiB before the damage of a corrupt
 *   file.
 * @example
 * pipeline(localFiles('archive'), gunzip(), jsonLines(), activities(), files({ path: 'all.jsonl' }));
 */
export function gunzip(options: GunzipOptions = {}): Operator<Bytes, Buffer & FileBytes> {
  const limits = checkOptions('gunzip', OPTIONS, options);
  return input =>
    stageFlow(
      input,
      batches => inflateBatches(batches, limits) as Batches<Buffer & FileBytes>,
      (plan, stage) => plan.inflated(limits, stage),
    );
}

/**
 * Inflates the gzip and zstd files of a flow. A gzip file that arrives as one batch is inflated in the thread
 * pool while earlier files are processed. Other files are inflated as their bytes arrive: zstd files, and
 * gzip files that are large, damaged or in several batches.
 */
async function* inflateBatches(input: Batches<Uint8Array>, limits: InflateLimits): Batches<Buffer> {
  let file: SniffingDecoder | undefined;
  let isAtStart = true;
  /**
   * Starts to inflate a batch if the batch is a whole file. A batch is a whole file if it ends with a cursor,
   * and the previous batch also ended with one.
   */
  const begin = ({ items, cursor, origin }: Batch<Uint8Array>) => {
    const isWhole = isAtStart && cursor !== undefined && items.length > 0;
    isAtStart = cursor !== undefined || (isAtStart && items.length === 0);
    const bytes = isWhole ? items.map(item => bytesOf('gunzip', item, origin)) : [];
    const maxBytes = Math.min(limits.maxBytes, MAX_CONTENT_BYTES);
    if (isWhole)
      return inflateGzip(bytes.length === 1 ? bytes[0]! : Buffer.concat(bytes), maxBytes);
    return undefined;
  };
  try {
    for await (const { item: batch, result } of workAhead(input, begin, AHEAD)) {
      const { items, cursor, origin } = batch;
      if (result !== undefined) {
        const end = Math.max(0, result.length - BLOCK_BYTES);
        let at = 0;
        for (; at < end; at += BLOCK_BYTES)
          yield { items: [result.subarray(at, at + BLOCK_BYTES)], origin };
        yield { items: [result.subarray(at)], cursor, origin };
        continue;
      }
      let last: readonly Buffer[] = [];
      try {
        for (const item of items) {
          file ??= new SniffingDecoder({ ...limits, origin });
          for await (const blocks of file.push(bytesOf('gunzip', item, origin))) {
            if (last.length > 0) yield { items: last, origin };
            last = blocks;
          }
        }
        if (cursor !== undefined) {
          for (const blocks of file?.end() ?? []) last = blocks;
          file?.close();
          file = undefined;
        }
      } catch (error) {
        if (last.length > 0) yield { items: last, origin };
        throw error;
      }
      if (last.length > 0 || cursor !== undefined) yield { items: last, cursor, origin };
    }
    for (const items of file?.end() ?? []) yield { items };
  } finally {
    file?.close();
  }
}
