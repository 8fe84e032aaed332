import type { Framer } from '../json/records.js';
import type { Batches } from './flow.js';
import { bytesOf } from './wrong-item.js';

/**
 * The maximum number of items in a batch. Each item takes some hundred bytes in addition to its content, so a
 * block of tiny items is delivered in several batches.
 */
const MAX_ITEMS = 16_384;
const MIN_PIECE_BYTES = 64 * 1024;
const MAX_PIECE_BYTES = 16 * 1024 * 1024;

/**
 * Cuts blocks of bytes into records with a framer. A batch with a cursor ends a file or document, so the next
 * batch gets a new framer. If a framer fails, the records that were complete before the failure are delivered
 * first.
 */
export async function* frameRecords<T>(
  call: string,
  input: Batches<Uint8Array>,
  start: (origin: string | undefined) => Framer<T>,
): Batches<T> {
  let framer: Framer<T> | undefined;
  let lastOrigin: string | undefined;
  let pieceBytes = MIN_PIECE_BYTES;
  for await (const batch of input) {
    const { items: blocks, cursor, origin } = batch;
    let items: T[] = [];
    lastOrigin = origin;
    try {
      for (const block of blocks) {
        const bytes = bytesOf(call, block, origin);
        for (let from = 0; from < bytes.length || from === 0; ) {
          framer ??= start(origin);
          const piece = bytes.subarray(from, from + pieceBytes);
          const before = items.length;
          const waiting = framer.push(piece, items);
          if (waiting !== undefined) await waiting;
          from += Math.max(1, piece.length);
          pieceBytes = nextPieceBytes(piece.length, items.length - before);
          if (items.length < MAX_ITEMS) continue;
          yield { items, origin };
          items = [];
        }
      }
      if (cursor !== undefined) {
        await framer?.end(items);
        framer = undefined;
      }
    } catch (error) {
      if (items.length > 0) yield { items, origin };
      throw error;
    }
    if (items.length > 0 || cursor !== undefined) yield { items, cursor, origin };
  }
  const items: T[] = [];
  await framer?.end(items);
  if (items.length > 0) yield { items, origin: lastOrigin };
}

/**
 * Returns how many bytes to pass to the framer in the next call, so that they contain about half of
 * `MAX_ITEMS` items. The framer returns all items of these bytes at once.
 *
 * @param bytes The number of bytes in the previous call.
 * @param items The number of items in these bytes.
 */
function nextPieceBytes(bytes: number, items: number): number {
  const wanted = (bytes * MAX_ITEMS) / (2 * Math.max(1, items));
  return Math.min(MAX_PIECE_BYTES, Math.max(MIN_PIECE_BYTES, Math.ceil(wanted)));
}
