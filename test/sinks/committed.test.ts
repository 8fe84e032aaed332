import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { OptionError, StorageError } from '../../src/errors.js';
import { Flow } from '../../src/flow/flow.js';
import { pipeline } from '../../src/flow/pipeline.js';
import { type Committed, type CommittedOptions, committed } from '../../src/sinks/committed.js';
import { places } from './cursors.js';
import { type Ending, StandIn } from './stand-in.js';

const numbers = (count: number) => Array.from({ length: count }, (_, n) => n);
/** Batches of these sizes, of numbers that count on. */
function batchesOf(sizes: readonly number[]): number[][] {
  let next = 0;
  return sizes.map(size => Array.from({ length: size }, () => next++));
}

const quick = { retryWaitMs: 0, waitMs: 0 } as const;

describe('committed', () => {
  it('writes every row once and in order, with the text in the same transaction', async () => {
    const target = new StandIn<number>();
    const source = places(batchesOf([3, 0, 5, 2]));
    const result = await pipeline(source, committed({ ...quick, rows: 4, ...target.transactions }));
    expect(result).toEqual({ rows: 10 });
    expect(target.rows).toEqual(numbers(10));
    expect(JSON.parse(target.text ?? '')).toMatchObject({ state: 'complete', rows: 10 });
    expect(Math.max(...target.writes.map(({ rows }) => rows.length))).toBeLessThanOrEqual(4);
  });

  it('opens nothing once it is complete, and gives the same result', async () => {
    const target = new StandIn<number>();
    const opened: number[] = [];
    const run = () =>
      pipeline(
        places(batchesOf([2, 2]), { onOpen: from => opened.push(from) }),
        committed({ ...quick, ...target.transactions }),
      );
    expect([await run(), await run()]).toEqual([
      { rows: 4 },
      { rows: 4, completeSince: expect.any(Date) },
    ]);
    expect(opened).toEqual([0]);
    expect(target.rows).toEqual(numbers(4));
  });

  it('refuses the text of another flow, and one that was edited, and writes nothing', async () => {
    const target = new StandIn<number>();
    const flow = (query: string) =>
      new Flow<number>(
        async function* () {
          yield { items: [1], cursor: { next: 1 } };
        },
        undefined,
        [{ step: 'search', query }],
      );
    const run = (query: string) =>
      pipeline(flow(query), committed({ ...quick, ...target.transactions, name: 'posts' }));
    await run('rain');
    await expect(run('snow')).rejects.toThrow(
      /The checkpoint of posts belongs to another flow: `query` of search\(\) was "rain" and is now "snow"/,
    );
    target.text = target.text?.replace('"rows": 1', '"rows": 2');
    await expect(run('rain')).rejects.toThrow(/checkpoint of posts is damaged or was edited/);
    expect(target.rows).toEqual([1]);
  });
});

/** How each attempt of a transaction or call ends, in turn; after these, all succeed. */
const endings = fc.array(
  fc.constantFrom<Ending>(
    'ok',
    'fails before',
    'fails after',
    'answer lost',
    'killed before',
    'killed after',
  ),
  { maxLength: 12 },
);
const sizes = fc.array(fc.nat(7), { maxLength: 12 });

describe('each row comes once, however calls fail and whenever the run is killed', () => {
  it.each(['transactions', 'ranges'] as const)('with %s', async kind => {
    await fc.assert(
      fc.asyncProperty(
        ...[sizes, endings, fc.integer({ min: 1, max: 3 }), fc.integer({ min: 1, max: 6 })],
        async (sizes, endings, cursorEvery, rows) => {
          const target = new StandIn<number>(endings);
          const batches = batchesOf(sizes);
          const total = sizes.reduce((sum, size) => sum + size, 0);
          for (let runs = 0; ; runs++) {
            expect(runs).toBeLessThan(20);
            const options: CommittedOptions<number> = { ...quick, rows, ...target[kind] };
            const result = await pipeline(
              places(batches, { cursorEvery }),
              committed(options),
            ).catch((error: unknown) => error);
            if (!(result instanceof Error)) {
              // Killed after its last commit: the next run finds that it is complete.
              const { completeSince, ...written } = result as Committed;
              expect(written).toEqual({ rows: total });
              expect(completeSince === undefined || completeSince instanceof Date).toBe(true);
              break;
            }
            expect(result).toBeInstanceOf(StorageError);
            target.revive();
          }
          expect(target.rows).toEqual(numbers(total));
        },
      ),
    );
  });
});

describe('wrong functions', () => {
  it.each<[string, Partial<CommittedOptions<number>>, RegExp]>([
    [
      'a transaction that does not call its function',
      { transaction: async () => {} },
      /`transaction` must call/,
    ],
    [
      'a transaction that does not wait',
      { transaction: work => void work().catch(() => {}), write: () => new Promise(() => {}) },
      /wait for it before it commits/,
    ],
    ['load that returns an object', { load: () => ({}) as string }, /`load` must return the text/],
  ])('%s', async (_, wrong, message) => {
    const target = new StandIn<number>();
    const options = { ...quick, ...target.transactions, ...wrong };
    const run = pipeline(places(batchesOf([2])), committed(options));
    await expect(run).rejects.toThrow(message);
    await expect(run).rejects.toBeInstanceOf(OptionError);
  });
});
