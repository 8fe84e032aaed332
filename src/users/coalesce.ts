import type { Batch, Batches } from '../flow/flow.js';
import { TimedInput } from '../flow/timed-input.js';

/** A group of items from several batches, or from a part of one. */
export interface CoalescedItems<T> {
  readonly items: readonly T[];
  /** The same items as batches, each with the cursor after it. */
  readonly batches: readonly Batch<T>[];
}

export interface CoalesceOptions {
  /** The maximum number of items in a group. */
  readonly maxItems: number;
  /** How long items wait for more, in milliseconds. */
  readonly waitMs: number;
}

/**
 * Combines small batches into larger groups of items, in order: a group is complete when it has
 * `maxItems`, or `waitMs` after its first item. A cursor stays after the last item of its batch. An
 * error of the input is thrown after the items that were read before it.
 */
export async function* coalesce<T>(
  input: Batches<T>,
  { maxItems, waitMs }: CoalesceOptions,
): AsyncGenerator<CoalescedItems<T>, void, undefined> {
  const timed = new TimedInput(input);
  let batches: Batch<T>[] = [];
  let count = 0;
  /** The latest time at which the current group is complete. */
  let deadline = 0;
  const take = (): CoalescedItems<T> => {
    const together = { items: batches.flatMap(({ items }) => items), batches };
    batches = [];
    count = 0;
    return together;
  };
  let failure: { readonly error: unknown } | undefined;
  const fail = (error: unknown) => {
    failure = { error };
    return { done: true, value: undefined } as const;
  };

  try {
    while (true) {
      const result = await timed.next(count === 0 ? undefined : deadline).catch(fail);
      if (result === 'late') {
        yield take();
        continue;
      }
      if (result.done) {
        if (batches.length > 0) yield take();
        if (failure !== undefined) throw failure.error;
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
          batches,
          at < items.length ? { ...rest, items: part } : { ...rest, items: part, cursor },
        );
        // A cursor without items does not wait.
        if (count === maxItems || count === 0) yield take();
      } while (at < items.length);
    }
  } finally {
    await timed.close();
  }
}

/** Of successive batches without items, only the last cursor is kept. */
function add<T>(batches: Batch<T>[], batch: Batch<T>): void {
  const last = batches.at(-1);
  if (batch.items.length > 0 || last === undefined) batches.push(batch);
  else if (batch.cursor !== undefined)
    batches[batches.length - 1] = { ...last, cursor: batch.cursor };
}
