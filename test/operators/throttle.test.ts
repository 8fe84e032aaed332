import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { OptionError } from '../../src/base/errors.js';
import { Flow } from '../../src/flow/flow.js';
import { pipeline } from '../../src/flow/pipeline.js';
import { Progress } from '../../src/flow/progress.js';
import { throttle } from '../../src/operators/throttle.js';
import { collect } from '../../src/sinks/collect.js';
import { all } from '../json/cut.js';
import { itemsOf, newState, type Step, scripted, withCrashes } from '../sources/scripted-source.js';
import { bySuite } from '../suite.js';

const each = (count: number, items: number): Step[] =>
  Array.from({ length: count }, () => ({ items, cursor: true, wait: 'none' }));

describe('throttle', () => {
  it('waits a month between two items without exceeding the longest timer of Node', async () => {
    const warnings: unknown[] = [];
    const warned = (warning: unknown) => warnings.push(warning);
    process.on('warning', warned);
    const controller = new AbortController();
    const source = new Flow(async function* () {
      yield { items: [1, 2] };
    });
    const { signal } = controller;
    const flow = throttle<number>({ perSecond: 1 / 2_592_000 })(source);
    const batches = flow.batches({ signal })[Symbol.asyncIterator]();
    expect(await batches.next()).toMatchObject({ value: { items: [1] } });
    const second = batches.next();
    // Node emits the warning in the turn after the timer has started.
    for (let turn = 0; turn < 20; turn++) await new Promise(resolve => setImmediate(resolve));
    controller.abort();
    await expect(second).rejects.toBe(signal.reason);
    process.off('warning', warned);
    expect(warnings).toEqual([]);
  });

  it('passes every item without ever exceeding its rate in any period', async () => {
    await fc.assert(
      fc.asyncProperty(
        fc.integer({ min: 1, max: 6 }),
        fc.integer({ min: 2, max: 12 }),
        fc.array(fc.nat(5), { maxLength: 6 }),
        fc.array(fc.integer({ min: 1, max: 8 }), { maxLength: 2 }),
        async (items, perMs, batches, crashes) => {
          const script = batches.map(count => ({
            items: count,
            cursor: true,
            wait: 'none' as const,
          }));
          const began = performance.now();
          const times: number[] = [];
          for await (const _ of throttle<string>({ items, perMs })(scripted('a', script)))
            times.push(performance.now());
          // Measures the times from the start of the run. Two items can be closer together than
          // `throttle` allows, because the consumer may see the first of them late.
          for (const [index, time] of times.entries())
            expect(time - began).toBeGreaterThan(Math.floor(index / items) * (perMs - 2));
          const flow = throttle<string>({ items, perMs })(scripted('a', script));
          expect(await withCrashes(flow, crashes)).toEqual(itemsOf('a', script));
        },
      ),
      { numRuns: bySuite(2, 80) },
    );
  });

  it('passes the first items immediately, and all later items at its rate', async () => {
    // If the stage waited after its last item, this would take an hour.
    await all(throttle<string>({ items: 100, perMs: 3_600_000 })(scripted('a', each(1, 100))));
    await all(throttle<string>({ perSecond: 100 })(scripted('a', each(1, 100))));
    const began = performance.now();
    await all(throttle<string>({ perSecond: 12.5 })(scripted('a', each(1, 3))));
    expect(performance.now() - began).toBeGreaterThan(155);
  });

  describe('during a wait of an hour', () => {
    const waiting = async () => {
      const state = newState();
      const progress = new Progress();
      const controller = new AbortController();
      const flow = throttle<string>({ items: 1, perMs: 3_600_000 })(
        scripted('a', each(4, 1), state),
      );
      const { signal } = controller;
      const read = async () => {
        for await (const { items } of flow.batches({ signal, progress }))
          expect(items.length).toBe(1);
      };
      const run = read();
      await new Promise(resolve => setTimeout(resolve, 10));
      const abort = async () => {
        const reason = new Error('enough');
        controller.abort(reason);
        await expect(run).rejects.toBe(reason);
      };
      return { state, progress, abort };
    };

    it('reads nothing from its source', async () => {
      const { state, abort } = await waiting();
      expect(state).toMatchObject({ batches: 2, closed: 0 });
      await abort();
    });

    it('shows the wait in the progress', async () => {
      const { progress, abort } = await waiting();
      expect(progress.wait).toMatchObject({ reason: 'throttle', waitMs: expect.any(Number) });
      expect(progress.waitLeftMs).toBeGreaterThan(3_500_000);
      await abort();
    });

    it('rejects with the reason of an abort, and closes the source', async () => {
      const { state, progress, abort } = await waiting();
      await abort();
      expect(state.closed).toBe(1);
      expect(progress.wait).toBeUndefined();
    });
  });

  it('reports each wait to the progress', async () => {
    const waits: unknown[] = [];
    const reason = new Error('seen');
    const controller = new AbortController();
    const slow = pipeline(scripted('a', each(2, 1)), throttle({ perSecond: 0.001 }), collect(), {
      signal: controller.signal,
      progress: counts => {
        if (counts.wait === undefined) return;
        waits.push(counts.wait.reason);
        controller.abort(reason);
      },
    });
    await expect(slow).rejects.toBe(reason);
    expect(waits).toContain('throttle');
  });

  it('passes batches without items because of their cursors', async () => {
    const empty = new Flow<number>(async function* () {
      yield { items: [], cursor: { at: 1 } };
    });
    const seen: unknown[] = [];
    for await (const batch of throttle<number>({ perSecond: 1 })(empty).batches()) seen.push(batch);
    expect(seen).toEqual([{ items: [], cursor: { at: 1 } }]);
  });

  it.each([
    [{}],
    [{ items: 5 }],
    [{ perMs: 5 }],
    [{ perSecond: 5, items: 5, perMs: 5 }],
    [{ perSecond: 0 }],
    [{ perSecond: Number.POSITIVE_INFINITY }],
    [{ items: 0, perMs: 5 }],
    [{ items: 1, perMs: 0 }],
  ])('throws an OptionError for %j', options => {
    expect(() => throttle(options)).toThrow(OptionError);
  });
});
