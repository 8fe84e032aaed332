import { WakeUp } from '../base/wait.js';

/** An item of `workAhead`, and the result of the work on it. */
export interface Worked<T, R> {
  readonly item: T;
  /** Absent where `work` returned `undefined`. */
  readonly result: R | undefined;
}

/**
 * Reads items and starts work on them while the consumer is busy with earlier ones, up to a total
 * weight of `limit`, and yields them in order. An error of the input is thrown after the items that were
 * read before it.
 */
export async function* workAhead<T, R>(
  input: Iterable<T> | AsyncIterable<T>,
  work: (item: T) => Promise<R> | undefined,
  limit: number,
  weigh: (item: T) => number = () => 1,
): AsyncGenerator<Worked<T, R>, void, undefined> {
  const iterator =
    Symbol.asyncIterator in input ? input[Symbol.asyncIterator]() : input[Symbol.iterator]();
  const queue: { readonly item: T; readonly result: Promise<R> | undefined }[] = [];
  let weight = 0;
  let reading = false;
  let end: { readonly error?: unknown } | undefined;
  const wakeUp = new WakeUp();

  const read = async () => {
    if (reading || end !== undefined || weight >= limit) return;
    reading = true;
    try {
      const { done, value } = await iterator.next();
      if (done === true) end ??= {};
      else if (end === undefined) {
        const result = work(value);
        // An error is thrown when the item's turn comes; until then it must not end the process.
        result?.catch(() => {});
        queue.push({ item: value, result });
        weight += weigh(value);
      }
    } catch (error) {
      end ??= { error };
    }
    reading = false;
    wakeUp.wake();
    read();
  };

  try {
    while (true) {
      read();
      const next = queue[0];
      if (next !== undefined) {
        const result = next.result === undefined ? undefined : await next.result;
        queue.shift();
        weight -= weigh(next.item);
        read();
        yield { item: next.item, result };
      } else if (end === undefined) {
        await wakeUp.next();
      } else if ('error' in end) throw end.error;
      else return;
    }
  } finally {
    const ended = end !== undefined;
    end = {};
    if (!ended) await iterator.return?.();
  }
}
