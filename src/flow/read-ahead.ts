import { Channel } from '../base/channel.js';

export interface Worked<T, R> {
  readonly item: T;
  /** Absent if `work` returned `undefined`. */
  readonly result: R | undefined;
}

/**
 * Starts `work` on items while the consumer is busy with earlier items. Yields each item with the result of
 * its work, in order. Reads ahead until the total weight of the items that were not yielded yet is `limit`.
 * If the input fails, first yields the items that were read before, then throws the error. Closes the input
 * if the consumer stops.
 */
export async function* workAhead<T, R>(
  input: Iterable<T> | AsyncIterable<T>,
  work: (item: T) => Promise<R> | undefined,
  limit: number,
  weigh: (item: T) => number = () => 1,
): AsyncGenerator<Worked<T, R>, void, undefined> {
  const iterator =
    Symbol.asyncIterator in input ? input[Symbol.asyncIterator]() : input[Symbol.iterator]();
  const started = fill(iterator, {
    limit,
    weigh,
    start: item => {
      const result = work(item);
      // If `work` fails, its error is thrown once all earlier items have been yielded. Until then, it must
      // not end the process as an unhandled rejection.
      result?.catch(() => {});
      return { item, result };
    },
  });
  try {
    while (await started.ready()) {
      const { item, result } = started.first as Started<T, R>;
      const done = result === undefined ? undefined : await result;
      started.shift();
      yield { item, result: done };
    }
  } finally {
    const hasEnded = !started.isOpen;
    started.end();
    if (!hasEnded) await iterator.return?.();
  }
}

/**
 * Starts to read items immediately, up to `ahead` items before the consumer asks for them. Does not close its
 * input, because closing would wait for the next item to arrive, for example on a live connection. To end the
 * input, abort its signal.
 */
export function readAhead<T>(
  input: AsyncIterator<T, unknown>,
  ahead: number,
): AsyncGenerator<T, void, undefined> {
  const read = fill(input, { limit: ahead, weigh: () => 1, start: item => ({ item }) });
  return (async function* () {
    while (await read.ready()) yield (read.shift() as { readonly item: T }).item;
  })();
}

interface Started<T, R> {
  readonly item: T;
  readonly result?: Promise<R> | undefined;
}

interface Ahead<T, R> {
  readonly limit: number;
  readonly weigh: (item: T) => number;
  readonly start: (item: T) => Started<T, R>;
}

function fill<T, R>(
  input: Iterator<T, unknown> | AsyncIterator<T, unknown>,
  { limit, weigh, start }: Ahead<T, R>,
): Channel<Started<T, R>> {
  const channel = new Channel<Started<T, R>>(limit, ({ item }) => weigh(item));
  const read = async () => {
    while (channel.isOpen) {
      const { done, value } = await input.next();
      if (done === true) channel.end();
      else if (channel.isOpen) await channel.add([start(value)]);
    }
  };
  read().catch(error => channel.fail(error));
  return channel;
}
