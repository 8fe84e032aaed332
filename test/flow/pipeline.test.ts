import path from 'node:path';
import { PassThrough, Readable, Transform, Writable } from 'node:stream';
import { pipeline as nodePipeline } from 'node:stream/promises';
import { createGunzip, gzipSync } from 'node:zlib';
import { beforeEach, describe, expect, it } from 'vitest';
import { Flow, operator, perBatch, type Sink } from '../../src/flow/flow.js';
import { pipeline } from '../../src/flow/pipeline.js';
import { compose } from '../../src/operators/compose.js';
import { tap } from '../../src/operators/tap.js';
import { collect } from '../../src/sinks/collect.js';
import { files } from '../../src/sinks/files.js';
import { tee } from '../../src/sinks/tee.js';
import { concat } from '../../src/sources/concat.js';
import { merge } from '../../src/sources/merge.js';
import { temporaryFolder } from '../temporary-folder.js';

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
  it('resolves to the result of its sink', async () => {
    expect(await pipeline(numbers(), double, print, collect())).toEqual(['2', '4', '6']);
  });

  it('accepts a source and a sink without an operator', async () => {
    expect(await pipeline(numbers(), collect())).toEqual([1, 2, 3]);
  });

  it('connects a Readable, Transforms and a Writable of Node with operators', async () => {
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

  it('calls onSummary only once, even if it throws', async () => {
    let calls = 0;
    const onSummary = () => {
      calls++;
      throw new Error('the report was not sent');
    };
    await expect(pipeline(numbers(), collect(), { onSummary })).rejects.toThrow(
      'the report was not sent',
    );
    expect(calls).toBe(1);
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

  it('rejects with the reason of an abort even if the sink ignores signals', async () => {
    const { flow, state } = endless();
    const controller = new AbortController();
    const ignorant: Sink<number> = async input => {
      for await (const item of input) if (item === 3) controller.abort('enough');
    };
    await expect(pipeline(flow, ignorant, { signal: controller.signal })).rejects.toBe('enough');
    expect(state.closed).toBe(true);
  });

  it('delivers no more items of a batch after an abort', async () => {
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

  it('destroys a Writable when it is aborted during a wait', async () => {
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

  it('rejects with the error of a source that comes before a Transform', async () => {
    const failing = new Flow<string>(async function* () {
      yield { items: ['a'] };
      throw new Error('the source broke');
    });
    await expect(pipeline(failing, new PassThrough(), collect())).rejects.toThrow(
      'the source broke',
    );
  });
});

const never = () => new Promise<never>(() => {});
const stuckFlow = () =>
  new Flow<number>(async function* () {
    yield { items: [1] };
    await never();
  });
const one = () =>
  new Flow<number>(async function* () {
    yield { items: [1], cursor: { at: 1 } };
  });

describe('pipeline() rejects with the reason of an abort without waiting for', () => {
  const reason = new Error('enough');
  let folder: string;
  let controller: AbortController;
  beforeEach(async () => {
    folder = await temporaryFolder();
    controller = new AbortController();
  });
  /** Aborts 10 ms after an item. All stages are then waiting. */
  const abort = () => void setTimeout(() => controller.abort(reason), 10);
  const options = () => ({ signal: controller.signal });
  const intoFiles = () => {
    const [out, checkpoint] = [path.join(folder, 'out'), path.join(folder, 'checkpoint')];
    return files<number>({ path: out, checkpoint });
  };

  it.each<[string, () => Promise<unknown>]>([
    [
      'the promise of a tap',
      () => {
        const look = () => {
          abort();
          return never();
        };
        return pipeline(one(), tap(look), collect(), options());
      },
    ],
    [
      'a sink',
      () => {
        const sink = () => {
          abort();
          return never();
        };
        return pipeline(one(), sink, options());
      },
    ],
    [
      'a sink in compose()',
      () => {
        const sink = () => {
          abort();
          return never();
        };
        return pipeline(one(), compose(double, sink), options());
      },
    ],
    ['a Flow', () => pipeline(stuckFlow(), tap(abort), collect(), options())],
    [
      'a Flow whose items files() writes with a checkpoint',
      () => pipeline(stuckFlow(), tap(abort), intoFiles(), options()),
    ],
    [
      'a Flow in merge and concat',
      () => pipeline(merge(concat(stuckFlow()), one()), tap(abort), collect(), options()),
    ],
    [
      'an operator',
      () => {
        const stuck = operator<number, number>(async function* (input) {
          for await (const batch of input) {
            yield batch;
            await never();
          }
        });
        return pipeline(one(), stuck, tap(abort), intoFiles(), options());
      },
    ],
    [
      'a Writable that does not close',
      () => {
        const sink = new Writable({ objectMode: true, write: abort, destroy: () => {} });
        return pipeline(one(), sink, options());
      },
    ],
    [
      'a progress function at the end of the run',
      () => {
        const progress = () => {
          abort();
          return never();
        };
        return pipeline(one(), collect(), { ...options(), progress });
      },
    ],
    [
      'the branches of a tee',
      () => {
        const sink = () => {
          abort();
          return never();
        };
        return pipeline(one(), tee(sink, collect()), options());
      },
    ],
  ])('%s', async (_what, run) => {
    await expect(run()).rejects.toBe(reason);
  });

  it('a Flow that never yields again, after it has unlocked the checkpoint', async () => {
    const run = pipeline(stuckFlow(), tap(abort), intoFiles(), options());
    await expect(run).rejects.toBe(reason);
    expect(await pipeline(one(), intoFiles())).toMatchObject({ posts: 1 });
  });
});

describe('pipeline() does not wait for', () => {
  it('a sink that never settles when another branch of its tee fails', async () => {
    const failing = async () => {
      throw new Error('the branch broke');
    };
    await expect(pipeline(one(), tee(never, failing))).rejects.toThrow('the branch broke');
    await expect(pipeline(stuckFlow(), tee(collect(), failing))).rejects.toThrow(
      'the branch broke',
    );
  });

  it('a sink after an abort, except to close what the sink has opened', async () => {
    const controller = new AbortController();
    let closed = false;
    const sink: Sink<number> = async input => {
      try {
        for await (const _ of input) controller.abort('enough');
      } finally {
        await new Promise(setImmediate);
        closed = true;
      }
    };
    await expect(pipeline(one(), sink, { signal: controller.signal })).rejects.toBe('enough');
    expect(closed).toBe(true);
  });
});

describe("Node's own pipeline", () => {
  it('accepts the operators and sinks of this library', async () => {
    expect(await nodePipeline(numbers(), double, print, collect())).toEqual(['2', '4', '6']);
  });

  it('accepts the sources and operators of this library between Transforms and Writables', async () => {
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

  it('closes a source of this library when it is aborted', async () => {
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
