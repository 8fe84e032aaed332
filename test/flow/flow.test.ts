import { Readable } from 'node:stream';
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import {
  type Batch,
  batchesOf,
  type Cursor,
  Flow,
  operator,
  perBatch,
} from '../../src/flow/flow.js';
import { Progress } from '../../src/flow/progress.js';
import { unchecked } from '../unchecked.js';

function flowOf<T>(...batches: readonly (readonly T[])[]): Flow<T> {
  return new Flow(async function* ({ resume }) {
    const first = resume === undefined ? 0 : Number(resume.next);
    for (let next = first; next < batches.length; next++)
      yield { items: batches[next] as readonly T[], cursor: { next: next + 1 } };
  });
}

function stuckFlow(): { flow: Flow<number>; state: { open: number; closed: number } } {
  const state = { open: 0, closed: 0 };
  const flow = new Flow<number>(async function* ({ signal }) {
    state.open++;
    try {
      yield { items: [1] };
      await new Promise((_, reject) => {
        signal.addEventListener('abort', () => reject(signal.reason), { once: true });
      });
    } finally {
      state.closed++;
    }
  });
  return { flow, state };
}

async function all<T>(input: AsyncIterable<T>): Promise<T[]> {
  const items: T[] = [];
  for await (const item of input) items.push(item);
  return items;
}

describe('a flow', () => {
  it('opens its source only at the first pull', async () => {
    const { flow, state } = stuckFlow();
    const iterator = flow[Symbol.asyncIterator]();
    expect(state.open).toBe(0);
    await iterator.next();
    expect(state.open).toBe(1);
    await iterator.return?.();
    expect(state.closed).toBe(1);
  });

  it('yields the items of all batches in order to `for await`, even with empty batches', async () => {
    await fc.assert(
      fc.asyncProperty(fc.array(fc.array(fc.integer(), { maxLength: 5 })), async batches => {
        expect(await all(flowOf(...batches))).toEqual(batches.flat());
      }),
    );
  });

  it('closes a source that ignores the abort signal, once it yields its next item', async () => {
    let closed = false;
    const flow = new Flow<number>(async function* () {
      try {
        while (true) {
          await new Promise(resolve => setImmediate(resolve));
          yield { items: [1] };
        }
      } finally {
        closed = true;
      }
    });
    const controller = new AbortController();
    const iterator = flow.batches({ signal: controller.signal })[Symbol.asyncIterator]();
    const pull = iterator.next();
    controller.abort('enough');
    await pull;
    await expect(iterator.next()).rejects.toBe('enough');
    await new Promise(resolve => setImmediate(resolve));
    expect(closed).toBe(true);
  });

  it('can be opened twice, with independent runs', async () => {
    const counted = operator<number, number>(async function* (input) {
      let count = 0;
      for await (const { items } of input) yield { items: items.map(() => ++count) };
    })(flowOf([7, 7], [7]));
    expect(await all(counted)).toEqual([1, 2, 3]);
    expect(await all(counted)).toEqual([1, 2, 3]);
  });

  it('answers overlapping calls of next() in order', async () => {
    const iterator = flowOf([1, 2], [], [3], [4, 5])[Symbol.asyncIterator]();
    const results = await Promise.all(Array.from({ length: 7 }, () => iterator.next()));
    expect(results.map(result => result.value)).toEqual([1, 2, 3, 4, 5, undefined, undefined]);
  });

  it('opens its source at the cursor, even behind operators without state', async () => {
    const doubled = perBatch<number, number>(items => items.map(item => item * 2))(
      flowOf([1], [2], [3]),
    );
    const seen: Batch<number>[] = [];
    for await (const batch of doubled.batches({ resume: { next: 1 } })) seen.push(batch);
    expect(seen).toEqual([
      { items: [4], cursor: { next: 2 } },
      { items: [6], cursor: { next: 3 } },
    ]);
  });

  it('stores the state of an operator in the cursor and restores it from there', async () => {
    const running = operator<number, number>(async function* (_, { resume }, open) {
      let sum = Number(resume?.sum ?? 0);
      for await (const { items, cursor } of open(resume?.inner as Cursor | undefined)) {
        for (const item of items) sum += item;
        yield { items: [sum], cursor: cursor && { sum, inner: unchecked(cursor) } };
      }
    })(flowOf([1], [2], [3]));
    const first = running.batches()[Symbol.asyncIterator]();
    await first.next();
    const { value } = await first.next();
    await first.return?.();
    const rest: number[] = [];
    for await (const { items } of running.batches({ resume: value?.cursor })) rest.push(...items);
    expect(rest).toEqual([6]);
  });

  it('closes its source when the reader breaks out of its loop', async () => {
    const { flow, state } = stuckFlow();
    for await (const item of perBatch<number, number>(items => items)(flow)) if (item === 1) break;
    expect(state).toEqual({ open: 1, closed: 1 });
  });

  it('throws when the reader breaks out of its loop if its source fails to close', async () => {
    const flow = new Flow<number>(async function* () {
      try {
        yield { items: [1] };
      } finally {
        await Promise.reject(new Error('the output was not saved'));
      }
    });
    const reading = async () => {
      for await (const _ of flow) break;
    };
    await expect(reading()).rejects.toThrow('the output was not saved');
  });

  it('closes its source when the reader calls return() during a wait', async () => {
    const { flow, state } = stuckFlow();
    const iterator = perBatch<number, number>(items => items)(flow)
      .batches()
      [Symbol.asyncIterator]();
    await iterator.next();
    const waiting = iterator.next();
    await iterator.return?.();
    expect(await waiting).toEqual({ done: true, value: undefined });
    expect(state.closed).toBe(1);
  });

  it('rejects with the unchanged reason of an abort, even during a wait', async () => {
    const { flow, state } = stuckFlow();
    const controller = new AbortController();
    const reason = { why: 'enough' };
    const iterator = flow.batches({ signal: controller.signal })[Symbol.asyncIterator]();
    await iterator.next();
    const waiting = iterator.next();
    controller.abort(reason);
    await expect(waiting).rejects.toBe(reason);
    expect(state.closed).toBe(1);
    expect(await iterator.next()).toEqual({ done: true, value: undefined });
  });

  it('closes immediately on an abort between two pulls, and rejects the next pull', async () => {
    const { flow, state } = stuckFlow();
    const controller = new AbortController();
    const iterator = flow.batches({ signal: controller.signal })[Symbol.asyncIterator]();
    await iterator.next();
    controller.abort('enough');
    await Promise.resolve();
    expect(state.closed).toBe(1);
    await expect(iterator.next()).rejects.toBe('enough');
    expect(await iterator.next()).toEqual({ done: true, value: undefined });
  });

  it('opens nothing if its signal is already aborted', async () => {
    const { flow, state } = stuckFlow();
    const iterator = flow.batches({ signal: AbortSignal.abort('late') })[Symbol.asyncIterator]();
    await expect(iterator.next()).rejects.toBe('late');
    expect(state.open).toBe(0);
  });

  it('throws the error of a stage only once, and then ends', async () => {
    const failing = new Flow<number>(async function* () {
      yield { items: [1] };
      throw new Error('broken');
    });
    const iterator = failing.batches()[Symbol.asyncIterator]();
    await iterator.next();
    await expect(iterator.next()).rejects.toThrow('broken');
    expect((await iterator.next()).done).toBe(true);
  });
});

describe('a source that is not a Flow', () => {
  it('is read in batches of one item each, and each item counts as received', async () => {
    const progress = new Progress();
    const batches: Batch<string>[] = [];
    for await (const batch of batchesOf(Readable.from(['a', 'b']), { progress }))
      batches.push(batch);
    expect(batches).toEqual([{ items: ['a'] }, { items: ['b'] }]);
    expect(progress.received).toBe(2);
  });

  it('is destroyed if it is a stream and the reader stops', async () => {
    const stream = Readable.from([1, 2, 3]);
    for await (const item of perBatch<number, number>(items => items)(stream))
      if (item === 1) break;
    expect(stream.destroyed).toBe(true);
  });

  it('cannot delay an abort, even if it never yields again', async () => {
    async function* silent() {
      yield 1;
      await new Promise(() => {});
    }
    const controller = new AbortController();
    const iterator = batchesOf(silent(), { signal: controller.signal })[Symbol.asyncIterator]();
    await iterator.next();
    const waiting = iterator.next();
    controller.abort('enough');
    await expect(waiting).rejects.toBe('enough');
  });
});

describe('perBatch', () => {
  it('counts dropped items under the name of its operator', async () => {
    const progress = new Progress();
    const odd = perBatch<number, number>(items => items.filter(item => item % 2 === 1), {
      name: 'odd',
    });
    for await (const _ of batchesOf(odd(flowOf([1, 2, 3], [4])), { progress })) {
    }
    expect(progress.dropped).toEqual(new Map([['odd', 2]]));
  });
});
