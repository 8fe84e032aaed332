import { bytesOf } from './bytes-of.js';
import type { Batches } from './flow.js';

/**
 * Makes items out of the bytes of one file or document, cut at any byte. What it keeps of a block after
 * `push` it copies.
 */
export interface Framer<T> {
  /** Adds the items that end in these bytes. */
  push(block: Buffer, items: T[]): void | Promise<void>;
  /** The file or document is over: adds what is left, or throws where something is missing. */
  end(items: T[]): void | Promise<void>;
}

/**
 * Runs bytes through a framer, with a new one after each edge. What was whole before something went
 * wrong is delivered before the error.
 */
export async function* framed<T>(
  input: Batches<Uint8Array>,
  start: (origin: string | undefined) => Framer<T>,
): Batches<T> {
  let framer: Framer<T> | undefined;
  let lastOrigin: string | undefined;
  for await (const { items: blocks, cursor, origin, giveBack } of input) {
    const items: T[] = [];
    lastOrigin = origin;
    try {
      for (const block of blocks) {
        framer ??= start(origin);
        await framer.push(bytesOf(block), items);
      }
      if (cursor !== undefined) {
        await framer?.end(items);
        framer = undefined;
      }
    } catch (error) {
      if (items.length > 0) yield { items, origin };
      throw error;
    }
    if (items.length > 0 || cursor !== undefined) yield { items, cursor, origin, giveBack };
    else giveBack?.();
  }
  const items: T[] = [];
  await framer?.end(items);
  if (items.length > 0) yield { items, origin: lastOrigin };
}
