import { readdir, readFile } from 'node:fs/promises';
import { Readable, Writable } from 'node:stream';
import { pipeline as nodePipeline } from 'node:stream/promises';
import { setTimeout as sleep } from 'node:timers/promises';
import { describe, expect, it } from 'vitest';
import { OptionError, StorageError } from '../../src/base/errors.js';
import { type Batch, Flow, type Sink } from '../../src/flow/flow.js';
import { pipeline } from '../../src/flow/pipeline.js';
import type { ProgressCounts } from '../../src/flow/progress.js';
import { compose } from '../../src/operators/compose.js';
import { filter } from '../../src/operators/filter.js';
import { map } from '../../src/operators/map.js';
import { take } from '../../src/operators/take.js';
import { collect } from '../../src/sinks/collect.js';
import { committed } from '../../src/sinks/committed.js';
import { files } from '../../src/sinks/files.js';
import { tee } from '../../src/sinks/tee.js';
import { temporaryFolder } from '../temporary-folder.js';
import { unchecked } from '../unchecked.js';
import { places } from './cursors.js';
import { StandIn } from './stand-in.js';

const numbers = (count: number) =>
  places(
    Array.from({ length: count }, (_, n) => [n]),
    {},
  );
const isEven = (n: number) => n % 2 === 0;

describe('tee()', () => {
  it('delivers every item to each branch, and resolves to the results of all branches', async () => {
    const out = await temporaryFolder();
    const results = await pipeline(
      numbers(5),
      tee(
        files({ path: `${out}/all.jsonl` }),
        compose(filter(isEven), files({ path: `${out}/even.jsonl` })),
        collect(),
        compose(
          filter(isEven),
          map(n => `#${n}`),
          collect(),
        ),
      ),
    );
    expect(results[0]).toMatchObject({ posts: 5, files: [{ path: `${out}/all.jsonl` }] });
    expect(results[1].posts).toBe(3);
    expect(results.slice(2)).toEqual([
      [0, 1, 2, 3, 4],
      ['#0', '#2', '#4'],
    ]);
    expect(await readFile(`${out}/all.jsonl`, 'utf8')).toBe('0\n1\n2\n3\n4\n');
    expect(await readFile(`${out}/even.jsonl`, 'utf8')).toBe('0\n2\n4\n');
    expect((await readdir(out)).sort()).toEqual(['all.jsonl', 'even.jsonl']);
  });

  it('applies the operators of nested compose() calls in order', async () => {
    const inner = compose(
      map((n: number) => 10 * n),
      collect(),
    );
    const branch = compose(
      map((n: number) => n + 1),
      inner,
    );
    expect(await pipeline(numbers(3), tee(branch))).toEqual([[10, 20, 30]]);
  });

  it("can be the sink of Node's own pipeline, with Node streams as branches", async () => {
    const written: number[] = [];
    const writable = () =>
      new Writable({
        objectMode: true,
        write(n, _, done) {
          written.push(n);
          done();
        },
      });
    const sink = tee(collect<number>(), writable(), compose(filter(isEven), writable()));
    expect(await nodePipeline(Readable.from([1, 2, 3, 4]), unchecked(sink))).toEqual([
      [1, 2, 3, 4],
      undefined,
      undefined,
    ]);
    expect(written.toSorted()).toEqual([1, 2, 2, 3, 4, 4]);
  });

  it('opens its input once, and closes the input after all branches have ended', async () => {
    const opened: number[] = [];
    let closed = false;
    const source = new Flow<number>(async function* (run) {
      try {
        yield* places([[1, 2], [3], [4], [5]], { onOpen: from => opened.push(from) }).batches(run);
        await sleep(100_000, undefined, { signal: run.signal });
      } finally {
        closed = true;
      }
    });
    const results = await pipeline(
      source,
      tee(compose(take(3), collect()), compose(take(1), collect())),
    );
    expect(results).toEqual([[1, 2, 3], [1]]);
    expect(opened).toEqual([0]);
    expect(closed).toBe(true);
  });

  it('continues with the other branches when one branch ends early', async () => {
    const nothing: Sink<unknown, string> = async () => 'nothing read';
    const results = await pipeline(
      numbers(100),
      tee(compose(take(2), collect()), collect(), nothing),
    );
    expect(results[0]).toEqual([0, 1]);
    expect(results[1]).toHaveLength(100);
    expect(results[2]).toBe('nothing read');
  });

  it('delivers separate batches and cursors to each branch', async () => {
    const seen: Batch<number>[] = [];
    const look: Sink<number> = async input => {
      for await (const batch of (input as Flow<number>).batches()) seen.push(batch);
    };
    const source = places([[1], [2, 3], []], { cursorEvery: 2 });
    await pipeline(source, tee(look, collect()));
    expect(seen.map(({ items, cursor }) => [items, cursor !== undefined])).toEqual([
      [[1], false],
      [[2, 3], true],
      [[], false],
    ]);
  });

  it('reports the progress of each branch and of all branches together', async () => {
    const out = await temporaryFolder();
    let last: ProgressCounts | undefined;
    await pipeline(
      numbers(10),
      tee(
        files({ path: `${out}/all` }),
        compose(filter(isEven, { name: 'odd' }), files({ path: `${out}/even` })),
      ),
      {
        progress: counts => {
          last = counts;
        },
      },
    );
    expect(last).toMatchObject({ written: 15, writtenBytes: 30, dropped: new Map([['odd', 5]]) });
    expect(last?.branches).toMatchObject([
      { received: 10, written: 10, dropped: new Map() },
      { received: 10, written: 5, dropped: new Map([['odd', 5]]) },
    ]);
  });
});

describe('a run with tee()', () => {
  const failing =
    (after: number): Sink<number> =>
    async input => {
      let count = 0;
      for await (const _ of input) if (++count === after) throw new Error('The sink failed');
    };

  describe('in which one branch fails', () => {
    const failedInOne = async () => {
      const out = await temporaryFolder();
      let ended: unknown;
      const endless = new Flow<number>(async function* ({ signal }) {
        signal.addEventListener('abort', () => {
          ended = signal.reason;
        });
        for (let n = 0; ; n++) {
          await sleep(1);
          yield { items: [n] };
        }
      });
      const run = pipeline(
        endless,
        tee(files({ path: `${out}/x.jsonl` }), failing(3), collect(), compose(take(1), collect())),
      );
      return { out, error: await run.catch(thrown => thrown), ended };
    };

    it('rejects with the error of that branch', async () => {
      expect((await failedInOne()).error.message).toContain('The sink failed');
    });

    it('ends the source', async () => {
      expect((await failedInOne()).ended).toBeDefined();
    });

    it('leaves only .part files', async () => {
      const { out } = await failedInOne();
      expect((await readdir(out)).filter(name => !name.endsWith('.part'))).toEqual([]);
    });
  });

  it('rejects with the error of the input, even if the sinks ignore the error', async () => {
    const broken = new Flow<number>(async function* () {
      yield { items: [1] };
      throw new Error('The source failed');
    });
    const ignores: Sink<number> = async input => {
      try {
        for await (const _ of input);
      } catch {}
    };
    await expect(pipeline(broken, tee(ignores, collect()))).rejects.toThrow('The source failed');
    await expect(pipeline(broken, tee(ignores, ignores))).rejects.toThrow('The source failed');
  });

  it('rejects with the error of an operator of a branch', async () => {
    const fails = map((n: number) => {
      if (n === 3) throw new Error('The operator failed');
      return n;
    });
    const run = pipeline(numbers(10), tee(collect(), compose(fails, collect())));
    await expect(run).rejects.toThrow('The operator failed');
  });

  it('rejects with the reason of the abort if it is aborted', async () => {
    const out = await temporaryFolder();
    const controller = new AbortController();
    const waits = new Flow<number>(async function* ({ signal }) {
      yield { items: [1] };
      setTimeout(() => controller.abort('enough'), 20);
      await sleep(100_000, undefined, { signal });
    });
    const checkpoint = `${out}/run.json`;
    const run = pipeline(waits, tee(files({ path: `${out}/x` }), collect(), { checkpoint }), {
      signal: controller.signal,
    });
    await expect(run).rejects.toBe('enough');
  });

  it('rejects with a StorageError if two branches would write the same file', async () => {
    const out = await temporaryFolder();
    const path = (n: number) => `${out}/${n % 3}`;
    const run = pipeline(
      numbers(10),
      tee(
        compose(take(1), files<number>({ path })),
        compose(
          filter(n => n > 4),
          files<number>({ path }),
        ),
      ),
    );
    await expect(run).rejects.toThrow(StorageError);
    await expect(run).rejects.toThrow(/Two branches of tee\(\) write .*0\./);
  });

  it.each<[string, () => unknown, RegExp]>([
    ['no branch', () => (tee as () => unknown)(), /`tee` has no branch/],
    [
      'something that is not a sink',
      () => tee(collect(), unchecked(7)),
      /argument 2 of `tee` to be a sink or a stream to write to, got 7/,
    ],
    ['an unknown option', () => tee(collect(), unchecked({ chekpoint: 'x' })), /`checkpoint`\?/],
    [
      'a checkpoint without files',
      () => tee(collect(), { checkpoint: 'x' }),
      /tee: `checkpoint` needs a branch that writes files/,
    ],
    [
      'a branch with its own checkpoint',
      () => tee(collect(), files({ path: 'x', checkpoint: 'y' })),
      /files: `checkpoint` must not be given in branch 2 of tee\(\): give it to tee itself/,
    ],
    [
      'the same path twice',
      () => tee(files({ path: 'out/x' }), collect(), files({ path: './out//x' })),
      /`path` must differ in each branch of tee\(\): branches 1 and 3 have "out\/x"/,
    ],
    [
      'the same path template twice, within compose',
      () =>
        tee(
          files({ path: 'a/{day}.gz' }),
          compose(take<never>(1), compose(take<never>(2), files({ path: 'a/{day}', gzip: true }))),
        ),
      /branches 1 and 2 have "a\/\{day\}.gz"/,
    ],
    [
      'a path that is the checkpoint',
      () => tee(files({ path: 'out/x.json' }), { checkpoint: 'out/x.json' }),
      /`path` must differ from the checkpoint/,
    ],
    [
      'a checkpoint with the name of an unfinished output',
      () => tee(files({ path: 'out/x.jsonl' }), { checkpoint: './out/x.jsonl.part' }),
      /`checkpoint` must not be the name of the unfinished output, got "\.\/out\/x\.jsonl\.part"/,
    ],
  ])('causes an OptionError when tee() is called with %s', (_, make, message) => {
    expect(make).toThrow(OptionError);
    expect(make).toThrow(message);
  });

  it('rejects with an OptionError before anything is read if a branch ends in an operator', async () => {
    let opened = false;
    const source = new Flow<number>(async function* () {
      opened = true;
      yield { items: [1] };
    });
    const run = pipeline(source, tee(collect(), unchecked<Sink<number>>(take(1))));
    await expect(run).rejects.toThrow(OptionError);
    await expect(run).rejects.toThrow(/argument 2 of `tee`.*It is an operator/);
    expect(opened).toBe(false);
  });

  it('rejects with an explanation if the sink of a branch resumes from its own cursor', async () => {
    const resumes: Sink<number> = async input => {
      for await (const _ of (input as Flow<number>).batches({ resume: { next: 2 } }));
    };
    await expect(pipeline(numbers(3), tee(resumes, collect()))).rejects.toThrow(
      /A single branch of tee\(\) cannot resume from a cursor/,
    );
  });
});

describe('tee() with an incremental source, after all committing branches have ended,', () => {
  const each = Array.from({ length: 9 }, (_, n) => [n, n + 100]);
  const opened: number[] = [];
  const growing = (count: number) =>
    new Flow<number>(
      async function* (at) {
        const onOpen = (from: number) => opened.push(from);
        yield* places(each.slice(0, count), { onOpen }).batches(at);
        yield { items: [], cursor: { next: count } };
      },
      undefined,
      [{ step: 'growing', incremental: true }],
    );

  const COMMITTING: Record<string, (out: string) => () => Sink<number, unknown[]>> = {
    files: out => () =>
      tee(
        compose(take<number>(3), files({ path: `${out}/first.jsonl` })),
        compose(take<number>(5), files({ path: `${out}/more.jsonl` })),
        collect<number>(),
        { checkpoint: `${out}/checkpoint.json` },
      ),
    committed: out => {
      const { transactions } = new StandIn<number>();
      return () =>
        tee(
          compose(take<number>(3), files({ path: `${out}/first.jsonl` })),
          compose(take<number>(5), committed(transactions)),
          collect<number>(),
        );
    },
  };

  it.each(Object.entries(COMMITTING))(
    'delivers the items that the last run did not deliver: %s',
    async (_, by) => {
      const sink = by(await temporaryFolder());
      opened.length = 0;
      const collected: unknown[] = [];
      for (const count of [4, 4, 6, 9]) collected.push((await pipeline(growing(count), sink()))[2]);
      expect(opened).toEqual([0, 4, 4, 6]);
      const items = (from: number, to: number) => each.slice(from, to).flat();
      expect(collected).toEqual([items(0, 4), [], items(4, 6), items(6, 9)]);
    },
  );

  it('delivers the items after the last item of one branch if all other branches ended early', async () => {
    const out = await temporaryFolder();
    opened.length = 0;
    const run = (count: number) =>
      pipeline(
        growing(count),
        tee(
          compose(take<number>(1), files({ path: `${out}/first.jsonl` })),
          compose(take<number>(3), collect()),
          { checkpoint: `${out}/checkpoint.json` },
        ),
      );
    expect((await run(9))[1]).toEqual([0, 100, 1]);
    expect((await run(9))[1]).toEqual([2, 102, 3]);
    expect(opened).toEqual([0, 2]);
  });
});
