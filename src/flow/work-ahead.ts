/** What `workAhead` gives: an item, and what the work on it came to. */
export interface Worked<T, R> {
  readonly item: T;
  /** Absent where there was nothing to do ahead. */
  readonly result: R | undefined;
}

/**
 * Reads items and starts work on them while the consumer is still busy with earlier ones, until they
 * weigh `limit` together, and gives them in their order. An error of the input comes after what was
 * read before it.
 */
export async function* workAhead<T, R>(
  input: AsyncIterable<T>,
  work: (item: T) => Promise<R> | undefined,
  limit: number,
  weigh: (item: T) => number = () => 1,
): AsyncGenerator<Worked<T, R>, void, undefined> {
  const iterator = input[Symbol.asyncIterator]();
  const queue: { readonly item: T; readonly result: Promise<R> | undefined }[] = [];
  let weight = 0;
  let reading = false;
  let end: { readonly error?: unknown } | undefined;
  let wake = () => {};

  const read = async () => {
    if (reading || end !== undefined || weight >= limit) return;
    reading = true;
    try {
      const { done, value } = await iterator.next();
      if (done === true) end ??= {};
      else if (end === undefined) {
        const result = work(value);
        // Its error is met when its turn comes; until then it must not end the process.
        result?.catch(() => {});
        queue.push({ item: value, result });
        weight += weigh(value);
      }
    } catch (error) {
      end ??= { error };
    }
    reading = false;
    wake();
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
        await new Promise<void>(resolve => {
          wake = resolve;
        });
      } else if ('error' in end) throw end.error;
      else return;
    }
  } finally {
    const ended = end !== undefined;
    end = {};
    if (!ended) await iterator.return?.();
  }
}
