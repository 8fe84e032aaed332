import { Duplex, PassThrough, Transform, type TransformCallback } from 'node:stream';
import { setImmediate, setTimeout } from 'node:timers/promises';
import { Minipass } from 'minipass';
import { describe, expect, it } from 'vitest';
import { Flow } from '../../src/flow/flow.js';
import { pipeline } from '../../src/flow/pipeline.js';
import type { StageStream } from '../../src/flow/stream-stage.js';
import { take } from '../../src/operators/take.js';
import { collect } from '../../src/sinks/collect.js';

function atThird(act: (stream: Transform, done: TransformCallback) => void): Transform {
  let count = 0;
  return new Transform({
    objectMode: true,
    transform(item, _encoding, done) {
      count++;
      if (count <= 3) this.push(item);
      if (count === 3) act(this, done);
      else done();
    },
  });
}

function numbers({ upTo = Number.POSITIVE_INFINITY, waits = false } = {}) {
  const state = { read: 0, isClosed: false };
  const flow = new Flow<number>(async function* ({ signal }) {
    try {
      for (let item = 1; item <= upTo; item++) {
        state.read++;
        yield { items: [item] };
        if (waits && item > 3)
          await new Promise((_, reject) => {
            signal.addEventListener('abort', () => reject(signal.reason), { once: true });
          });
        await setImmediate();
      }
    } finally {
      state.isClosed = true;
    }
  });
  return { flow, state };
}

const INPUTS = [
  ['100 items', { upTo: 100 }],
  ['endless items', {}],
  ['items followed by an endless wait', { waits: true }],
] as const;
const ENDINGS: readonly (readonly [string, Parameters<typeof atThird>[0]])[] = [
  [
    'continues to accept items',
    (stream, done) => {
      stream.push(null);
      done();
    },
  ],
  ['accepts no more items', stream => stream.push(null)],
  [
    'is destroyed once its end is read',
    (stream, done) => {
      stream.push(null);
      stream.once('end', () => stream.destroy());
      done();
    },
  ],
];

describe('a Node Transform that ends before its input', () => {
  describe.each(ENDINGS)('and then %s,', (_, act) => {
    it.each(INPUTS)('delivers its items and closes a source of %s', async (_, options) => {
      const { flow, state } = numbers(options);
      expect(await pipeline(flow, atThird(act), collect())).toEqual([1, 2, 3]);
      await expect.poll(() => state.isClosed).toBe(true);
      expect(state.read).toBeLessThan(60);
    });
  });

  it('delivers its items even if other stages stand before and after it', async () => {
    const { flow, state } = numbers();
    const [, act] = ENDINGS[0] as (typeof ENDINGS)[number];
    const passing = new Transform({
      objectMode: true,
      transform: (item, _, done) => done(null, item * 2),
    });
    expect(await pipeline(flow, atThird(act), passing, take(2), collect())).toEqual([2, 4]);
    await expect.poll(() => state.isClosed).toBe(true);
  });

  it.each<[string, Parameters<typeof atThird>[0], string]>([
    [
      'is destroyed before its end is read',
      (stream, done) => {
        stream.push(null);
        done();
        stream.destroy();
      },
      'ERR_STREAM_PREMATURE_CLOSE',
    ],
    [
      'ends its writable side before the input does',
      (stream, done) => {
        done();
        stream.end();
      },
      'ERR_STREAM_PREMATURE_CLOSE',
    ],
  ])('fails with the same error as in a pipeline of Node if it %s', async (_, act, code) => {
    const { flow, state } = numbers({ upTo: 100 });
    await expect(pipeline(flow, atThird(act), collect())).rejects.toMatchObject({ code });
    await expect.poll(() => state.isClosed).toBe(true);
  });

  it('drops an item for which it calls back with null', async () => {
    const skipping = new Transform({
      objectMode: true,
      transform: (item, _, done) => done(null, item === 2 ? null : item),
    });
    const { flow } = numbers({ upTo: 4 });
    expect(await pipeline(flow, skipping, collect())).toEqual([1, 3, 4]);
  });

  it('fails with the error of its input if the input fails before the Transform ends', async () => {
    const failure = new Error('the source broke');
    const failing = new Flow<number>(async function* () {
      yield { items: [1, 2] };
      throw failure;
    });
    const [, act] = ENDINGS[0] as (typeof ENDINGS)[number];
    await expect(pipeline(failing, atThird(act), collect())).rejects.toBe(failure);
  });

  it('fails with the error of its input if the input fails before a slow sink reads the end', async () => {
    const failure = new Error('the source broke');
    const failing = new Flow<number>(async function* () {
      yield { items: [1, 2, 3, 4] };
      throw failure;
    });
    const [, act] = ENDINGS[0] as (typeof ENDINGS)[number];
    const slow = async (items: AsyncIterable<number>) => {
      for await (const _ of items) await setTimeout(20);
    };
    await expect(pipeline(failing, atThird(act), slow)).rejects.toBe(failure);
  });
});

/**
 * Returns a pair of web streams. The readable side always closes as if all items had been read,
 * even if the writable side has failed.
 */
function endingWebPair() {
  let output: ReadableStreamDefaultController<number> | undefined;
  const close = () => output?.close();
  return {
    readable: new ReadableStream<number>({
      start(controller) {
        output = controller;
      },
    }),
    writable: new WritableStream<number>({
      write: item => output?.enqueue(item),
      close,
      abort: close,
    }),
  };
}

/**
 * Returns a Duplex. If its input is destroyed, its readable side ends as if all items had been
 * read.
 */
function endingDuplex(): Duplex {
  return new Duplex({
    objectMode: true,
    autoDestroy: false,
    read() {},
    write(item, _, done) {
      this.push(item);
      done();
    },
    final(done) {
      this.push(null);
      done();
    },
    destroy(_, done) {
      this.push(null);
      done(null);
    },
  });
}

const KINDS: readonly (readonly [string, () => StageStream<number, number>])[] = [
  ['a PassThrough', () => new PassThrough({ objectMode: true })],
  ['a Duplex that ends when it is destroyed', endingDuplex],
  ['a Minipass stream', () => new Minipass<number, number>({ objectMode: true })],
  ['a TransformStream', () => new TransformStream<number, number>()],
  ['web streams that end when they are aborted', endingWebPair],
];

describe.each(KINDS)('the failure of a source before %s', (_, stream) => {
  it.each([1, 3, 6])('ends the run after it has delivered %i items', async count => {
    const failure = new Error('the source broke');
    const failing = new Flow<number>(async function* () {
      for (let item = 1; item <= count; item++) {
        yield { items: [item] };
        await setImmediate();
      }
      throw failure;
    });
    await expect(pipeline(failing, stream(), collect())).rejects.toBe(failure);
  });
});

it('a stream as stage rejects a second run while the first still uses it, and receives none of its items', async () => {
  const shared = new PassThrough({ objectMode: true });
  const controller = new AbortController();
  const { flow, state } = numbers({ waits: true });
  const first = pipeline(flow, shared, collect(), { signal: controller.signal });
  while (state.read < 4) await setImmediate();
  const second = numbers({ upTo: 100 });
  await expect(pipeline(second.flow, shared, collect())).rejects.toThrow('was used before');
  expect(second.state.read).toBe(0);
  controller.abort(new Error('enough'));
  await expect(first).rejects.toThrow();
});
