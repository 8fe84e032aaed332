import fc from 'fast-check';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { OptionError } from '../../src/base/errors.js';
import { Flow } from '../../src/flow/flow.js';
import { pipeline } from '../../src/flow/pipeline.js';
import { Progress } from '../../src/flow/progress.js';
import { compose } from '../../src/operators/compose.js';
import { map } from '../../src/operators/map.js';
import { take } from '../../src/operators/take.js';
import { through } from '../../src/operators/through.js';
import { collect } from '../../src/sinks/collect.js';
import { merge } from '../../src/sources/merge.js';
import { all, cutAt, cuts } from '../json/cut.js';
import { bySuite } from '../suite.js';

const unhandled: unknown[] = [];
const onUnhandled = (error: unknown) => unhandled.push(error);
beforeEach(() => {
  unhandled.length = 0;
  process.on('unhandledRejection', onUnhandled);
});
afterEach(async () => {
  await new Promise(resolve => setTimeout(resolve, 5));
  process.off('unhandledRejection', onUnhandled);
  expect(unhandled).toEqual([]);
});

const failure = new Error('broken');

const numbers = (count: number) =>
  new Flow<number>(async function* () {
    for (let n = 0; n < count; n++) yield { items: [n] };
  });

function waiting() {
  let close: (reason: unknown) => void = () => {};
  const closed = new Promise<unknown>(resolve => {
    close = resolve;
  });
  const flow = new Flow<number>(async function* ({ signal }) {
    yield { items: [1] };
    await new Promise((_, reject) => {
      signal.addEventListener('abort', () => reject(signal.reason), { once: true });
    }).finally(() => close(signal.reason));
  });
  return { flow, closed };
}

const doubling = () =>
  new TransformStream<number, number>({
    transform: (item, controller) => controller.enqueue(2 * item),
  });

describe('a ReadableStream as a source', () => {
  const three = () =>
    new ReadableStream<number>({
      start(controller) {
        for (const item of [1, 2, 3]) controller.enqueue(item);
        controller.close();
      },
    });

  it('delivers its items', async () => {
    const tenfold = map((n: number) => n * 10);
    expect(await pipeline(three(), tenfold, collect())).toEqual([10, 20, 30]);
  });

  it('delivers null as an item instead of ending', async () => {
    const stream = new ReadableStream<number | null>({
      start(controller) {
        for (const item of [1, null, 2]) controller.enqueue(item);
        controller.close();
      },
    });
    expect(await pipeline(stream, collect())).toEqual([1, null, 2]);
  });

  it('counts its items in the progress', async () => {
    let progress: unknown;
    const onProgress = ({ received }: { readonly received: number }) => {
      progress = received;
    };
    await pipeline(three(), collect(), { progress: onProgress });
    expect(progress).toBe(3);
  });

  it('is not left locked after the run', async () => {
    const stream = three();
    await pipeline(stream, collect());
    expect(stream.locked).toBe(false);
  });

  it('is canceled with the reason of an abort, even while it has nothing to read', async () => {
    let canceled: unknown;
    const stream = new ReadableStream<number>({
      cancel: reason => {
        canceled = reason;
      },
    });
    const controller = new AbortController();
    const run = pipeline(stream, collect(), { signal: controller.signal });
    setTimeout(() => controller.abort(failure), 5);
    await expect(run).rejects.toBe(failure);
    expect(canceled).toBe(failure);
    expect(stream.locked).toBe(false);
  });

  it('is canceled without an error when a later stage stops reading', async () => {
    const canceled: unknown[] = [];
    const stream = new ReadableStream<number>({
      pull: controller => controller.enqueue(1),
      cancel: reason => {
        canceled.push(reason);
      },
    });
    expect(await pipeline(stream, take(2), collect())).toEqual([1, 1]);
    expect(canceled).toEqual([undefined]);
  });

  it('is canceled with the error of a sink', async () => {
    let canceled: unknown;
    const stream = new ReadableStream<number>({
      pull: controller => controller.enqueue(1),
      cancel: reason => {
        canceled = reason;
        throw new Error('cancel fails, too');
      },
    });
    const failing = async (input: AsyncIterable<number>) => {
      for await (const _ of input) throw failure;
    };
    await expect(pipeline(stream, failing)).rejects.toBe(failure);
    expect(stream.locked).toBe(false);
    void canceled;
  });

  it('fails with its own error', async () => {
    const stream = new ReadableStream<number>({
      pull(controller) {
        controller.error(failure);
      },
    });
    await expect(pipeline(stream, collect())).rejects.toBe(failure);
  });

  it('may come from a polyfill without an async iterator', async () => {
    let item = 0;
    const foreign = () => ({
      locked: false,
      cancel: async () => {},
      pipeTo: async () => {},
      getReader: () => ({
        read: async () => (item < 3 ? { done: false, value: item++ } : { done: true }),
        cancel: async () => {},
        releaseLock: () => {},
      }),
    });
    expect(await pipeline(foreign(), collect())).toEqual([0, 1, 2]);
    item = 1;
    expect((await all(merge(foreign(), numbers(2)))).toSorted()).toEqual([0, 1, 1, 2]);
  });
});

describe('a TransformStream as an operator', () => {
  it('transforms all items at every position in the pipeline', async () => {
    const expected = [0, 2, 4, 6, 8];
    expect(await pipeline(numbers(5), doubling(), collect())).toEqual(expected);
    expect(await all(through(doubling())(numbers(5)))).toEqual(expected);
    const twice = compose(doubling(), doubling());
    expect(await all(twice(numbers(5)))).toEqual(expected.map(n => 2 * n));
  });

  it('compresses and decompresses all bytes, for any chunk sizes', async () => {
    const text = 'a é 漢 😀'.repeat(20);
    const bytes = Buffer.from(text);
    await fc.assert(
      fc.asyncProperty(cuts(bytes.length), async places => {
        const blocks = new Flow<Uint8Array>(async function* () {
          yield { items: cutAt(bytes, places) };
        });
        const texts = await pipeline(
          blocks,
          new CompressionStream('gzip'),
          new DecompressionStream('gzip'),
          new TextDecoderStream(),
          collect(),
        );
        expect(texts.join('')).toBe(text);
      }),
      { numRuns: bySuite(2, 80) },
    );
  });

  it('reads its input only as fast as the next stage takes items', async () => {
    let read = 0;
    const endless = new Flow<number>(async function* () {
      for (;;) yield { items: [read++] };
    });
    let seen = 0;
    for await (const _ of through(doubling())(endless)) {
      await new Promise(resolve => setTimeout(resolve, 1));
      expect(read - ++seen).toBeLessThan(6);
      if (seen === 10) break;
    }
  });

  it('delivers the items that precede an error of its input, and then fails with it', async () => {
    const failing = new Flow<number>(async function* () {
      yield { items: [1, 2] };
      await new Promise(resolve => setTimeout(resolve, 5));
      throw failure;
    });
    const seen: number[] = [];
    const read = async () => {
      for await (const item of through(doubling())(failing)) seen.push(item);
    };
    await expect(read()).rejects.toBe(failure);
    expect(seen).toEqual([2, 4]);
    const compressed = pipeline(
      new Flow<Uint8Array>(async function* () {
        yield { items: [Buffer.from('a')] };
        throw failure;
      }),
      new CompressionStream('gzip'),
      collect(),
    );
    await expect(compressed).rejects.toBe(failure);
  });

  it('fails with its own error, and closes an input that waits', async () => {
    const { flow, closed } = waiting();
    const failing = new TransformStream<number, number>({
      transform() {
        throw failure;
      },
    });
    await expect(pipeline(flow, failing, collect())).rejects.toBe(failure);
    expect(await closed).toBe(failure);
    expect([failing.readable.locked, failing.writable.locked]).toEqual([false, false]);
  });

  it('ends before its input if it calls terminate()', async () => {
    const { flow, closed } = waiting();
    const first = new TransformStream<number, number>({
      transform(item, controller) {
        controller.enqueue(item);
        controller.terminate();
      },
    });
    expect(await pipeline(flow, first, collect())).toEqual([1]);
    await closed;
  });

  it('is aborted with the reason of the signal', async () => {
    const { flow, closed } = waiting();
    const controller = new AbortController();
    const stream = doubling();
    const run = pipeline(flow, stream, collect(), { signal: controller.signal });
    setTimeout(() => controller.abort(failure), 5);
    await expect(run).rejects.toBe(failure);
    expect(await closed).toBe(failure);
    expect([stream.readable.locked, stream.writable.locked]).toEqual([false, false]);
    const other = waiting();
    expect(await pipeline(other.flow, doubling(), take(1), collect())).toEqual([2]);
    await other.closed;
  });

  it('is closed without a reason when a later stage stops reading', async () => {
    const reasons: unknown[] = [];
    let output: ReadableStreamDefaultController<number> | undefined;
    const stream = {
      readable: new ReadableStream<number>({
        start(controller) {
          output = controller;
        },
      }),
      writable: new WritableStream<number>({
        write: item => output?.enqueue(item),
        abort: reason => {
          reasons.push(reason);
        },
      }),
    };
    expect(await pipeline(waiting().flow, stream, take(1), collect())).toEqual([1]);
    await expect.poll(() => reasons).toEqual([undefined]);
  });

  it('causes an OptionError if another run has used it', async () => {
    const operator = through(doubling());
    expect(await all(operator(numbers(2)))).toEqual([0, 2]);
    await expect(all(operator(numbers(2)))).rejects.toThrow(OptionError);
  });

  it('counts the items of its input as received', async () => {
    const progress = new Progress();
    async function* three() {
      yield* [1, 2, 3];
    }
    for await (const _ of through(doubling())(three()).batches({ progress }));
    expect(progress.received).toBeGreaterThanOrEqual(3);
  });
});

describe('a WritableStream as a sink', () => {
  const slowSink = () => {
    const state = { written: [] as number[], under: 0, most: 0, closed: false };
    const stream = new WritableStream<number>({
      async write(item) {
        state.most = Math.max(state.most, ++state.under);
        await new Promise(setImmediate);
        state.under--;
        state.written.push(item);
      },
      async close() {
        await new Promise(setImmediate);
        state.closed = true;
      },
    });
    return { stream, state };
  };

  it('receives every item, one at a time', async () => {
    const { stream, state } = slowSink();
    expect(await pipeline(numbers(20), stream)).toBeUndefined();
    expect(state.written).toEqual(Array.from({ length: 20 }, (_, n) => n));
    expect(state.most).toBe(1);
  });

  it('is closed before the run ends', async () => {
    const { stream, state } = slowSink();
    await pipeline(numbers(20), stream);
    expect(state.closed).toBe(true);
  });

  it('is not locked after the run', async () => {
    const { stream } = slowSink();
    await pipeline(numbers(20), stream);
    expect(stream.locked).toBe(false);
  });

  it('is written to only as fast as it accepts items', async () => {
    let read = 0;
    let written = 0;
    const source = new Flow<number>(async function* () {
      while (read < 40) yield { items: [read++] };
    });
    const slow = new WritableStream<number>(
      {
        async write() {
          await new Promise(resolve => setTimeout(resolve, 1));
          expect(read - ++written).toBeLessThan(8);
        },
      },
      { highWaterMark: 4 },
    );
    await pipeline(source, slow);
    expect(written).toBe(40);
  });

  it('fails the run with its own error, and closes a source that waits', async () => {
    for (const where of ['write', 'close'] as const) {
      const { flow, closed } = waiting();
      const stream = new WritableStream<number>({
        async [where]() {
          await new Promise(setImmediate);
          throw failure;
        },
      });
      await expect(pipeline(where === 'write' ? flow : numbers(3), stream)).rejects.toBe(failure);
      if (where === 'write') await closed;
      expect(stream.locked).toBe(false);
    }
  });

  it('is aborted with the reason of the signal, or with the error of the source', async () => {
    const reasons: unknown[] = [];
    const stream = () =>
      new WritableStream<number>({
        abort: reason => {
          reasons.push(reason);
        },
      });
    const controller = new AbortController();
    const { flow, closed } = waiting();
    const run = pipeline(flow, stream(), { signal: controller.signal });
    setTimeout(() => controller.abort(failure), 5);
    await expect(run).rejects.toBe(failure);
    await closed;
    const other = new Error('other');
    const failing = new Flow<number>(async function* () {
      yield { items: [1] };
      throw other;
    });
    await expect(pipeline(failing, stream())).rejects.toBe(other);
    await new Promise(setImmediate);
    expect(reasons).toEqual([failure, other]);
  });

  it('is aborted even during a write that never ends', async () => {
    const stuck = new WritableStream<number>({ write: () => new Promise(() => {}) });
    const controller = new AbortController();
    const run = pipeline(numbers(5), stuck, { signal: controller.signal });
    setTimeout(() => controller.abort(failure), 5);
    await expect(run).rejects.toBe(failure);
  });

  it('fails the run if it is already closed', async () => {
    const stream = new WritableStream<number>();
    await stream.close();
    await expect(pipeline(numbers(2), stream)).rejects.toThrow('closed before all items');
    await expect(pipeline(numbers(0), stream)).rejects.toThrow('closed before all items');
  });
});
