import fc from 'fast-check';
import { describe, expect, it, vi } from 'vitest';
import type { Activity } from '../../src/activity/activity.js';
import { OptionError, StorageError } from '../../src/errors.js';
import { type Batch, Flow, type Operator, operator, type Sink } from '../../src/flow/flow.js';
import { pipeline } from '../../src/flow/pipeline.js';
import { activities } from '../../src/operators/activities.js';
import { chunk } from '../../src/operators/chunk.js';
import { compose } from '../../src/operators/compose.js';
import { dedupe } from '../../src/operators/dedupe.js';
import { filter } from '../../src/operators/filter.js';
import { jsonLines } from '../../src/operators/json-lines.js';
import { map } from '../../src/operators/map.js';
import { mapAsync } from '../../src/operators/map-async.js';
import { take } from '../../src/operators/take.js';
import { tap } from '../../src/operators/tap.js';
import { collect } from '../../src/sinks/collect.js';
import { type Committed, type CommittedOptions, committedOn } from '../../src/sinks/committed.js';
import { type FilesOptions, filesOn } from '../../src/sinks/files.js';
import { fileSinkOn } from '../../src/sinks/output/file-sink.js';
import { planOf } from '../../src/sinks/output/file-sink-options.js';
import type { Written } from '../../src/sinks/output/written.js';
import { tee } from '../../src/sinks/tee.js';
import { bySuite } from '../slow-suite.js';
import { PowerCut, SimulatedDisk } from '../storage/simulated-disk.js';
import { unchecked } from '../unchecked.js';
import { places } from './cursors.js';
import { documents, keptIn, post } from './damaged.js';
import { type Ending, StandIn } from './stand-in.js';

// A lock that a crash left empty is waited for; hundreds of crashes need not.
vi.mock('node:timers/promises', () => ({ setTimeout: async () => {} }));

const CHECKPOINT = '/run.json';

interface State {
  readonly state: string;
  readonly cursor: { readonly tee: readonly unknown[]; readonly inner: { next: number } } | null;
  readonly files: readonly { readonly branch: number; readonly posts: number }[];
}

function stateOf(disk: SimulatedDisk): State | undefined {
  return disk.files().includes(CHECKPOINT)
    ? (JSON.parse(disk.read(CHECKPOINT).toString()) as State)
    : undefined;
}

function contentOf(disk: SimulatedDisk, folder: string): Record<string, string> {
  const names = disk.files().filter(name => name.startsWith(`${folder}/`));
  return Object.fromEntries(names.map(name => [name, disk.read(name).toString()]));
}

/** Waits until the branches have committed this many batches. */
async function untilCommitted(disk: SimulatedDisk, next: number): Promise<void> {
  while (stateOf(disk)?.cursor?.inner.next !== next) await new Promise(setImmediate);
}

/** A file of numbers that cannot be continued: each flush writes them, and a dot ends it. */
class Sum {
  #items: number[] = [];
  full = false;

  add({ item }: { readonly item: number; readonly byteLength: number }) {
    this.#items.push(item);
  }

  get heldBytes() {
    return this.#items.length * 10;
  }

  flush() {
    return Buffer.from(this.#items.splice(0).join());
  }

  end() {
    return Buffer.concat([this.flush(), Buffer.from('.')]);
  }
}

function sumsOn(
  disk: SimulatedDisk,
  { maxBytes }: { readonly maxBytes?: number } = {},
): Sink<number, Written> {
  return fileSinkOn<number>(
    disk,
    planOf<number>(
      'sums',
      unchecked({
        path: '/sums/x',
        checkpoint: undefined,
        maxBytes,
        maxOpen: 8,
        maxOutputs: undefined,
        commitIntervalMs: undefined,
      }),
      {
        format: () => ({
          encode: item => ({ item, byteLength: 0 }),
          encoder: () => new Sum(),
          wholeFiles: { maxHeldBytes: 1_000, committedBytes: 1 << 20, committedItems: 1_000 },
        }),
        settings: {},
        takesFunctions: false,
      },
    ),
  );
}

/** Passes each batch with its cursor once this many later ones have come. */
function delay(batches: number): Operator<number, number> {
  return operator(async function* (input) {
    const held: Batch<number>[] = [];
    for await (const batch of input) {
      held.push(batch);
      if (held.length > batches) yield held.shift() as Batch<number>;
    }
    yield* held;
  });
}

/** Passes one cursor out of this many. */
function fewCursors(every: number): Operator<number, number> {
  return operator(async function* (input) {
    let count = 0;
    for await (const { items, cursor } of input)
      yield cursor !== undefined && ++count % every === 0 ? { items, cursor } : { items };
  });
}

const STAGES: Readonly<Record<string, (n: number) => Operator<number, number>>> = {
  filter: n => filter(item => item % (n + 1) === 0),
  dedupe: n => dedupe({ key: item => String(item), window: n * 5 }),
  take: n => take(n * 4),
  delay,
  fewCursors,
  mapAsync: n => mapAsync(async item => item, { concurrency: n }),
  same: () => tap(() => {}),
};

interface BranchPlan {
  readonly stages: readonly (readonly [string, number])[];
  readonly options: Partial<FilesOptions<number>>;
}

function stagesOf({ stages }: BranchPlan): Operator<number, number> {
  const made = stages.map(([name, n]) =>
    (STAGES[name] as (n: number) => Operator<number, number>)(n),
  );
  return input =>
    made.reduce<AsyncIterable<number>>((flow, stage) => stage(flow), input) as Flow<number>;
}

function branchOf(disk: SimulatedDisk, plan: BranchPlan, index: number) {
  const path = (item: number) => `/${index}/${item % 3}`;
  return compose(
    stagesOf(plan),
    filesOn<number>(disk, { path, commitIntervalMs: 0, ...plan.options }),
  );
}

/** What a branch gives by itself, of this many first batches. */
async function alone(
  plan: BranchPlan,
  index: number,
  batches: readonly (readonly number[])[],
): Promise<Record<string, string>> {
  const disk = new SimulatedDisk();
  const flow = stagesOf(plan)(places(batches));
  const path = (item: number) => `/${index}/${item % 3}`;
  await pipeline(flow, filesOn<number>(disk, { path, ...plan.options }));
  return contentOf(disk, `/${index}`);
}

const linesIn = (content: Record<string, string>) =>
  Object.values(content).join('').split('\n').length - 1;

const anyBranch: fc.Arbitrary<BranchPlan> = fc.record({
  stages: fc.array(
    fc.tuple(fc.constantFrom(...Object.keys(STAGES)), fc.integer({ min: 1, max: 4 })),
    { maxLength: 3 },
  ),
  options: fc.constantFrom({}, {}, { maxBytes: 12 }),
});

describe('tee with a checkpoint', () => {
  it('gives each branch every item once, as by itself, after a crash at any moment', async () => {
    let commits = 0;
    await fc.assert(
      fc.asyncProperty(
        fc.array(fc.array(fc.integer({ min: 0, max: 40 }), { maxLength: 5 }), { maxLength: 14 }),
        fc.array(anyBranch, { minLength: 1, maxLength: 3 }),
        fc.array(fc.integer({ min: 1, max: 150 }), { maxLength: 5 }),
        fc.constantFrom(1, 1, 2, 3),
        fc.boolean(),
        async (batches, plans, cuts, cursorEvery, watched) => {
          const disk = new SimulatedDisk();
          const run = () => {
            const branches = [
              ...plans.map((plan, index) => branchOf(disk, plan, index)),
              ...(watched ? [collect<number>()] : []),
            ];
            // The types are for a number of branches that is known.
            const anyTee = tee as (...args: unknown[]) => Sink<number, unknown>;
            return pipeline(
              places(batches, { cursorEvery }),
              anyTee(...branches, { checkpoint: CHECKPOINT }),
            );
          };
          for (const cut of cuts) {
            disk.cutAt = cut;
            await run().catch(error => {
              if (!(error instanceof PowerCut)) throw error;
            });
            disk.restart(() => 0.5);
            const before = stateOf(disk);
            if (before?.state !== 'running') continue;
            commits++;
            // No branch has more than another: each has what it makes of the same part of the input.
            const { tee: cursors = [], inner } = before.cursor ?? {};
            for (const [index, plan] of plans.entries()) {
              const posts = before.files
                .filter(({ branch }) => branch === index)
                .reduce((sum, file) => sum + file.posts, 0);
              const until = cursors[index] === 'ended' ? undefined : inner?.next;
              expect(posts).toBe(linesIn(await alone(plan, index, batches.slice(0, until))));
            }
          }
          const written = (await run()) as Written[];
          for (const [index, plan] of plans.entries()) {
            const expected = await alone(plan, index, batches);
            expect(contentOf(disk, `/${index}`)).toEqual(expected);
            expect(written[index]?.posts).toBe(linesIn(expected));
          }
          expect(stateOf(disk)?.state).toBe('complete');
        },
      ),
      { numRuns: bySuite(60, 600) },
    );
    expect(commits).toBeGreaterThan(5);
  });

  it('commits where a branch holds items back, at the cursor that it comes to', async () => {
    const disk = new SimulatedDisk();
    const counts: number[] = [];
    const batches = Array.from({ length: 40 }, (_, n) => [n, n, n]);
    const watched = new Flow<number>(async function* (run) {
      for await (const batch of places(batches).batches(run)) {
        counts.push(stateOf(disk)?.cursor?.inner.next ?? 0);
        yield batch;
      }
    });
    await pipeline(
      watched,
      tee(
        filesOn(disk, { path: '/a/x', commitIntervalMs: 0 }),
        compose(chunk(5), filesOn(disk, { path: '/b/x', commitIntervalMs: 0 })),
        compose(fewCursors(2), filesOn(disk, { path: '/c/x', commitIntervalMs: 0 })),
        { checkpoint: CHECKPOINT },
      ),
    );
    expect([...new Set(counts)].slice(0, 3)).toEqual([0, 10, 20]);
  });

  it.each([
    ['drops all cursors', () => fewCursors(1_000)],
    ['holds more batches back than branches may differ by', () => delay(40)],
  ])('goes on without commits where a branch %s', async (_, stage) => {
    const disk = new SimulatedDisk();
    const batches = Array.from({ length: 100 }, (_, n) => [n]);
    const run = pipeline(
      places(batches),
      tee(
        filesOn<number>(disk, { path: '/a/x', commitIntervalMs: 0 }),
        compose(stage(), filesOn(disk, { path: '/b/x', commitIntervalMs: 0 })),
        collect(),
        { checkpoint: CHECKPOINT },
      ),
    );
    const [a, b, all] = await run;
    expect([a.posts, b.posts, all.length]).toEqual([100, 100, 100]);
    expect(contentOf(disk, '/a')['/a/x']).toBe(contentOf(disk, '/b')['/b/x']);
  });

  it('does not run a branch again that has ended early', async () => {
    const disk = new SimulatedDisk();
    const batches = Array.from({ length: 10 }, (_, n) => [n]);
    const run = (failAt: number) => {
      const source = new Flow<number>(async function* (at) {
        for await (const batch of places(batches).batches(at)) {
          if (batch.items[0] === failAt) {
            await untilCommitted(disk, failAt);
            throw new Error('interrupted');
          }
          yield batch;
        }
      });
      return pipeline(
        source,
        tee(
          compose(take(2), filesOn<number>(disk, { path: '/a/x', commitIntervalMs: 0 })),
          filesOn<number>(disk, { path: '/b/x', commitIntervalMs: 0 }),
          collect(),
          { checkpoint: CHECKPOINT },
        ),
      );
    };
    await expect(run(6)).rejects.toThrow('interrupted');
    expect(stateOf(disk)?.cursor).toEqual({ tee: ['ended', { tee: 'input' }], inner: { next: 6 } });
    const [a, b, rest] = await run(-1);
    expect([a.posts, b.posts, rest]).toEqual([2, 10, [6, 7, 8, 9]]);
    expect(disk.read('/a/x').toString()).toBe('0\n1\n');
    // All is written: nothing is opened, and the branch without files gets nothing.
    const completeSince = expect.any(Date);
    expect(await run(0)).toEqual([{ ...a, completeSince }, { ...b, completeSince }, []]);
  });

  it('waits for files that cannot be continued, and ends them together with the others', async () => {
    const disk = new SimulatedDisk();
    const sums = sumsOn(disk, { maxBytes: 30 });
    const batches = Array.from({ length: 10 }, (_, n) => [n]);
    const source = (failAt: number) =>
      new Flow<number>(async function* (at) {
        for await (const batch of places(batches).batches(at)) {
          if (batch.items[0] === failAt) {
            await untilCommitted(disk, 6);
            throw new Error('interrupted');
          }
          yield batch;
        }
      });
    const run = (failAt: number) =>
      pipeline(
        source(failAt),
        tee(sums, filesOn<number>(disk, { path: '/a/x', commitIntervalMs: 0 }), {
          checkpoint: CHECKPOINT,
        }),
      );
    await expect(run(8)).rejects.toThrow('interrupted');
    expect(stateOf(disk)?.cursor?.inner.next).toBe(6);
    expect(contentOf(disk, '/sums')).toMatchObject({
      '/sums/x.0001': '0,1,2.',
      '/sums/x.0002': '3,4,5.',
    });
    await run(-1);
    expect(Object.values(contentOf(disk, '/sums'))).toEqual(['0,1,2.', '3,4,5.', '6,7,8.', '9.']);
    expect(disk.read('/a/x').toString()).toBe('0\n1\n2\n3\n4\n5\n6\n7\n8\n9\n');
  });

  it('does not end files that got their first items while the others waited to commit', async () => {
    const disk = new SimulatedDisk();
    const source = new Flow<number>(async function* (at) {
      for await (const batch of places([[0], [1], [2]]).batches(at)) {
        // Longer than the time after which a commit that ends no file is due.
        await new Promise(resolve => setTimeout(resolve, 1_100));
        yield batch;
      }
    });
    await pipeline(
      source,
      tee(filesOn<number>(disk, { path: '/a/x' }), sumsOn(disk), { checkpoint: CHECKPOINT }),
    );
    expect(contentOf(disk, '/sums')).toEqual({ '/sums/x.0001': '0,1,2.' });
  });

  it.each<[string, (disk: SimulatedDisk) => unknown, RegExp]>([
    [
      'another operator in a branch',
      disk =>
        tee(
          compose(
            filter(() => true),
            filesOn(disk, { path: '/a/x' }),
          ),
          { checkpoint: CHECKPOINT },
        ),
      /another flow: files\(\) is now filter\(\)/,
    ],
    [
      'another path in a branch',
      disk => tee(filesOn(disk, { path: '/a/y' }), { checkpoint: CHECKPOINT }),
      /another flow: `path` of files\(\) was "\/a\/x" and is now "\/a\/y"/,
    ],
    [
      'one more branch',
      disk =>
        tee(filesOn(disk, { path: '/a/x' }), filesOn(disk, { path: '/a/y' }), {
          checkpoint: CHECKPOINT,
        }),
      /another sink: `branches` of tee\(\) was 1 and is now 2/,
    ],
    [
      'files alone',
      disk => filesOn(disk, { path: '/a/x', checkpoint: CHECKPOINT }),
      /another sink: tee\(\) is now files\(\)/,
    ],
  ])('is refused with %s', async (_, make, message) => {
    const disk = new SimulatedDisk();
    const source = () => places([[1], [2]]);
    await pipeline(source(), tee(filesOn(disk, { path: '/a/x' }), { checkpoint: CHECKPOINT }));
    const run = pipeline(source(), unchecked(make(disk)));
    await expect(run).rejects.toThrow(StorageError);
    await expect(run).rejects.toThrow(message);
  });
});

/** The types are for a number of branches that is known. */
const teeOf = tee as (...args: unknown[]) => Sink<number, unknown>;

describe('tee with a branch to committed', () => {
  const quick = { retryWaitMs: 0, waitMs: 0, name: 'rows' } as const;
  const rowsOf = (plan: BranchPlan, batches: readonly (readonly number[])[]) =>
    pipeline(stagesOf(plan)(places(batches)), collect<number>());
  const each = Array.from({ length: 40 }, (_, n) => [n, n + 100]);
  const savedIn = (target: StandIn<number>) => JSON.parse(target.text ?? '{}') as State;

  it('gives rows and files every item once, after a crash at any moment and failures of the target', async () => {
    const seen = { commits: 0, parts: 0 };
    await fc.assert(
      fc.asyncProperty(
        fc.record({
          batches: fc.array(fc.array(fc.integer({ min: 0, max: 40 }), { maxLength: 5 }), {
            maxLength: 14,
          }),
          plans: fc.array(anyBranch, { maxLength: 2 }),
          into: anyBranch,
          cuts: fc.array(fc.integer({ min: 1, max: 150 }), { maxLength: 6 }),
          endings: fc.array(
            fc.constantFrom<Ending>(
              'ok',
              'ok',
              'fails before',
              'fails after',
              'answer lost',
              'killed before',
              'killed after',
            ),
            { maxLength: 12 },
          ),
          cursorEvery: fc.constantFrom(1, 1, 2, 3),
          rows: fc.integer({ min: 1, max: 4 }),
          damaged: fc.boolean(),
        }),
        async ({ batches, plans, into, cuts, endings, cursorEvery, rows, damaged }) => {
          const disk = new SimulatedDisk();
          const target = new StandIn<number>(endings);
          const run = () =>
            pipeline(
              places(batches, { cursorEvery }),
              teeOf(
                ...plans.map((plan, index) => branchOf(disk, plan, index)),
                compose(
                  stagesOf(into),
                  committedOn<number>(disk, { ...quick, retries: 1, rows, ...target.transactions }),
                ),
                ...(damaged ? [{ damaged: '/damaged' }] : []),
              ),
            );
          let written: readonly unknown[] | undefined;
          for (let runs = 0; written === undefined; runs++) {
            expect(runs).toBeLessThan(30);
            const cut = cuts[runs];
            if (cut !== undefined) disk.cutAt = cut;
            const result = await run().catch((error: unknown) => error);
            if (!(result instanceof Error)) {
              written = result as readonly unknown[];
              break;
            }
            if (!(result instanceof PowerCut)) expect(result).toBeInstanceOf(StorageError);
            disk.restart(() => 0.5);
            target.revive();
            const { state, cursor, files = [] } = savedIn(target);
            if (state !== 'running') continue;
            seen.commits++;
            const { tee: cursors = [], inner } = cursor ?? { inner: { next: 0 } };
            const until = (index: number) => (cursors[index] === 'ended' ? undefined : inner?.next);
            const upTo = (index: number) => batches.slice(0, until(index));
            expect(target.rows).toEqual(await rowsOf(into, upTo(plans.length)));
            for (const [index, plan] of plans.entries()) {
              const own = files.filter(({ branch }) => branch === index);
              const posts = own.reduce((sum, file) => sum + file.posts, 0);
              expect(posts).toBe(linesIn(await alone(plan, index, upTo(index))));
            }
          }
          const expected = await rowsOf(into, batches);
          expect(target.rows).toEqual(expected);
          expect(written[plans.length]).toMatchObject({ rows: expected.length });
          for (const [index, plan] of plans.entries())
            expect(contentOf(disk, `/${index}`)).toEqual(await alone(plan, index, batches));
          expect(savedIn(target).state).toBe('complete');
          expect(disk.files().filter(name => /lock|part/.test(name))).toEqual([]);
          if (target.writes.some(({ range }) => range.token.endsWith('.2'))) seen.parts++;
        },
      ),
      { numRuns: bySuite(80, 1_000) },
    );
    expect(seen.commits).toBeGreaterThan(5);
    expect(seen.parts).toBeGreaterThan(5);
  });

  it('opens nothing once all is written, and gives the same results', async () => {
    const disk = new SimulatedDisk();
    const target = new StandIn<number>();
    const opened: number[] = [];
    const run = () =>
      pipeline(
        places(each, { onOpen: from => opened.push(from) }),
        tee(
          filesOn<number>(disk, { path: '/a/x' }),
          committedOn<number>(disk, { ...quick, ...target.transactions }),
        ),
      );
    const [a, b] = await run();
    expect([a.posts, b]).toEqual([80, { rows: 80 }]);
    const completeSince = expect.any(Date);
    expect(await run()).toEqual([
      { ...a, completeSince },
      { rows: 80, completeSince },
    ]);
    expect(opened).toEqual([0]);
    disk.remove('/a/x');
    await expect(run()).rejects.toThrow(/\/a\/x is missing, and the checkpoint of rows says/);
  });

  it('commits at the next cursor from `rows` rows on, before files are due', async () => {
    const disk = new SimulatedDisk();
    const target = new StandIn<number>();
    await pipeline(
      places(each),
      tee(
        filesOn<number>(disk, { path: '/a/x', commitIntervalMs: 60_000 }),
        committedOn<number>(disk, { ...quick, waitMs: 60_000, rows: 8, ...target.transactions }),
      ),
    );
    expect(target.rows).toEqual(each.flat());
    const commits = new Set(target.writes.map(({ range }) => range.token.split('.')[0]));
    expect(commits.size).toBeGreaterThan(4);
    // The last has none that could be too many for one call.
    expect(Math.max(...target.writes.map(({ rows }) => rows.length))).toBeLessThanOrEqual(8);
  });

  it.each<[string, Ending, boolean]>([
    ['is committed at once', 'ok', true],
    ['has no other commit where only the answer to it is lost', 'answer lost', true],
    ['writes nothing where it fails, with what to do', 'fails before', false],
  ])(
    'has bounded memory where no cursor comes: a transaction that %s',
    async (_, ending, isWhole) => {
      const disk = new SimulatedDisk();
      const target = new StandIn<number>(['ok', ending]);
      let most = 0;
      const source = new Flow<number>(async function* () {
        for (const [at, items] of each.entries()) {
          yield { items };
          const written = target.writes.reduce((sum, { rows }) => sum + rows.length, 0);
          most = Math.max(most, 2 * at - written);
        }
      });
      const run = pipeline(
        source,
        tee(
          filesOn<number>(disk, { path: '/a/x' }),
          committedOn<number>(disk, { ...quick, rows: 2, ...target.transactions }),
        ),
      );
      if (isWhole) expect(await run).toMatchObject([{ posts: 80 }, { rows: 80 }]);
      else
        await expect(run).rejects.toThrow('Could not commit to rows: fails before. See the cause');
      expect(target.rows).toEqual(isWhole ? each.flat() : []);
      // 16 batches between two branches, and four times `rows`.
      expect(most).toBeLessThan(50);
    },
  );

  it('writes rows that come while it commits the transaction that is open', async () => {
    const disk = new SimulatedDisk();
    const target = new StandIn<number>();
    const batches = [[0, 1, 2, 3], [], [4], [5]];
    await pipeline(
      places(batches, { cursorEvery: 3 }),
      tee(committedOn<number>(disk, { ...quick, rows: 1, ...target.transactions })),
    );
    expect(target.rows).toEqual(batches.flat());
  });

  it('waits for files that cannot be continued, however many rows there are', async () => {
    const disk = new SimulatedDisk();
    const target = new StandIn<number>();
    await pipeline(
      places(each),
      tee(sumsOn(disk), committedOn<number>(disk, { ...quick, rows: 2, ...target.transactions })),
    );
    expect(Object.keys(contentOf(disk, '/sums'))).toEqual(['/sums/x.0001']);
    expect(target.rows).toEqual(each.flat());
  });

  it('goes on with files that cannot be continued where a commit ended them', async () => {
    const disk = new SimulatedDisk();
    const target = new StandIn<number>();
    const run = (failAt: number) =>
      pipeline(
        new Flow<number>(async function* (at) {
          for await (const batch of places(each).batches(at)) {
            if (batch.items[0] === failAt) {
              while (savedIn(target).cursor?.inner.next !== 4) await new Promise(setImmediate);
              throw new Error('interrupted');
            }
            yield batch;
          }
        }),
        tee(
          sumsOn(disk, { maxBytes: 80 }),
          committedOn<number>(disk, { ...quick, ...target.transactions }),
        ),
      );
    await expect(run(6)).rejects.toThrow('interrupted');
    expect(target.rows).toEqual(each.slice(0, 4).flat());
    await run(-1);
    const sums = Object.values(contentOf(disk, '/sums'));
    expect(sums.map(text => text.slice(0, -1)).join()).toBe(each.flat().join());
    expect(target.rows).toEqual(each.flat());
  });

  it('adds what is new to rows and files where the source is incremental', async () => {
    const disk = new SimulatedDisk();
    const target = new StandIn<number>();
    const run = (count: number) =>
      pipeline(
        new Flow<number>(
          async function* (at) {
            yield* places(each.slice(0, count)).batches(at);
            yield { items: [], cursor: { next: count } };
          },
          undefined,
          [{ step: 'growing', incremental: true }],
        ),
        tee(
          filesOn<number>(disk, { path: '/a/x' }),
          committedOn<number>(disk, { ...quick, ...target.transactions }),
        ),
      );
    for (const [count, added] of [
      [3, 6],
      [3, 0],
      [7, 8],
    ] as const) {
      const rows = 2 * count;
      expect(await run(count)).toMatchObject([
        { posts: rows, added },
        { rows, added },
      ]);
    }
    expect(target.rows).toEqual(each.slice(0, 7).flat());
    expect(disk.read('/a/x').toString()).toBe(`${each.slice(0, 7).flat().join('\n')}\n`);
  });

  it('keeps each record that cannot be used once, after power cuts at any moment', async () => {
    const lines = Array.from({ length: 12 }, (_, n) => [
      Buffer.from(post(n)),
      Buffer.from(n % 3 === 0 ? `{"at": ${n}` : post(n + 100)),
    ]);
    const posts = lines.flat().filter(line => line.includes('id_str'));
    const bad = lines.flat().filter(line => !line.includes('id_str'));
    for (let first = 1; first < 120; first += bySuite(7, 1)) {
      const disk = new SimulatedDisk();
      const target = new StandIn<string>();
      const run = () =>
        pipeline(
          documents('one', lines),
          tee(
            compose(jsonLines(), activities(), filesOn<Activity>(disk, { path: '/a/x' })),
            compose(
              jsonLines(),
              activities(),
              map(({ raw }: Activity) => raw.toString()),
              committedOn<string>(disk, { ...quick, ...target.transactions }),
            ),
            { damaged: '/damaged' },
          ),
        );
      let result: unknown;
      for (let cut = first; result === undefined; cut += 13) {
        disk.cutAt = cut;
        result = await run().catch(error => {
          if (!(error instanceof PowerCut)) throw error;
          disk.restart(() => 0.5);
        });
      }
      expect(target.rows).toEqual(posts.map(String));
      expect(disk.read('/a/x').toString()).toBe(posts.map(line => `${line}\n`).join(''));
      // Each of the two branches reports all.
      const expected = [...bad, ...bad].map(String).toSorted();
      expect(keptIn(disk.read('/damaged').toString())).toEqual(expected);
      const damaged = expected.length;
      expect(result).toMatchObject([{ damaged }, { rows: posts.length, damaged }]);
    }
  });

  it('refuses a second run while the first writes', async () => {
    const disk = new SimulatedDisk();
    const target = new StandIn<number>();
    const run = (source: Flow<number>) =>
      pipeline(
        source,
        tee(
          filesOn<number>(disk, { path: item => `/a/${item % 3}` }),
          filesOn<number>(disk, { path: '/b/x' }),
          committedOn<number>(disk, { ...quick, ...target.transactions }),
        ),
      );
    await run(
      new Flow<number>(async function* ({ resume }) {
        yield { items: [1], cursor: { next: 1 } };
        await expect(run(places([[1]]))).rejects.toThrow(/Another run holds .*\.tee-\w+\.lock/);
        expect(resume).toBeUndefined();
      }),
    );
    expect(target.rows).toEqual([1]);
  });

  const into = (more: Partial<CommittedOptions<number>> = {}) =>
    committedOn<number>(new SimulatedDisk(), {
      ...new StandIn<number>().transactions,
      ...more,
    }) satisfies Sink<number, Committed>;
  it.each<[string, () => unknown, RegExp]>([
    [
      'two of them',
      () => tee(into(), collect(), compose(take(1), into())),
      /must have one branch that ends in committed\(\), and 1 and 3 do/,
    ],
    [
      'a checkpoint',
      () => tee(into(), { checkpoint: CHECKPOINT }),
      /tee: `checkpoint` must not be given with committed\(\) in branch 1/,
    ],
    [
      'a file of damaged records of its own',
      () => tee(collect(), into({ damaged: '/damaged' })),
      /committed: `damaged` must not be given in branch 2 of tee\(\): give it to tee itself/,
    ],
    [
      'a target without transactions',
      () => tee(into({ transaction: undefined })),
      /committed: `transaction` is missing in branch 1 of tee\(\): .* read them by localFiles/,
    ],
  ])('is refused at once with %s', (_, make, message) => {
    expect(make).toThrow(OptionError);
    expect(make).toThrow(message);
  });
});
