import type { Batch, Batches } from '../flow/flow.js';

/** Items of several batches, or of a part of one, that are handled together. */
export interface CoalescedItems<T> {
  readonly items: readonly T[];
  /** The same as batches, each with the cursor that stands at its end. */
  readonly pieces: readonly Batch<T>[];
}

export interface CoalesceOptions {
  /** Most items together. */
  readonly maxItems: number;
  /** How long items wait for more, in milliseconds. */
  readonly waitMs: number;
}

/**
 * Gathers the items of batches, up to so many and no longer than a time, in their order. A cursor
 * stays behind the last item of its batch. An error of the input comes after what was read before.
 */
export async function* coalesce<T>(
  input: Batches<T>,
  { maxItems, waitMs }: CoalesceOptions,
): AsyncGenerator<CoalescedItems<T>, void, undefined> {
  const iterator = input[Symbol.asyncIterator]();
  let next: Promise<Next<T>> | undefined;
  let pieces: Batch<T>[] = [];
  let count = 0;
  /** Until when the items wait. */
  let deadline = 0;
  let ended = false;
  const take = (): CoalescedItems<T> => {
    const together = { items: pieces.flatMap(({ items }) => items), pieces };
    pieces = [];
    count = 0;
    return together;
  };

  try {
    while (true) {
      next ??= settled(iterator.next());
      const result = count === 0 ? await next : await within(next, deadline - performance.now());
      if (result === 'late') {
        yield take();
        continue;
      }
      next = undefined;
      if ('error' in result || result.done) {
        ended = true;
        if (pieces.length > 0) yield take();
        if ('error' in result) throw result.error;
        return;
      }
      if (count === 0) deadline = performance.now() + waitMs;
      const { items, cursor, ...rest } = result.value;
      let at = 0;
      do {
        const part = items.slice(at, at + maxItems - count);
        at += part.length;
        count += part.length;
        add(
          pieces,
          at < items.length ? { ...rest, items: part } : { ...rest, items: part, cursor },
        );
        // What has no items waits for nothing.
        if (count === maxItems || count === 0) yield take();
      } while (at < items.length);
    }
  } finally {
    if (!ended) await iterator.return?.();
  }
}

/** Of batches without items, only the last cursor counts. */
function add<T>(pieces: Batch<T>[], piece: Batch<T>): void {
  const last = pieces.at(-1);
  if (piece.items.length > 0 || last === undefined) pieces.push(piece);
  else if (piece.cursor !== undefined)
    pieces[pieces.length - 1] = { ...last, cursor: piece.cursor };
}

type Next<T> = IteratorResult<Batch<T>> | { readonly error: unknown };

/** Never rejects: it may be left waiting. */
function settled<T>(next: Promise<IteratorResult<Batch<T>>>): Promise<Next<T>> {
  return next.catch(error => ({ error }));
}

async function within<T>(promise: Promise<T>, ms: number): Promise<T | 'late'> {
  let timer: NodeJS.Timeout | undefined;
  const late = new Promise<'late'>(resolve => {
    timer = setTimeout(resolve, Math.max(0, ms), 'late');
  });
  try {
    return await Promise.race([promise, late]);
  } finally {
    clearTimeout(timer);
  }
}
