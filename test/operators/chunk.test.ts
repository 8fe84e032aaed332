import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { OptionError } from '../../src/base/errors.js';
import { Flow } from '../../src/flow/flow.js';
import { pipeline } from '../../src/flow/pipeline.js';
import { chunk } from '../../src/operators/chunk.js';
import { mapAsync } from '../../src/operators/map-async.js';
import { collect } from '../../src/sinks/collect.js';
import { all, until } from '../json/cut.js';
import { itemsOf, type Step, scripted, withCrashes } from '../sources/scripted-source.js';
import { bySuite } from '../suite.js';
import { unchecked } from '../unchecked.js';
import { source } from './batches.js';

const steps: fc.Arbitrary<Step[]> = fc.array(
  fc.record({
    items: fc.nat(9),
    cursor: fc.boolean(),
    wait: fc.constantFrom<Step['wait']>('none', 'tick', 'ms'),
  }),
  { maxLength: 12 },
);
const each = (count: number, items: number): Step[] =>
  Array.from({ length: count }, () => ({ items, cursor: true, wait: 'none' }));

describe('chunk', () => {
  it('delivers every item in order despite crashes, in chunks of at most `count` items', async () => {
    await fc.assert(
      fc.asyncProperty(
        steps,
        fc.integer({ min: 1, max: 7 }),
        fc.option(fc.constantFrom(1, 5), { nil: undefined }),
        fc.array(fc.integer({ min: 1, max: 8 }), { maxLength: 3 }),
        async (script, count, waitMs, crashes) => {
          const flow = chunk<string>(count, { waitMs })(scripted('a', script));
          const chunks = await withCrashes(flow, crashes);
          expect(chunks.flat()).toEqual(itemsOf('a', script));
          for (const { length } of chunks) {
            expect(length).toBeGreaterThan(0);
            expect(length).toBeLessThanOrEqual(count);
          }
        },
      ),
      { numRuns: bySuite(9, 400) },
    );
  });

  it('fills every chunk except the last one', async () => {
    const chunks = await all(chunk<string>(4)(scripted('a', each(3, 6))));
    expect(chunks.map(({ length }) => length)).toEqual([4, 4, 4, 4, 2]);
  });

  it('delivers a cursor that arrives without items if it holds no items back', async () => {
    const steps: Step[] = [2, 0].map(items => ({ items, cursor: true, wait: 'none' }));
    const cursors: unknown[] = [];
    for await (const { cursor } of chunk<string>(2)(scripted('a', steps)).batches())
      cursors.push(cursor);
    expect(cursors).toEqual([{ step: 1 }, { step: 2 }]);
  });

  it('delivers a cursor only when it holds no items back, with a shorter chunk if necessary', async () => {
    const cursors: unknown[] = [];
    const lengths: number[] = [];
    // Batches of 7 items and chunks of 10 items end at the same item only after every 10 batches. A
    // cursor is possible only there.
    for await (const { items, cursor } of chunk<string>(10)(scripted('a', each(60, 7))).batches()) {
      lengths.push(...items.map(({ length }) => length));
      if (cursor !== undefined) cursors.push(cursor);
    }
    expect(cursors.length).toBe(6);
    expect(lengths.every(length => length === 10)).toBe(true);
    const prime = chunk<string>(11)(scripted('a', each(90, 7)));
    let short = 0;
    for await (const { items, cursor } of prime.batches()) {
      short += items.filter(({ length }) => length < 11).length;
      if (cursor !== undefined) cursors.push(cursor);
    }
    expect(cursors.length).toBeGreaterThan(6 + 3);
    expect(short).toBeLessThan((90 * 7) / 11 / 8);
  });

  it('delivers a partial chunk after waitMs, with the cursor of its last item', async () => {
    const state = { released: () => {} };
    const live = new Flow<number>(async function* () {
      yield { items: [1, 2, 3], cursor: { at: 3 } };
      await new Promise<void>(resolve => {
        state.released = resolve;
      });
      yield { items: [4], cursor: { at: 4 } };
    });
    const seen: unknown[] = [];
    const began = performance.now();
    let waitedMs = 0;
    for await (const batch of chunk<number>(2, { waitMs: 20 })(live).batches()) {
      seen.push([batch.items, batch.cursor]);
      // Does not assert here. If an assertion failed, the run would wait for the source, and the
      // source would wait for `released()`.
      if (seen.length === 2) {
        waitedMs = performance.now() - began;
        state.released();
      }
    }
    // Timers count whole milliseconds, so a timer can fire up to 2 ms early.
    expect(waitedMs).toBeGreaterThan(17);
    expect(seen).toEqual([
      [[[1, 2]], undefined],
      [[[3]], { at: 3 }],
      [[[4]], { at: 4 }],
    ]);
  });

  it('delivers the last chunk without a cursor if its last items came without one', async () => {
    const script: Step[] = [
      { items: 1, cursor: true, wait: 'none' },
      { items: 1, cursor: false, wait: 'none' },
    ];
    const seen: unknown[] = [];
    for await (const { items, cursor } of chunk<string>(3)(scripted('a', script)).batches())
      seen.push({ items, cursor });
    // A run that resumes at the cursor of the first item would get the second item again.
    expect(seen).toEqual([{ items: [['a:0', 'a:1']], cursor: undefined }]);
  });

  it('ends immediately on an abort or an error of its source, even while it waits', async () => {
    const failure = new Error('broken');
    const failing = new Flow<number>(async function* () {
      yield { items: [1, 2, 3] };
      await new Promise(setImmediate);
      throw failure;
    });
    const { items, error } = await until(chunk<number>(2, { waitMs: 1_000 })(failing));
    expect([items, error]).toEqual([[[1, 2]], failure]);

    let closed = false;
    const silent = new Flow<number>(async function* ({ signal }) {
      try {
        yield { items: [1] };
        await new Promise((_, reject) => {
          signal.addEventListener('abort', () => reject(signal.reason), { once: true });
        });
      } finally {
        closed = true;
      }
    });
    const controller = new AbortController();
    const run = pipeline(silent, chunk(2, { waitMs: 100_000 }), collect(), {
      signal: controller.signal,
    });
    setTimeout(() => controller.abort(failure), 5);
    await expect(run).rejects.toBe(failure);
    expect(closed).toBe(true);
  });

  it('delivers chunks in order through mapAsync, which runs several calls at a time', async () => {
    let now = 0;
    let most = 0;
    const sums = mapAsync(
      async (items: readonly string[]) => {
        most = Math.max(most, ++now);
        await new Promise(resolve => setTimeout(resolve, 5 - items.length));
        now--;
        return items.join(' ');
      },
      { concurrency: 2 },
    );
    const chunked = chunk<string>(3)(scripted('a', each(5, 4)));
    const names = itemsOf('a', each(5, 4));
    expect((await all(sums(chunked))).join(' ')).toBe(names.join(' '));
    expect(most).toBe(2);
    const kept = await withCrashes(sums(chunk<string>(4)(scripted('a', each(5, 4)))), [2, 1]);
    expect(kept.join(' ')).toBe(names.join(' '));
  });

  it('closes its source when its reader stops', async () => {
    const state = { read: 0, open: 0, closed: 0 };
    for await (const items of chunk<number>(1)(source([[1], [2], [3]], state))) {
      expect(items).toEqual([1]);
      break;
    }
    expect(state).toMatchObject({ open: 1, closed: 1 });
  });

  it('throws an OptionError for a wrong count or wait', () => {
    for (const count of [0, -1, 1.5, Number.NaN, Number.POSITIVE_INFINITY])
      expect(() => chunk(count)).toThrow(OptionError);
    expect(() => chunk(1, { waitMs: 0 })).toThrow('chunk: `waitMs` must be milliseconds');
    expect(() => chunk(1, unchecked({ wait: 5 }))).toThrow('`waitMs`');
  });
});
