import fc from 'fast-check';
import { describe, expect, it, vi } from 'vitest';
import { OptionError, StorageError } from '../../../src/base/errors.js';
import { Flow, type Sink } from '../../../src/flow/flow.js';
import { pipeline } from '../../../src/flow/pipeline.js';
import { activities } from '../../../src/operators/activities.js';
import { compose } from '../../../src/operators/compose.js';
import { jsonLines } from '../../../src/operators/json-lines.js';
import { map } from '../../../src/operators/map.js';
import { take } from '../../../src/operators/take.js';
import type { Activity } from '../../../src/post/activity.js';
import { collect } from '../../../src/sinks/collect.js';
import {
  type Committed,
  type CommittedOptions,
  committedOn,
} from '../../../src/sinks/committed.js';
import { type FilesOptions, filesOn } from '../../../src/sinks/files.js';
import { tee } from '../../../src/sinks/tee.js';
import { PowerCut, SimulatedDisk } from '../../storage/simulated-disk.js';
import { bySuite } from '../../suite.js';
import { places } from '../cursors.js';
import { documents, keptIn, post } from '../damaged.js';
import { ENDINGS, type Ending, StandIn } from '../stand-in.js';
import {
  alone,
  anyBranch,
  branchOf,
  CHECKPOINT,
  contentOf,
  linesIn,
  type State,
  stagesOf,
  sumsOn,
  type TestBranch,
  teeOf,
} from './branch-runs.js';

// A run waits if a crash has left an empty lock file. These tests simulate hundreds of crashes, so
// this mock ends each wait immediately.
vi.mock('node:timers/promises', () => ({ setTimeout: async () => {} }));

describe('tee with a branch that ends in committed()', () => {
  const quick = { retryWaitMs: 0, waitMs: 0, name: 'rows' } as const;
  const rowsOf = (branch: TestBranch, batches: readonly (readonly number[])[]) =>
    pipeline(stagesOf(branch)(places(batches)), collect<number>());
  const each = Array.from({ length: 40 }, (_, n) => [n, n + 100]);
  const savedIn = (target: StandIn<number>) => JSON.parse(target.text ?? '{}') as State;

  it('delivers every item to rows and files exactly once, even if the database crashes', async () => {
    const seen = { commits: 0, parts: 0 };
    await fc.assert(
      fc.asyncProperty(
        fc.record({
          batches: fc.array(fc.array(fc.integer({ min: 0, max: 40 }), { maxLength: 5 }), {
            maxLength: 14,
          }),
          tested: fc.array(anyBranch, { maxLength: 2 }),
          into: anyBranch,
          cuts: fc.array(fc.integer({ min: 1, max: 150 }), { maxLength: 6 }),
          endings: fc.array(fc.constantFrom('ok', ...ENDINGS), { maxLength: 12 }),
          cursorEvery: fc.constantFrom(1, 1, 2, 3),
          rows: fc.integer({ min: 1, max: 4 }),
          damaged: fc.boolean(),
        }),
        async ({ batches, tested, into, cuts, endings, cursorEvery, rows, damaged }) => {
          const disk = new SimulatedDisk();
          const target = new StandIn<number>(endings);
          const run = () =>
            pipeline(
              places(batches, { cursorEvery }),
              teeOf(
                ...tested.map((branch, index) => branchOf(disk, branch, index)),
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
            expect(target.rows).toEqual(await rowsOf(into, upTo(tested.length)));
            for (const [index, branch] of tested.entries()) {
              const own = files.filter(({ branch }) => branch === index);
              const posts = own.reduce((sum, file) => sum + file.posts, 0);
              expect(posts).toBe(linesIn(await alone(branch, index, upTo(index))));
            }
          }
          const expected = await rowsOf(into, batches);
          expect(target.rows).toEqual(expected);
          expect(written[tested.length]).toMatchObject({ rows: expected.length });
          for (const [index, branch] of tested.entries())
            expect(contentOf(disk, `/${index}`)).toEqual(await alone(branch, index, batches));
          expect(savedIn(target).state).toBe('complete');
          expect(disk.files().filter(name => /lock|part/.test(name))).toEqual([]);
          if (target.writes.some(({ range }) => range.token.endsWith('.2'))) seen.parts++;
        },
      ),
      { numRuns: bySuite(20, 1_000) },
    );
    expect(seen.commits).toBeGreaterThan(5);
    expect(seen.parts).toBeGreaterThan(5);
  });

  it('opens nothing after a complete run, and returns the same results', async () => {
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

  it('commits `rows` rows at the next cursor, even if no commit of the files is due', async () => {
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
    // `rows` is 8, so no call gets more than 8 rows.
    expect(Math.max(...target.writes.map(({ rows }) => rows.length))).toBeLessThanOrEqual(8);
  });

  it.each<[string, Ending, boolean]>([
    ['a transaction commits immediately', 'ok', true],
    ['only the response of a transaction is lost', 'answer lost', true],
    ['a transaction fails, which writes no rows and ends the run', 'fails before', false],
  ])('needs bounded memory for a source without cursors if %s', async (_, ending, isWhole) => {
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
    else await expect(run).rejects.toThrow('Could not commit to rows: fails before. See the cause');
    expect(target.rows).toEqual(isWhole ? each.flat() : []);
    // Two branches may be 16 batches apart, plus four times `rows`.
    expect(most).toBeLessThan(50);
  });

  it('writes rows that arrive during a commit in the next transaction', async () => {
    const disk = new SimulatedDisk();
    const target = new StandIn<number>();
    const batches = [[0, 1, 2, 3], [], [4], [5]];
    await pipeline(
      places(batches, { cursorEvery: 3 }),
      tee(committedOn<number>(disk, { ...quick, rows: 1, ...target.transactions })),
    );
    expect(target.rows).toEqual(batches.flat());
  });

  it('commits rows only together with files that cannot be continued, whatever the number of rows', async () => {
    const disk = new SimulatedDisk();
    const target = new StandIn<number>();
    await pipeline(
      places(each),
      tee(sumsOn(disk), committedOn<number>(disk, { ...quick, rows: 2, ...target.transactions })),
    );
    expect(Object.keys(contentOf(disk, '/sums'))).toEqual(['/sums/x.0001']);
    expect(target.rows).toEqual(each.flat());
  });

  it('continues after a commit that ended files that cannot be continued', async () => {
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

  it('adds new items to rows and files if the source is incremental', async () => {
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

  it('rejects an incremental run if items follow the last cursor', async () => {
    const disk = new SimulatedDisk();
    const target = new StandIn<number>();
    const source = new Flow<number>(
      pull => places(each.slice(0, 3), { cursorEvery: 2 }).batches(pull),
      undefined,
      [{ step: 'growing', incremental: true }],
    );
    const run = pipeline(
      source,
      tee(
        compose(take<number>(1), filesOn<number>(disk, { path: '/a/x' })),
        committedOn<number>(disk, { ...quick, ...target.transactions }),
      ),
    );
    await expect(run).rejects.toThrow(/items that no cursor follows/);
    expect(savedIn(target).state).toBe('running');
  });

  it('is complete if an incremental source delivers neither items nor a cursor', async () => {
    const disk = new SimulatedDisk();
    const nothing = () =>
      new Flow<number>(async function* () {}, undefined, [{ step: 'growing', incremental: true }]);
    const toFiles = filesOn<number>(disk, { path: '/a/x', checkpoint: '/a/checkpoint.json' });
    expect(await pipeline(nothing(), toFiles)).toMatchObject({ posts: 0, added: 0 });
    const rows = () => {
      const { transactions } = new StandIn<number>();
      return committedOn<number>(disk, { ...quick, ...transactions });
    };
    expect(await pipeline(nothing(), rows())).toEqual({ rows: 0, added: 0 });
    const both = tee(filesOn<number>(disk, { path: '/b/x' }), rows());
    expect(await pipeline(nothing(), both)).toMatchObject([{ added: 0 }, { added: 0 }]);
  });

  it('keeps each damaged record once after power cuts at any moment', async () => {
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
      const expected = bad.map(String).toSorted();
      expect(keptIn(disk.read('/damaged').toString())).toEqual(expected);
      const damaged = expected.length;
      expect(result).toMatchObject([{ damaged }, { rows: posts.length, damaged }]);
    }
  });

  it.each<[string, FilesOptions<number>['path'], RegExp]>([
    ['the folder of its first path', '/a/x', /^Another run holds \/a\/\.tee-\w+\.lock/],
    [
      'the working folder if its first path is a function',
      item => `/a/${item % 3}`,
      /^Another run holds \.tee-\w+\.lock/,
    ],
  ])(
    'rejects a second run while the first one writes, by a lock in %s',
    async (_, first, refusal) => {
      const disk = new SimulatedDisk();
      const target = new StandIn<number>();
      const run = (source: Flow<number>) =>
        pipeline(
          source,
          tee(
            filesOn<number>(disk, { path: first }),
            filesOn<number>(disk, { path: '/b/x' }),
            committedOn<number>(disk, { ...quick, ...target.transactions }),
          ),
        );
      await run(
        new Flow<number>(async function* ({ resume }) {
          yield { items: [1], cursor: { next: 1 } };
          await expect(run(places([[1]]))).rejects.toThrow(refusal);
          expect(resume).toBeUndefined();
        }),
      );
      expect(target.rows).toEqual([1]);
    },
  );

  const into = (more: Partial<CommittedOptions<number>> = {}) =>
    committedOn<number>(new SimulatedDisk(), {
      ...new StandIn<number>().transactions,
      ...more,
    }) satisfies Sink<number, Committed>;
  it.each<[string, () => unknown, RegExp]>([
    [
      'two branches that end in committed()',
      () => tee(into(), collect(), compose(take(1), into())),
      /must have one branch that ends in committed\(\), and 1 and 3 do/,
    ],
    [
      'a checkpoint',
      () => tee(into(), { checkpoint: CHECKPOINT }),
      /tee: `checkpoint` must not be given with committed\(\) in branch 1/,
    ],
    [
      'a separate file of damaged records in that branch',
      () => tee(collect(), into({ damaged: '/damaged' })),
      /committed: `damaged` must not be given in branch 2 of tee\(\): give it to tee itself/,
    ],
    [
      'a target without transactions',
      () => tee(into({ transaction: undefined })),
      /committed: `transaction` is missing in branch 1 of tee\(\): .* read them by localFiles/,
    ],
  ])('throws immediately for %s', (_, make, message) => {
    expect(make).toThrow(OptionError);
    expect(make).toThrow(message);
  });
});
