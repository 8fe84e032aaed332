import type { InflateLimits } from '../gzip/compression.js';
import { inflateGzip } from '../gzip/inflate-whole.js';
import { SniffingDecoder } from '../gzip/sniffing-decoder.js';
import type { Batch, Batches } from './flow.js';
import { workAhead } from './read-ahead.js';
import { bytesOf } from './wrong-item.js';

/** Files that inflate while the consumer works on an earlier one, and the maximum size of their contents. */
const AHEAD = 1;
const MAX_CONTENT_BYTES = 16 * 1024 * 1024;
/** The size of a block. Objects made from it live until the next block, so small blocks die young. */
const BLOCK = 256 * 1024;

/**
 * Inflates the gzip and zstd files of a flow, see `gunzip`. A file that comes as one batch inflates
 * in the thread pool, ahead of its turn, unless it is large or damaged; others inflate on this thread as their
 * bytes come.
 */
export async function* inflateBatches(
  input: Batches<Uint8Array>,
  limits: InflateLimits,
): Batches<Buffer> {
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
