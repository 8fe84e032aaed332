import { setImmediate as turn } from 'node:timers/promises';
import fc from 'fast-check';
import { beforeEach, describe, expect, it } from 'vitest';
import { DataError, MillraceError, OptionError, StorageError } from '../../src/base/errors.js';
import type { Wait } from '../../src/base/wait.js';
import { Flow, type Sink } from '../../src/flow/flow.js';
import { pipeline } from '../../src/flow/pipeline.js';
import { Progress } from '../../src/flow/progress.js';
import { type Committed, type CommittedOptions, committed } from '../../src/sinks/committed.js';
import { tee } from '../../src/sinks/tee.js';
import { places } from './cursors.js';
import { ENDINGS, type Ending, StandIn } from './stand-in.js';

const numbers = (count: number) => Array.from({ length: count }, (_, n) => n);
function batchesOf(sizes: readonly number[]): number[][] {
  let next = 0;
  return sizes.map(size => Array.from({ length: size }, () => next++));
}

const quick = { retryWaitMs: 0, waitMs: 0 } as const;

describe('committed()', () => {
  it('writes every row exactly once and in order, in the same transactions as the checkpoint text', async () => {
    const target = new StandIn<number>();
    const source = places(batchesOf([3, 0, 5, 2]));
    const result = await pipeline(source, committed({ ...quick, rows: 4, ...target.transactions }));
    expect(result).toEqual({ rows: 10 });
    expect(target.rows).toEqual(numbers(10));
    expect(JSON.parse(target.text ?? '')).toMatchObject({ state: 'complete', rows: 10 });
    expect(Math.max(...target.writes.map(({ rows }) => rows.length))).toBeLessThanOrEqual(4);
  });

  it('opens no source after a complete run, and returns the same result', async () => {
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

  it('continues an incremental source after the last cursor, even if that cursor is from an earlier commit', async () => {
    const target = new StandIn<number>();
    const opened: number[] = [];
    const run = (sizes: readonly number[]) =>
      pipeline(
        new Flow<number>(
          pull => places(batchesOf(sizes), { onOpen: from => opened.push(from) }).batches(pull),
          undefined,
          [{ step: 'growing', incremental: true }],
        ),
        committed({ ...quick, rows: 1, ...target.transactions }),
      );
    expect(await run([2, 2])).toEqual({ rows: 4, added: 4 });
    expect(await run([2, 2, 3])).toEqual({ rows: 7, added: 3 });
    expect(opened).toEqual([0, 2]);
    expect(target.rows).toEqual(numbers(7));
  });

  describe('with the checkpoint text of another run', () => {
    let target: StandIn<number>;
    const run = (query: string) => {
      const flow = new Flow<number>(
        async function* () {
          yield { items: [1], cursor: { next: 1 } };
        },
        undefined,
        [{ step: 'search', query }],
      );
      return pipeline(flow, committed({ ...quick, ...target.transactions, name: 'posts' }));
    };
    beforeEach(async () => {
      target = new StandIn<number>();
      await run('rain');
    });

    it('rejects a different flow without writing', async () => {
      await expect(run('snow')).rejects.toThrow(
        /The checkpoint of posts belongs to another flow: `query` of search\(\) was "rain" and is now "snow"/,
      );
      expect(target.rows).toEqual([1]);
    });

    it('rejects a checkpoint text that was edited, without writing', async () => {
      target.text = target.text?.replace('"rows": 1', '"rows": 2');
      await expect(run('rain')).rejects.toThrow(/checkpoint of posts is damaged or was edited/);
      expect(target.rows).toEqual([1]);
    });
  });
});

describe('a commit of committed()', () => {
  const oneBatch = (items: readonly number[], wait?: Promise<unknown>) =>
    new Flow<number>(async function* () {
      yield { items, cursor: { next: 1 } };
      await wait;
    });

  it('happens after `waitMs` if the source delivers no more items', async () => {
    const target = new StandIn<number>();
    const { transactions } = target;
    const committedRows = new Promise<void>(resolve => {
      const save = (text: string) => {
        transactions.save(text);
        if (text.includes('"rows": 2')) resolve();
      };
      void pipeline(
        oneBatch([0, 1], new Promise(() => {})),
        committed({ waitMs: 5, ...transactions, save }),
        { signal: ended.signal },
      ).catch(() => {});
    });
    await committedRows;
    ended.abort();
  });

  it('contains only the rows before the last cursor if `waitMs` passes', async () => {
    const target = new StandIn<number>();
    const { transactions } = target;
    const stop = new AbortController();
    const source = new Flow<number>(async function* ({ signal }) {
      yield { items: [0, 1], cursor: { next: 2 } };
      yield { items: [2, 3] };
      await new Promise((_, reject) => signal.addEventListener('abort', reject, { once: true }));
    });
    const save = (text: string) => {
      transactions.save(text);
      if (text.includes('"commits": 1')) setImmediate(() => stop.abort(new Error('enough')));
    };
    const sink = committed({ waitMs: 20, ...transactions, save });
    await expect(pipeline(source, sink, { signal: stop.signal })).rejects.toThrow('enough');
    expect(target.rows).toEqual([0, 1]);
    expect(JSON.parse(target.text ?? '')).toMatchObject({ rows: 2, cursor: { next: 2 } });
  });

  it('does not happen before `rows` rows have arrived if `waitMs` is long', async () => {
    const target = new StandIn<number>();
    const batches = batchesOf([4, 4, 4, 4, 4, 1]);
    await pipeline(places(batches), committed({ rows: 8, waitMs: 60_000, ...target.transactions }));
    expect(target.writes.map(({ rows }) => rows.length)).toEqual([8, 8, 5]);
  });

  it('consists of several writes in one transaction if the source has no cursor', async () => {
    const target = new StandIn<number>();
    const texts: string[] = [];
    const { save, ...rest } = target.transactions;
    const source = new Flow<number>(async function* () {
      for (const items of batchesOf(numbers(40).map(() => 5))) {
        yield { items };
        // Records how many of the delivered rows the sink still holds. All others have been
        // written.
        const written = target.writes.reduce((sum, { rows }) => sum + rows.length, 0);
        delivered.push((items.at(-1) as number) + 1 - written);
      }
    });
    const delivered: number[] = [];
    const result = await pipeline(
      source,
      committed({
        rows: 10,
        ...rest,
        save: text => {
          texts.push(text);
          return save(text);
        },
      }),
    );
    expect(result).toEqual({ rows: 200 });
    expect(target.rows).toEqual(numbers(200));
    expect(Math.max(...delivered)).toBeLessThanOrEqual(30);
    expect(texts.length).toBe(2);
  });

  it('is rolled back without a retry if the source fails between two of its writes', async () => {
    const target = new StandIn<number>();
    const source = new Flow<number>(async function* () {
      yield { items: numbers(20) };
      yield { items: numbers(20) };
      throw new Error('the source is broken');
    });
    const run = pipeline(source, committed({ ...quick, rows: 10, ...target.transactions }));
    await expect(run).rejects.toThrow('the source is broken');
    expect(target.rows).toEqual([]);
    expect(JSON.parse(target.text ?? '')).toMatchObject({ rows: 0, state: 'running' });
  });

  it.each(['transactions', 'ranges'] as const)(
    'rejects the run if another run has committed, with %s',
    async mode => {
      const target = new StandIn<number>();
      const source = new Flow<number>(async function* () {
        yield { items: [0], cursor: { next: 1 } };
        // While this run waits here, another run of the same script does all the work.
        await pipeline(places(batchesOf([1, 1, 1])), committed({ ...quick, ...target[mode] }));
        yield { items: [1], cursor: { next: 2 } };
      });
      const run = pipeline(source, committed({ waitMs: 60_000, ...target[mode], name: 'posts' }));
      await expect(run).rejects.toThrow(/Another run has committed to posts/);
      expect(target.rows).toEqual([0, 1, 2]);
      expect(JSON.parse(target.text ?? '')).toMatchObject({ rows: 3, state: 'complete' });
    },
  );

  it('is retried `retries` times, and then fails with advice', async () => {
    const target = new StandIn<number>(['ok', ...numbers(9).map((): Ending => 'fails before')]);
    const run = pipeline(
      oneBatch([0]),
      committed({ waitMs: 0, retries: 2, retryWaitMs: 20, ...target.transactions, name: 'posts' }),
    );
    await expect(run).rejects.toBeInstanceOf(StorageError);
    await expect(run).rejects.toThrow(
      'Could not commit to posts: fails before. See the cause, then run the same again: it continues after the last commit',
    );
    expect(target.tries).toBe(4);
  });

  it('waits at most 30 s for a retry, however long `retryWaitMs` is', async () => {
    const target = new StandIn<number>(['ok', 'fails before']);
    const stop = new AbortController();
    const waits: Wait[] = [];
    const progress = Object.assign(new Progress(), {
      onWait(wait: Wait) {
        waits.push(wait);
        stop.abort(new Error('enough'));
        return () => {};
      },
    });
    const sink = committed<number, void>({
      waitMs: 0,
      retryWaitMs: 600_000,
      ...target.transactions,
    });
    const run = sink(oneBatch([0]), { signal: stop.signal, progress });
    await expect(run).rejects.toThrow('enough');
    expect(waits).toEqual([expect.objectContaining({ reason: 'retry', retry: 1 })]);
    expect(waits[0]?.waitMs).toBeGreaterThanOrEqual(15_000);
    expect(waits[0]?.waitMs).toBeLessThanOrEqual(30_000);
  });

  it.each([
    ['without tee', (sink: Sink<number, unknown>) => sink],
    ['in a branch of tee', (sink: Sink<number, unknown>) => tee(sink)],
  ])(
    'at the end of the source does not complete the run if the commit fails: %s',
    async (_, as) => {
      const target = new StandIn<number>();
      let fail = () => {};
      const failed = new Promise<void>(resolve => {
        fail = resolve;
      });
      const source = new Flow<number>(async function* () {
        yield { items: [0], cursor: { next: 1 } };
        await failed;
      });
      const write = () => {
        fail();
        throw new TypeError('x is not a function');
      };
      const sink = committed({ ...quick, ...target.transactions, write });
      await expect(as(sink)(source)).rejects.toThrow('x is not a function');
      expect(JSON.parse(target.text ?? '')).toMatchObject({ state: 'running', rows: 0 });
    },
  );

  it.each([
    ['rows with a cursor', true],
    ['rows without a cursor, in several writes', false],
  ])(
    'is not repeated if the transaction succeeded and only its response was lost, even if the next call fails: %s',
    async (_, hasCursor) => {
      const target = new StandIn<number>(['ok', 'answer lost', 'fails before']);
      const source = new Flow<number>(async function* () {
        for (const [index, items] of batchesOf([4, 4, 4]).entries())
          yield hasCursor ? { items, cursor: { next: index } } : { items };
      });
      const options = { waitMs: 60_000, retryWaitMs: 0, rows: 4, ...target.transactions };
      expect(await pipeline(source, committed(options))).toEqual({ rows: 12 });
      expect(target.rows).toEqual(numbers(12));
      expect(target.writes.flatMap(({ rows }) => rows)).toEqual(numbers(12));
    },
  );

  it('fails if the checkpoint cannot be read after the response of a commit with several writes was lost', async () => {
    const endings = numbers(9).map((): Ending => 'fails before');
    const target = new StandIn<number>(['ok', 'answer lost', ...endings]);
    const source = new Flow<number>(async function* () {
      for (const items of batchesOf([4, 4, 4])) yield { items };
    });
    const options = { waitMs: 60_000, retryWaitMs: 0, retries: 3, rows: 4 };
    const run = pipeline(source, committed({ ...options, ...target.transactions }));
    await expect(run).rejects.toBeInstanceOf(StorageError);
    // The first call reads the checkpoint, and the second call is the commit.
    expect(target.tries).toBe(2 + 3);
  });

  it('is not repeated without transactions if only the response to its last save was lost', async () => {
    // These are the endings of saving the first text, saving the range to write, writing its rows,
    // and saving the new text.
    const target = new StandIn<number>(['ok', 'ok', 'ok', 'answer lost']);
    const run = pipeline(places(batchesOf([4, 4])), committed({ ...quick, ...target.ranges }));
    expect(await run).toEqual({ rows: 8 });
    expect(target.writes.map(({ rows }) => rows)).toEqual([
      [0, 1, 2, 3],
      [4, 5, 6, 7],
    ]);
  });

  describe.each(['called again', 'called again in write'] as const)(
    'with a `transaction` that rolls back and calls its callback again (%s)',
    ending => {
      const source = (hasCursor: boolean) =>
        new Flow<number>(async function* () {
          for (const [index, items] of batchesOf([4, 4, 4]).entries())
            yield hasCursor ? { items, cursor: { next: index } } : { items };
        });
      const options = { waitMs: 60_000, retryWaitMs: 0, rows: 4, name: 'posts' } as const;

      it('writes all rows again if the rows have a cursor', async () => {
        const target = new StandIn<number>(['ok', ending, ending]);
        const sink = committed({ ...options, ...target.transactions });
        expect(await pipeline(source(true), sink)).toEqual({ rows: 12 });
        expect(target.rows).toEqual(numbers(12));
      });

      it('commits nothing and rejects with a StorageError if the rows come in several writes', async () => {
        const target = new StandIn<number>(['ok', ending]);
        const sink = committed({ ...options, ...target.transactions });
        const failure: unknown = await pipeline(source(false), sink).catch(error => error);
        expect(failure).toBeInstanceOf(StorageError);
        expect(failure).toMatchObject({
          retryable: true,
          message: expect.stringContaining('`transaction` called its function again'),
        });
        expect(target.rows).toEqual([]);
        expect(JSON.parse(target.text ?? '')).toMatchObject({ rows: 0, state: 'running' });
        expect(await pipeline(source(false), sink)).toEqual({ rows: 12 });
        expect(target.rows).toEqual(numbers(12));
      });
    },
  );

  it('rejects if another run has committed between its writes', async () => {
    const target = new StandIn<number>();
    const source = new Flow<number>(async function* () {
      // While this run waits here, another run of the same script does all the work.
      await pipeline(places([numbers(40)]), committed({ ...quick, ...target.transactions }));
      yield { items: numbers(20) };
      yield { items: numbers(20) };
    });
    const run = pipeline(source, committed({ ...target.transactions, rows: 10, name: 'posts' }));
    await expect(run).rejects.toBeInstanceOf(StorageError);
    await expect(run).rejects.toThrow(/Another run has committed to posts/);
    expect(target.rows).toEqual(numbers(40));
  });

  it('passes a different token to each call of `write`', async () => {
    const target = new StandIn<number>();
    const source = new Flow<number>(async function* () {
      // Some batches have a cursor. Between two of these, there are more rows than the sink can
      // hold without a cursor.
      for (const [index, items] of batchesOf(numbers(12).map(() => 4)).entries())
        yield index % 4 === 3 || index < 3 ? { items, cursor: { next: index } } : { items };
    });
    await pipeline(source, committed({ waitMs: 60_000, rows: 4, ...target.transactions }));
    expect(target.rows).toEqual(numbers(48));
    const tokens = target.writes.map(({ range }) => range.token);
    expect(new Set(tokens).size).toBe(tokens.length);
    expect(tokens.length).toBeGreaterThan(6);
  });

  it.each([
    ['an error in the code of the caller', new TypeError('x is not a function')],
    [
      'a violated constraint (SQLSTATE)',
      Object.assign(new Error('duplicate key'), { code: '23505' }),
    ],
    [
      'data that are too long for a column',
      Object.assign(new Error('too long'), { code: '22001' }),
    ],
    ['a missing table', Object.assign(new Error('no table'), { code: '42P01' })],
    ['an error of Millrace that is not retryable', new DataError('no post')],
    ['an error that isRetryable refuses', new Error('no')],
  ])('is not retried after %s', async (name, error) => {
    const target = new StandIn<number>();
    let tries = 0;
    const run = pipeline(
      oneBatch([0]),
      committed({
        ...target.transactions,
        ...(name.endsWith('isRetryable refuses') && { isRetryable: () => false }),
        write() {
          tries++;
          throw error;
        },
      }),
    );
    const thrown: unknown = await run.catch((reason: unknown) => reason);
    const isUnchanged = error instanceof TypeError || error instanceof MillraceError;
    expect(isUnchanged ? thrown : (thrown as Error).cause).toBe(error);
    expect(tries).toBe(1);
  });

  it.each([
    ['a broken connection', Object.assign(new Error('reset'), { code: 'ECONNRESET' })],
    ['a lost deadlock (SQLSTATE)', Object.assign(new Error('deadlock'), { code: '40P01' })],
    ['a TypeError of `fetch`', new TypeError('fetch failed', { cause: new Error('reset') })],
    ['an error of Millrace that is retryable', new DataError('cut short', { retryable: true })],
  ])('is retried after %s', async (_, error) => {
    const target = new StandIn<number>();
    const functions = target.transactions;
    let tries = 0;
    await pipeline(
      oneBatch([0, 1]),
      committed<number>({
        ...quick,
        ...functions,
        write(rows, tx, range) {
          if (++tries === 1) throw error;
          functions.write(rows, tx, range);
        },
      }),
    );
    expect([tries, target.rows]).toEqual([2, [0, 1]]);
  });

  it('does not start after an abort, and the run rejects with the reason', async () => {
    const target = new StandIn<number>();
    const reason = new Error('enough');
    const run = pipeline(
      oneBatch([0], new Promise(() => {})),
      committed({ waitMs: 60_000, ...target.transactions }),
      { signal: abortedSoon(reason) },
    );
    await expect(run).rejects.toBe(reason);
    expect(target.rows).toEqual([]);
  });

  it.each(['transactions', 'ranges'] as const)(
    'calls `write` no more after an abort, with %s',
    async mode => {
      const target = new StandIn<number>();
      const reason = new Error('enough');
      const stop = new AbortController();
      const functions = target[mode];
      const sink = committed<number>({
        ...quick,
        rows: 4,
        ...functions,
        write: async (rows, tx, range) => {
          stop.abort(reason);
          await functions.write(rows, tx, range);
        },
      });
      const run = pipeline(places([numbers(12)]), sink, { signal: stop.signal });
      await expect(run).rejects.toBe(reason);
      await turn();
      expect(target.writes.map(({ rows }) => rows)).toEqual([[0, 1, 2, 3]]);
    },
  );

  it('fails with the range that it has to write again if the source does not deliver the same rows', async () => {
    const target = new StandIn<number>(['ok', 'ok', 'killed after']);
    const options = { ...quick, rows: 9, ...target.ranges, name: 'posts' };
    await pipeline(places(batchesOf([3, 3])), committed(options)).catch(() => {});
    expect(JSON.parse(target.text ?? '')).toMatchObject({ pending: { rows: 3 } });
    target.revive();
    await expect(pipeline(places(batchesOf([2, 2, 2])), committed(options))).rejects.toThrow(
      /has begun to write 3 rows to posts, and the source does not deliver the same rows again/,
    );
  });

  it('fails as soon as more rows arrive than the range that it has to write again contains', async () => {
    const target = new StandIn<number>(['ok', 'ok', 'killed after']);
    const options = { ...quick, rows: 9, ...target.ranges, name: 'posts' };
    await pipeline(places(batchesOf([3, 3])), committed(options)).catch(() => {});
    target.revive();
    let read = 0;
    const endless = new Flow<number>(async function* () {
      while (++read < 1_000) yield { items: [read, read] };
    });
    await expect(pipeline(endless, committed(options))).rejects.toThrow(
      /has begun to write 3 rows to posts/,
    );
    expect(read).toBeLessThan(20);
  });

  it('fails with a warning that rows may be in the database if the cursor after the range differs', async () => {
    const target = new StandIn<number>(['ok', 'ok', 'killed after']);
    // The token of a page depends on the time of its request.
    const run = (token: string) => {
      const source = new Flow<number>(async function* () {
        yield { items: [0, 1, 2], cursor: { token } };
        yield { items: [3], cursor: { token: `${token} of the next page` } };
      });
      return pipeline(source, committed({ ...quick, rows: 3, ...target.ranges }));
    };
    await expect(run('early')).rejects.toThrow(StorageError);
    target.revive();
    expect(await run('late')).toEqual({ rows: 4 });
    expect(target.rows).toEqual([0, 1, 2, 3]);
    expect(target.writes.map(({ range }) => range.again)).toEqual([false, true, false]);
  });
});

const ended = new AbortController();

function abortedSoon(reason: Error): AbortSignal {
  const controller = new AbortController();
  setTimeout(() => controller.abort(reason), 5);
  return controller.signal;
}

/** The endings of the first attempts. All further attempts succeed. */
const endings = fc.array(fc.constantFrom(...ENDINGS), { maxLength: 12 });
const sizes = fc.array(fc.nat(7), { maxLength: 12 });

describe('a row in committed()', () => {
  it.each(['transactions', 'ranges'] as const)(
    'is written exactly once after any failures and kills, with %s',
    async kind => {
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
                // The process was killed after its last commit, so the next run finds that the work
                // is complete.
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
    },
  );
});

describe('committed() with wrong callbacks', () => {
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
    [
      'a transaction that does not wait until its function has failed',
      {
        transaction: work => void work(),
        write: () => turn().then(() => Promise.reject(new Error('too late'))),
      },
      /wait for it before it commits/,
    ],
    [
      'a transaction that calls its function again without waiting for it',
      {
        ...new StandIn<number>().ranges,
        transaction: async work => {
          await work(undefined);
          void work(undefined);
        },
      },
      /wait for it before it commits/,
    ],
    ['load that returns an object', { load: () => ({}) as string }, /`load` must return the text/],
  ])('throws for %s', async (_, wrong, message) => {
    const target = new StandIn<number>();
    const options = { ...quick, ...target.transactions, ...wrong };
    const run = pipeline(places(batchesOf([2])), committed(options));
    await expect(run).rejects.toThrow(message);
    await expect(run).rejects.toBeInstanceOf(OptionError);
  });
});
