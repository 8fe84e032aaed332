import { PassThrough, Readable, Transform, Writable } from 'node:stream';
import { pipeline as nodePipeline } from 'node:stream/promises';
import { createGunzip, gzipSync } from 'node:zlib';
import { describe, expect, it } from 'vitest';
import { Flow, perBatch, type Sink } from '../../src/flow/flow.js';
import { pipeline } from '../../src/flow/pipeline.js';
import { collect } from '../../src/sinks/collect.js';

const numbers = () =>
  new Flow<number>(async function* () {
    yield { items: [1, 2] };
    yield { items: [3] };
  });

const double = perBatch<number, number>(items => items.map(item => item * 2));
const print = perBatch<number, string>(items => items.map(String));

function endless(): { flow: Flow<number>; state: { closed: boolean } } {
  const state = { closed: false };
  const flow = new Flow<number>(async function* ({ signal }) {
    try {
      for (let item = 0; ; item++) {
        yield { items: [item] };
        if (item > 2)
          await new Promise((_, reject) => {
            signal.addEventListener('abort', () => reject(signal.reason), { once: true });
          });
      }
    } finally {
      state.closed = true;
    }
  });
  return { flow, state };
}

describe('pipeline', () => {
  it('joins source, operators and sink, and resolves to what the sink returns', async () => {
    expect(await pipeline(numbers(), double, print, collect())).toEqual(['2', '4', '6']);
  });

  it('needs no operator', async () => {
    expect(await pipeline(numbers(), collect())).toEqual([1, 2, 3]);
  });

  it('reads a Node Readable, runs Transforms between operators, and writes a Writable', async () => {
    const written: string[] = [];
    await pipeline(
      Readable.from([gzipSync('one\ntwo\n')]),
      createGunzip(),
      perBatch<Buffer, string>(items => items.map(item => item.toString().toUpperCase())),
      new Writable({
        objectMode: true,
        write(chunk: string, _, done) {
          written.push(chunk);
          done();
        },
      }),
    );
    expect(written).toEqual(['ONE\nTWO\n']);
  });

  it('rejects with the first error and closes the source', async () => {
    const { flow, state } = endless();
    const sink: Sink<number> = async input => {
      for await (const item of input) if (item === 2) throw new Error('the sink broke');
    };
    await expect(pipeline(flow, double, sink)).rejects.toThrow('the sink broke');
    expect(state.closed).toBe(true);
  });

  it('closes the source if a sink stops before the end', async () => {
    const { flow, state } = endless();
    const first: Sink<number, number> = async input => {
      const iterator = input[Symbol.asyncIterator]();
      return (await iterator.next()).value as number;
    };
    expect(await pipeline(flow, first)).toBe(0);
    await new Promise(resolve => setImmediate(resolve));
    expect(state.closed).toBe(true);
  });

  it('aborts with the reason of the signal even if the sink ignores signals', async () => {
    const { flow, state } = endless();
    const controller = new AbortController();
    const ignorant: Sink<number> = async input => {
      for await (const item of input) if (item === 3) controller.abort('enough');
    };
    await expect(pipeline(flow, ignorant, { signal: controller.signal })).rejects.toBe('enough');
    expect(state.closed).toBe(true);
  });

  it('gives no more items of a batch after an abort', async () => {
    const controller = new AbortController();
    const seen: number[] = [];
    const sink: Sink<number> = async input => {
      for await (const item of input) {
        seen.push(item);
        if (item === 1) controller.abort('enough');
      }
    };
    await expect(pipeline(numbers(), sink, { signal: controller.signal })).rejects.toBe('enough');
    expect(seen).toEqual([1]);
  });

  it('aborts a Writable during a wait', async () => {
    const { flow, state } = endless();
    const controller = new AbortController();
    const sink = new Writable({ objectMode: true, write: (_item, _, done) => done() });
    setTimeout(() => controller.abort('enough'), 20);
    await expect(pipeline(flow, sink, { signal: controller.signal })).rejects.toBe('enough');
    expect(state.closed).toBe(true);
    expect(sink.destroyed).toBe(true);
  });

  it('rejects with the error of a Transform', async () => {
    await expect(
      pipeline(Readable.from([Buffer.from('not gzip')]), createGunzip(), collect()),
    ).rejects.toThrow('incorrect header check');
  });

  it('rejects with the error of a source before a Transform', async () => {
    const failing = new Flow<string>(async function* () {
      yield { items: ['a'] };
      throw new Error('the source broke');
    });
    await expect(pipeline(failing, new PassThrough(), collect())).rejects.toThrow(
      'the source broke',
    );
  });
});

describe("Node's own pipeline", () => {
  it('accepts the same source, operators and sink', async () => {
    expect(await nodePipeline(numbers(), double, print, collect())).toEqual(['2', '4', '6']);
  });

  it('accepts them together with Transforms and Writables', async () => {
    const written: number[] = [];
    const add = new Transform({
      objectMode: true,
      transform: (item: number, _, done) => done(null, item + 1),
    });
    await nodePipeline(
      numbers(),
      double,
      add,
      double,
      new Writable({
        objectMode: true,
        write(item: number, _, done) {
          written.push(item);
          done();
        },
      }),
    );
    expect(written).toEqual([6, 10, 14]);
  });

  it('aborts and closes the source', async () => {
    const { flow, state } = endless();
    const controller = new AbortController();
    setTimeout(() => controller.abort(), 20);
    await expect(
      nodePipeline(flow, double, collect(), { signal: controller.signal }),
    ).rejects.toThrow('aborted');
    await new Promise(resolve => setTimeout(resolve, 20));
    expect(state.closed).toBe(true);
  });
});
