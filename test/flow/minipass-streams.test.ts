import { EventEmitter } from 'node:events';
import { gunzipSync, gzipSync } from 'node:zlib';
import { Minipass } from 'minipass';
import { Gunzip, Gzip } from 'minizlib';
import { describe, expect, it } from 'vitest';
import { Flow, perBatch } from '../../src/flow/flow.js';
import { pipeline } from '../../src/flow/pipeline.js';
import { compose } from '../../src/operators/compose.js';
import { filter } from '../../src/operators/filter.js';
import { through } from '../../src/operators/through.js';
import { collect } from '../../src/sinks/collect.js';
import { range, slow, turn } from './slow-numbers.js';

const objects = <T>(options: { readonly async?: boolean } = {}) =>
  new Minipass<T, T>({ objectMode: true, ...options });

describe('a Minipass stream as source', () => {
  it('delivers all items written before and after it is opened', async () => {
    const stream = objects<number>();
    for (const item of range(50)) stream.write(item);
    const collected = pipeline(stream, collect());
    await turn();
    for (const item of range(50)) stream.write(item + 50);
    stream.end(100);
    expect(await collected).toEqual(range(101));
  });

  it('delivers the last item of an asynchronous stream', async () => {
    const stream = objects<number>({ async: true });
    const collected = pipeline(stream, collect());
    await turn();
    stream.end(1);
    expect(await collected).toEqual([1]);
  });

  it('ends if the stream has ended', async () => {
    expect(await pipeline(objects<number>().end(), collect())).toEqual([]);
  });

  it('is paused while nobody reads', async () => {
    const stream = objects<number>();
    let release = () => {};
    const held = new Promise<void>(resolve => {
      release = resolve;
    });
    const reading = pipeline(stream, async input => {
      let count = 0;
      for await (const _ of input) {
        await held;
        count++;
      }
      return count;
    });
    await turn();
    let written = 0;
    while (written < 1_000) {
      written++;
      if (stream.write(written) === false) break;
      await turn();
    }
    expect(written).toBeLessThan(100);
    release();
    stream.end();
    expect(await reading).toBe(written);
  });

  it('fails with its own error, even between two reads', async () => {
    const stream = new Gunzip({});
    const bytes = gzipSync('x'.repeat(100_000));
    const collected = pipeline(stream, collect());
    stream.write(bytes.subarray(0, 100));
    await turn();
    stream.end(bytes.subarray(100, 130));
    await expect(collected).rejects.toThrow('unexpected end of file');
  });

  it('fails if it failed before it was read', async () => {
    const stream = objects<number>();
    stream.on('error', () => {});
    stream.emit('error', new Error('broken'));
    await expect(pipeline(stream, collect())).rejects.toThrow('broken');
  });

  it('fails if it is destroyed before or during the run', async () => {
    await expect(pipeline(objects<number>().destroy(), collect())).rejects.toThrow('destroyed');
    const stream = objects<number>();
    const collected = pipeline(stream, collect());
    await turn();
    stream.destroy();
    await expect(collected).rejects.toThrow('destroyed');
  });

  it('is destroyed by an abort, and by a sink that stops early', async () => {
    const aborted = objects<number>();
    const controller = new AbortController();
    const running = pipeline(aborted, collect(), { signal: controller.signal });
    await turn();
    controller.abort('enough');
    await expect(running).rejects.toBe('enough');
    expect(aborted.destroyed).toBe(true);

    const left = objects<number>();
    left.write(1);
    const first = pipeline(left, async input => {
      for await (const item of input) return item;
      return undefined;
    });
    expect(await first).toBe(1);
    expect(left.destroyed).toBe(true);
  });
});

describe('a Minipass stream as stage', () => {
  it('can be a compressor or decompressor of minizlib', async () => {
    const text = Array.from({ length: 20_000 }, (_, index) => `line ${index}\n`).join('');
    const bytes = new Flow<Buffer>(async function* () {
      for (let from = 0; from < text.length; from += 1_000)
        yield { items: [Buffer.from(text.slice(from, from + 1_000))] };
    });
    const chunks = await pipeline(bytes, new Gzip({ level: 1 }), new Gunzip({}), collect());
    expect(Buffer.concat(chunks).toString()).toBe(text);
  });

  it('reads its input only as fast as the next stage reads', async () => {
    const { flow, state } = slow(1_000);
    const controller = new AbortController();
    const released = new Promise<void>(resolve => {
      controller.signal.addEventListener('abort', () => resolve());
    });
    const running = pipeline(
      flow,
      objects<number>(),
      async (input: AsyncIterable<number>) => {
        for await (const _ of input) await released;
      },
      { signal: controller.signal },
    );
    let before = -1;
    while (state.taken !== before || state.taken === 0) {
      before = state.taken;
      for (const _ of range(20)) await turn();
    }
    expect(state.taken).toBeLessThan(100);
    controller.abort('enough');
    await expect(running).rejects.toBe('enough');
    expect(state.closed).toBe(true);
  });

  it('ends the run with its own error, and closes the source', async () => {
    const { flow, state } = slow(1_000);
    const bytes = perBatch<number, Buffer>(items => items.map(() => Buffer.from('not gzip')));
    await expect(pipeline(flow, bytes, new Gunzip({}), collect())).rejects.toThrow(
      'incorrect header check',
    );
    await expect.poll(() => state.closed).toBe(true);
  });

  it('ends the run with the error of the source, and is destroyed', async () => {
    const failing = new Flow<number>(async function* () {
      yield { items: [1] };
      throw new Error('the source broke');
    });
    const stage = objects<number>();
    await expect(pipeline(failing, stage, collect())).rejects.toThrow('the source broke');
    expect(stage.destroyed).toBe(true);
  });

  it('gets its item types from `through`', async () => {
    const { flow } = slow(3);
    const text = perBatch<number, string>(items => items.map(String));
    const stage = through<string, string>(new Minipass<string>({ encoding: 'utf8' }));
    expect((await pipeline(flow, text, stage, collect())).join('')).toBe('012');
  });
});

describe('a Minipass stream as sink', () => {
  it('receives all items, and the pipeline waits until it has finished', async () => {
    const stream = objects<number>();
    const read: number[] = [];
    stream.on('data', item => read.push(item));
    await pipeline(slow(100).flow, stream);
    expect(read).toEqual(range(100));
    expect(stream.emittedEnd).toBe(true);
  });

  it('is written to only as fast as it drains', async () => {
    const gzip = new Gzip({});
    const out = gzip.concat();
    const text = perBatch<number, Buffer>(items => items.map(item => Buffer.from(`${item},`)));
    await pipeline(slow(500).flow, text, gzip);
    expect(gunzipSync(await out).toString()).toBe(
      range(500)
        .map(item => `${item},`)
        .join(''),
    );
  });

  it('makes the pipeline wait for drain if write returns false', async () => {
    const stream = objects<number>();
    const { flow, state } = slow(100);
    const running = pipeline(flow, stream);
    for (const _ of range(50)) await turn();
    expect(state.taken).toBe(1);
    const read = stream.collect();
    await running;
    expect([...(await read)]).toEqual(range(100));
  });

  it('fails with its error and closes the source', async () => {
    const broken = objects<number>();
    const { flow, state } = slow(1_000);
    const running = pipeline(flow, broken);
    await turn();
    await turn();
    broken.destroy(new Error('the disk is full'));
    await expect(running).rejects.toThrow('the disk is full');
    expect(state.closed).toBe(true);
  });

  it('is destroyed by an abort, which closes the source', async () => {
    const aborted = objects<number>();
    const { flow, state } = slow(1_000);
    const controller = new AbortController();
    const waiting = pipeline(flow, aborted, { signal: controller.signal });
    await turn();
    controller.abort('enough');
    await expect(waiting).rejects.toBe('enough');
    expect(aborted.destroyed).toBe(true);
    expect(state.closed).toBe(true);
  });

  it('fails if it was destroyed without an error, before or during the run', async () => {
    await expect(pipeline(slow(1).flow, objects<number>().destroy())).rejects.toThrow('destroyed');
    const stream = objects<number>();
    const running = pipeline(slow(1_000).flow, stream);
    await turn();
    await turn();
    stream.destroy();
    await expect(running).rejects.toThrow('destroyed');
  });
});

/**
 * A writable that has only `write`, `end` and events, like `Unpack` of tar and `WriteStream` of
 * fs-minipass.
 */
class Store extends EventEmitter {
  readonly items: number[] = [];
  aborted: unknown;
  #full = false;

  write(item: number): boolean {
    if (this.#full) throw new Error('written to before it drained');
    this.#full = true;
    setImmediate(() => {
      this.#full = false;
      this.items.push(item);
      this.emit('drain');
    });
    return false;
  }

  end(): void {
    setImmediate(() => this.emit('finish'));
  }

  abort(error: unknown): void {
    this.aborted = error;
  }
}

describe('an emitter with write() and end() as sink', () => {
  it('receives all items in order', async () => {
    const store = new Store();
    await pipeline(slow(20).flow, store);
    expect(store.items).toEqual(range(20));
  });

  it('is aborted together with the pipeline', async () => {
    const store = new Store();
    const controller = new AbortController();
    const running = pipeline(slow(1_000).flow, store, { signal: controller.signal });
    await turn();
    controller.abort('enough');
    await expect(running).rejects.toBe('enough');
    expect(store.aborted).toBe('enough');
  });

  it('fails with the error that it had before the run, and receives no items', async () => {
    const store = new Store();
    const sink = compose(
      filter<number>(() => true),
      store,
    );
    store.emit('error', new Error('the disk is full'));
    await expect(pipeline(slow(20).flow, sink)).rejects.toThrow('the disk is full');
    expect(store.items).toEqual([]);
  });

  it('fails if it closes before it has received all items', async () => {
    const store = new Store();
    const running = pipeline(slow(1_000).flow, store);
    await turn();
    await turn();
    store.emit('close');
    await expect(running).rejects.toThrow('closed before');
  });
});
