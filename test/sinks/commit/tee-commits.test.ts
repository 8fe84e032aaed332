import fc from 'fast-check';
import { describe, expect, it, vi } from 'vitest';
import { StorageError } from '../../../src/base/errors.js';
import { Flow } from '../../../src/flow/flow.js';
import { pipeline } from '../../../src/flow/pipeline.js';
import { chunk } from '../../../src/operators/chunk.js';
import { compose } from '../../../src/operators/compose.js';
import { filter } from '../../../src/operators/filter.js';
import { take } from '../../../src/operators/take.js';
import { collect } from '../../../src/sinks/collect.js';
import type { Written } from '../../../src/sinks/commit/run-result.js';
import { MAX_LEAD } from '../../../src/sinks/commit/tee-input.js';
import { filesOn } from '../../../src/sinks/files.js';
import { tee } from '../../../src/sinks/tee.js';
import { PowerCut, SimulatedDisk } from '../../storage/simulated-disk.js';
import { bySuite } from '../../suite.js';
import { unchecked } from '../../unchecked.js';
import { places } from '../cursors.js';
import {
  alone,
  anyBranch,
  branchOf,
  CHECKPOINT,
  contentOf,
  delay,
  fewCursors,
  linesIn,
  stateOf,
  sumsOn,
  teeOf,
  untilCommitted,
} from './branch-runs.js';

// A run waits if a crash has left an empty lock file. These tests simulate hundreds of crashes, so
// this mock ends each wait immediately.
vi.mock('node:timers/promises', () => ({ setTimeout: async () => {} }));

describe('tee with a checkpoint', () => {
  it('delivers every item to each branch exactly once, even after a crash at any moment', async () => {
    let commits = 0;
    await fc.assert(
      fc.asyncProperty(
        fc.array(fc.array(fc.integer({ min: 0, max: 40 }), { maxLength: 5 }), { maxLength: 14 }),
        fc.array(anyBranch, { minLength: 1, maxLength: 3 }),
        fc.array(fc.integer({ min: 1, max: 150 }), { maxLength: 5 }),
        fc.constantFrom(1, 1, 2, 3),
        fc.boolean(),
        async (batches, tested, cuts, cursorEvery, watched) => {
          const disk = new SimulatedDisk();
          const run = () => {
            const branches = [
              ...tested.map((branch, index) => branchOf(disk, branch, index)),
              ...(watched ? [collect<number>()] : []),
            ];
            return pipeline(
              places(batches, { cursorEvery }),
              teeOf(...branches, { checkpoint: CHECKPOINT }),
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
            // The outputs of all branches must cover the same part of the input.
            const { tee: cursors = [], inner } = before.cursor ?? {};
            for (const [index, branch] of tested.entries()) {
              const posts = before.files
                .filter(({ branch }) => branch === index)
                .reduce((sum, file) => sum + file.posts, 0);
              const until = cursors[index] === 'ended' ? undefined : inner?.next;
              expect(posts).toBe(linesIn(await alone(branch, index, batches.slice(0, until))));
            }
          }
          const written = (await run()) as Written[];
          for (const [index, branch] of tested.entries()) {
            const expected = await alone(branch, index, batches);
            expect(contentOf(disk, `/${index}`)).toEqual(expected);
            expect(written[index]?.posts).toBe(linesIn(expected));
          }
          expect(stateOf(disk)?.state).toBe('complete');
        },
      ),
      { numRuns: bySuite(15, 600) },
    );
    expect(commits).toBeGreaterThan(bySuite(2, 5));
  });

  it('commits at the next cursor that all branches have reached, even if one branch holds items back', async () => {
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
    ['lags behind the others by more batches than allowed', () => delay(40)],
  ])('continues without commits if one of its branches %s', async (_, stage) => {
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

  it('does not reopen a branch that ended early', async () => {
    const disk = new SimulatedDisk();
    // One branch may be up to `MAX_LEAD` batches ahead of another. After the failure, the source
    // has more batches than that.
    const batches = Array.from({ length: 8 + MAX_LEAD }, (_, n) => [n]);
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
    expect([a.posts, b.posts, rest]).toEqual([2, batches.length, batches.flat().slice(6)]);
    expect(disk.read('/a/x').toString()).toBe('0\n1\n');
    // The input is complete. Therefore, no file is opened, and the branch without files receives no
    // items.
    const completeSince = expect.any(Date);
    expect(await run(0)).toEqual([{ ...a, completeSince }, { ...b, completeSince }, []]);
  });

  it('ends files that cannot be continued in the same commit as all other files', async () => {
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

  it('does not end files that received their first items while a commit was running', async () => {
    const disk = new SimulatedDisk();
    const source = new Flow<number>(async function* (at) {
      for await (const batch of places([[0], [1], [2]]).batches(at)) {
        // Waits longer than the interval between commits that end no file.
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
  ])(
    'throws an error that names the difference if it continues with %s',
    async (_, make, message) => {
      const disk = new SimulatedDisk();
      const source = () => places([[1], [2]]);
      await pipeline(source(), tee(filesOn(disk, { path: '/a/x' }), { checkpoint: CHECKPOINT }));
      const run = pipeline(source(), unchecked(make(disk)));
      await expect(run).rejects.toThrow(StorageError);
      await expect(run).rejects.toThrow(message);
    },
  );
});
