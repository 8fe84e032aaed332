import { describe, expect, it } from 'vitest';
import { Activity } from '../../src/activity/activity.js';
import { DataError, OptionError } from '../../src/errors.js';
import { type Batch, type Cursor, Flow } from '../../src/flow/flow.js';
import { Progress } from '../../src/flow/progress.js';
import { filter } from '../../src/operators/filter.js';
import { map } from '../../src/operators/map.js';
import { mapAsync } from '../../src/operators/map-async.js';
import { routeByTag } from '../../src/operators/route-by-tag.js';
import { take } from '../../src/operators/take.js';
import { tap } from '../../src/operators/tap.js';
import { all, until } from '../json/cut.js';

interface State {
  read: number;
  open: number;
  closed: number;
}

function source<T>(
  batches: readonly (readonly T[])[],
  state: State = { read: 0, open: 0, closed: 0 },
): Flow<T> {
  return new Flow(async function* ({ resume }) {
    state.open++;
    try {
      for (let next = Number(resume?.next ?? 0); next < batches.length; next++) {
        state.read++;
        yield { items: batches[next]!, cursor: { next: next + 1 }, origin: 'here' };
      }
    } finally {
      state.closed++;
    }
  });
}

async function batchesOf<T>(
  flow: Flow<T>,
  resume?: Cursor,
  progress?: Progress,
): Promise<Batch<T>[]> {
  const batches: Batch<T>[] = [];
  for await (const batch of flow.batches({ resume, progress })) batches.push(batch);
  return batches;
}

describe('map', () => {
  it('applies the function to each item, and keeps cursor and origin', async () => {
    expect(await batchesOf(map((n: number) => `${n}!`)(source([[1, 2], [], [3]])))).toEqual([
      { items: ['1!', '2!'], cursor: { next: 1 }, origin: 'here' },
      { items: [], cursor: { next: 2 }, origin: 'here' },
      { items: ['3!'], cursor: { next: 3 }, origin: 'here' },
    ]);
  });

  it('ends the run with the error that the function throws', async () => {
    const failure = new Error('no');
    const { error } = await until(
      map((n: number) => {
        if (n === 2) throw failure;
        return n;
      })(source([[1], [2]])),
    );
    expect(error).toBe(failure);
  });
});

describe('map with a function that returns promises', () => {
  it('is refused, also if they reject: promises were written as {}', async () => {
    for (const promise of [() => Promise.resolve(1), () => Promise.reject(new Error('no'))]) {
      const error = await all(map(promise)(source([[1, 2]]))).catch(thrown => thrown);
      expect(error).toBeInstanceOf(OptionError);
      expect(error).toMatchObject({
        option: 'transform',
        message: expect.stringMatching(
          /^map: `transform` must not return a promise: use `mapAsync`/,
        ),
      });
    }
  });
});

describe('filter', () => {
  it('keeps items that pass, narrows the type, and counts dropped items under its name', async () => {
    const progress = new Progress();
    const strings: Flow<string> = filter(
      (item: string | number): item is string => typeof item === 'string',
    )(source([['a', 1], [2]]));
    const flow = filter((text: string) => text !== 'a', { name: 'a' })(strings);
    expect(await batchesOf(flow, undefined, progress)).toEqual([
      { items: [], cursor: { next: 1 }, origin: 'here' },
      { items: [], cursor: { next: 2 }, origin: 'here' },
    ]);
    expect(Object.fromEntries(progress.dropped)).toEqual({ filter: 2, a: 1 });
  });

  it.each([
    ['an async function', async () => false],
    ['a promise that rejects', () => Promise.reject(new Error('no answer'))],
    // biome-ignore lint/suspicious/noThenProperty: the promise of another library
    ['an object with a `then`', () => ({ then: (resolve: () => void) => resolve() })],
  ])('refuses %s as its test, which would let every item pass', async (_name, test) => {
    const flow = filter<number>(test as unknown as () => boolean)(source([[1, 2]]));
    const error = await all(flow).catch(thrown => thrown);
    expect(error).toBeInstanceOf(OptionError);
    expect(error).toMatchObject({
      option: 'test',
      message: expect.stringMatching(/^filter: `test` must return true/),
    });
  });

  it('takes a test without types that returns other values than true and false', async () => {
    const length = (text: string) => text.length as unknown as boolean;
    expect(await all(filter(length)(source([['', 'a'], ['']])))).toEqual(['a']);
  });
});

describe('tap', () => {
  it('calls the function with each item and passes the item on', async () => {
    const seen: number[] = [];
    expect(await all(tap<number>(n => seen.push(n))(source([[1, 2], [3]])))).toEqual([1, 2, 3]);
    expect(seen).toEqual([1, 2, 3]);
  });
});

describe('take', () => {
  it.each([
    [0, [], 0],
    [1, [1], 1],
    [2, [1, 2], 1],
    [3, [1, 2, 3], 2],
    [9, [1, 2, 3, 4], 3],
  ])('gives the first %i items and stops reading', async (count, items, read) => {
    const state = { read: 0, open: 0, closed: 0 };
    expect(await all(take<number>(count)(source([[1, 2], [3], [4]], state)))).toEqual(items);
    expect(state).toEqual({ read, open: Math.min(read, 1), closed: Math.min(read, 1) });
  });

  it('closes its source before the last items are processed', async () => {
    const state = { read: 0, open: 0, closed: 0 };
    const seen: number[] = [];
    for await (const item of take<number>(2)(source([[1], [2], [3]], state))) {
      seen.push(item);
      expect(state.closed).toBe(item === 2 ? 1 : 0);
    }
    expect(seen).toEqual([1, 2]);
  });

  it('continues its count from a cursor, and takes nothing more when it is complete', async () => {
    const state = { read: 0, open: 0, closed: 0 };
    const flow = take<number>(3)(source([[1, 2], [3, 4], [5]], state));
    const [first, last] = await batchesOf(flow);
    expect(await all(flowFrom(flow, first?.cursor))).toEqual([3]);
    state.open = 0;
    expect(await all(flowFrom(flow, JSON.parse(JSON.stringify(last?.cursor))))).toEqual([]);
    expect(state.open).toBe(0);
  });

  it('refuses an invalid count, and a cursor of another operator', async () => {
    for (const count of [-1, 1.5, Number.NaN]) expect(() => take(count)).toThrow(OptionError);
    await expect(all(flowFrom(take(2)(source([[1]])), { next: 1 }))).rejects.toThrow(OptionError);
    await expect(all(flowFrom(take(2)(source([[1]])), { take: 'x', inner: {} }))).rejects.toThrow(
      /damaged.* take\(\).* to start again$/,
    );
  });
});

function flowFrom<T>(flow: Flow<T>, resume: Cursor | undefined): Flow<T> {
  return new Flow(run => flow.batches({ ...run, resume }));
}

describe('mapAsync', () => {
  it('keeps the order of items and cursors, whichever call finishes first', async () => {
    const slow = mapAsync(
      async (n: number) => {
        for (let i = 0; i < 7 - n; i++) await new Promise(setImmediate);
        return n * 10;
      },
      { concurrency: 3 },
    );
    expect(await batchesOf(slow(source([[1, 2, 3], [], [4, 5]])))).toEqual([
      { items: [10, 20, 30], cursor: { next: 1 }, origin: 'here' },
      { items: [], cursor: { next: 2 }, origin: 'here' },
      { items: [40, 50], cursor: { next: 3 }, origin: 'here' },
    ]);
  });

  it('uses its full concurrency, across batches too, and never more', async () => {
    let now = 0;
    let most = 0;
    const counted = mapAsync(
      async (n: number) => {
        most = Math.max(most, ++now);
        await new Promise(setImmediate);
        now--;
        return n;
      },
      { concurrency: 4 },
    );
    const items = Array.from({ length: 30 }, (_, n) => n);
    for (const batches of [items.map(n => [n]), [items]]) {
      most = 0;
      expect(await all(counted(source(batches)))).toEqual(items);
      expect(most).toBe(4);
    }
  });

  it('ends the run at the first error, starts no more calls and aborts the running ones', async () => {
    const failure = new Error('no');
    const started: number[] = [];
    const told: number[] = [];
    const state = { read: 0, open: 0, closed: 0 };
    const flow = mapAsync(
      async (n: number, signal: AbortSignal) => {
        started.push(n);
        signal.addEventListener('abort', () => told.push(n));
        if (n === 2) throw failure;
        await new Promise(setImmediate);
        return n;
      },
      { concurrency: 2 },
    )(source([[1, 2, 3, 4, 5, 6]], state));
    expect((await until(flow)).error).toBe(failure);
    const startedThen = started.length;
    await new Promise(resolve => setTimeout(resolve, 5));
    expect(started).toHaveLength(startedThen);
    expect(told).toContain(1);
    expect(state.closed).toBe(1);
  });
});

describe('mapAsync, aborted', () => {
  it('ends immediately even if running calls ignore the signal', async () => {
    const reason = new Error('enough');
    const controller = new AbortController();
    const state = { read: 0, open: 0, closed: 0 };
    const stuck = mapAsync(() => new Promise<never>(() => {}))(source([[1], [2]], state));
    const run = batchesOf(new Flow(at => stuck.batches({ ...at, signal: controller.signal })));
    setImmediate(() => controller.abort(reason));
    await expect(run).rejects.toBe(reason);
    expect(state.closed).toBe(1);
  });

  it('causes no unhandled rejection if a call fails afterwards', async () => {
    const unhandled: unknown[] = [];
    const onUnhandled = (error: unknown) => unhandled.push(error);
    process.on('unhandledRejection', onUnhandled);
    const controller = new AbortController();
    const late = mapAsync(async (n: number) => {
      controller.abort(new Error('enough'));
      await new Promise(setImmediate);
      throw new Error(`late ${n}`);
    });
    const flow = new Flow(at =>
      late(source([[1], [2], [3]])).batches({ ...at, signal: controller.signal }),
    );
    await expect(batchesOf(flow)).rejects.toThrow('enough');
    await new Promise(resolve => setTimeout(resolve, 5));
    process.off('unhandledRejection', onUnhandled);
    expect(unhandled).toEqual([]);
  });
});

describe('routeByTag', () => {
  const post = (rules: string) =>
    new Activity(Buffer.from(`{"created_at":"x","id_str":"1","matching_rules":${rules}}`));

  it('gives an activity once for each distinct tag, and once under a fixed name if it has no tag', async () => {
    const activities = [
      post('[{"tag":"a","id":1},{"tag":"b","id":2},{"tag":"a","id":3},{"tag":null,"id":4}]'),
      post('[{"tag":null,"id":4}]'),
      post('[]'),
      new Activity(Buffer.from('{"created_at":"x","id_str":"2"}')),
    ];
    const [first, second, third, fourth] = activities;
    expect(await all(routeByTag({ untagged: 'rest' })(source([activities])))).toEqual([
      { tag: 'a', activity: first },
      { tag: 'b', activity: first },
      { tag: 'rest', activity: second },
      { tag: 'rest', activity: third },
      { tag: 'rest', activity: fourth },
    ]);
    expect(
      await all(map((routed: { tag: string }) => routed.tag)(routeByTag()(source([[third!]])))),
    ).toEqual(['untagged']);
  });

  it('refuses a tag that equals the name for activities without a tag', async () => {
    const { error } = await until(routeByTag()(source([[post('[{"tag":"untagged","id":1}]')]])));
    expect(error).toBeInstanceOf(DataError);
    expect(error).toMatchObject({ message: expect.stringContaining('routeByTag({ untagged:') });
    expect(() => routeByTag({ untagged: '' })).toThrow(OptionError);
  });
});
