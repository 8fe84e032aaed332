import type { Framer } from '../json/framer.js';
import { bytesOf } from './bytes-of.js';
import type { InternalBatches } from './internal-flow.js';

/**
 * Runs blocks of bytes through a framer, a new one after each batch with a cursor: there a file or
 * document ends. Items that are complete before an error are delivered first.
 */
export async function* framed<T>(
  input: InternalBatches<Uint8Array>,
  start: (origin: string | undefined) => Framer<T> | Promise<Framer<T>>,
): InternalBatches<T> {
  let framer: Framer<T> | undefined;
  let lastOrigin: string | undefined;
  for await (const batch of input) {
    const { items: blocks, cursor, origin, release } = batch;
    if (batch.scanned !== undefined) {
      yield { ...batch, items: [] };
      continue;
    }
    const items: T[] = [];
    lastOrigin = origin;
    try {
      for (const block of blocks) {
        framer ??= await start(origin);
        const waiting = framer.push(bytesOf(block), items);
        if (waiting !== undefined) await waiting;
      }
      if (cursor !== undefined) {
        await framer?.end(items);
        framer = undefined;
      }
    } catch (error) {
      if (items.length > 0) yield { items, origin };
      throw error;
    }
    if (items.length > 0 || cursor !== undefined) yield { items, cursor, origin, release };
    else release?.();
  }
  const items: T[] = [];
  await framer?.end(items);
  if (items.length > 0) yield { items, origin: lastOrigin };
}
