import { checkOptions, type OptionTable, oneOf, whole } from '../base/check.js';
import { stageFlow } from '../files/plan.js';
import type { Batch, Batches, Operator } from '../flow/flow.js';
import { workAhead } from '../flow/read-ahead.js';
import { bytesOf } from '../flow/wrong-item.js';
import type { InflateLimits } from '../gzip/compression.js';
import { SniffingDecoder } from '../gzip/inflate-stream.js';
import { inflateGzip } from '../gzip/inflate-whole.js';
import type { Bytes, FileBytes } from '../json/records.js';

/** What `gunzip` does with files that are not gzip or inflate to too many bytes. */
export interface GunzipOptions {
  /**
   * What to do with a file that is neither gzip nor zstd: fail, or pass its bytes through.
   * @default 'refuse'
   */
  readonly plain?: 'refuse' | 'pass' | undefined;
  /**
   * The maximum inflated size of one file, in bytes. Memory is bounded without it: at most about 40 MiB
   * of large files are held at a time.
   * @default Infinity
   */
  readonly maxBytes?: number | undefined;
}

/** Files that inflate while the consumer works on an earlier one, and the maximum size of their contents. */
const AHEAD = 1;
const MAX_CONTENT_BYTES = 16 * 1024 * 1024;
/** The size of a block. Objects made from it live until the next block, so small blocks die young. */
const BLOCK = 256 * 1024;

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
 * Inflates gzip files of one or several members, and zstd files where Node has zstd (22.15 and later); the first bytes
 * of a file tell which it is. Gzip files that arrive as one batch each, such as files read by `localFiles`, are
 * inflated in the thread pool ahead of their turn and delivered in order; bytes of a live stream are delivered as soon
 * as they arrive.
 *
 * @throws OptionError Immediately, if an option is invalid.
 * @throws DataError From the flow, with file and byte, if a file is cut short, is corrupt, is zstd and this Node
 * cannot read it, or has anything but zeros after its end. What was inflated before the error is delivered first; of a
 * corrupt file, up to 16 KiB before the damage may be missing.
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
 * Inflates the gzip and zstd files of a flow. A file that comes as one batch inflates
 * in the thread pool, ahead of its turn, unless it is large or damaged; others inflate on this thread as their
 * bytes come.
 */
async function* inflateBatches(input: Batches<Uint8Array>, limits: InflateLimits): Batches<Buffer> {
  let file: SniffingDecoder | undefined;
  let isAtStart = true;
  /** Begins to inflate a batch that is a whole file: that batch, and the one before it, end with a cursor. */
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
        const end = Math.max(0, result.length - BLOCK);
        let at = 0;
        for (; at < end; at += BLOCK) yield { items: [result.subarray(at, at + BLOCK)], origin };
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
