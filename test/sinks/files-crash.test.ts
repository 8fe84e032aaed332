import { gunzipSync } from 'node:zlib';
import fc from 'fast-check';
import { describe, expect, it, vi } from 'vitest';
import { StorageError } from '../../src/base/errors.js';
import { Flow } from '../../src/flow/flow.js';
import { pipeline } from '../../src/flow/pipeline.js';
import type { Written } from '../../src/sinks/commit/run-result.js';
import { type FilesOptions, filesOn } from '../../src/sinks/files.js';
import type { FileSystem } from '../../src/storage/file-system.js';
import { nodeError, PowerCut, SimulatedDisk } from '../storage/simulated-disk.js';
import { bySuite } from '../suite.js';
import { places } from './cursors.js';

// A run waits if a crash has left an empty lock file. These tests simulate hundreds of crashes, so
// this mock ends each wait immediately.
vi.mock('node:timers/promises', () => ({ setTimeout: async () => {} }));

interface Item {
  readonly to: string;
  readonly n: number;
}

const ITEMS: readonly (readonly Item[])[] = Array.from({ length: 12 }, (_, batch) =>
  Array.from({ length: batch % 4 }, (_, n) => ({
    to: 'abc'.charAt((batch + n) % 3),
    n: batch * 10 + n,
  })),
);

const OPTIONS: FilesOptions<Item> = {
  path: ({ to }) => `/deep/out/${to}.jsonl`,
  checkpoint: '/state/deep/run.json',
  commitIntervalMs: 0,
};

function run(disk: SimulatedDisk, options = OPTIONS, cursorEvery = 1): Promise<Written> {
  return pipeline(places(ITEMS, { cursorEvery }), filesOn(disk, options));
}

function contentOf(disk: SimulatedDisk): Record<string, string> {
  return Object.fromEntries(
    disk
      .files()
      .filter(name => name !== '/state/deep/run.json')
      .map(name => {
        const bytes = disk.read(name);
        return [name, (name.endsWith('.gz') ? gunzipSync(bytes) : bytes).toString()];
      }),
  );
}

async function expectedOf(options = OPTIONS): Promise<Record<string, string>> {
  const disk = new SimulatedDisk();
  await run(disk, options);
  return contentOf(disk);
}

async function callsOf(options = OPTIONS): Promise<number> {
  const disk = new SimulatedDisk();
  await run(disk, options);
  return disk.calls;
}

function seeded(seed: number): () => number {
  let state = seed >>> 0;
  return () => {
    state = (Math.imul(state, 1664525) + 1013904223) >>> 0;
    return state / 2 ** 32;
  };
}

/**
 * In the nightly suite, the runs crash at every call. Otherwise, they crash at every 17th call and
 * at each of the last calls.
 */
const STEP = bySuite(17, 1);
const LAST = 15;

const VARIANTS: readonly [string, FilesOptions<Item>][] = [
  ['plain files', OPTIONS],
  ['gzip files', { ...OPTIONS, gzip: true }],
  ['numbered files', { ...OPTIONS, maxBytes: 40 }],
  ['numbered gzip files', { ...OPTIONS, maxBytes: 40, gzip: true }],
  ['one open file', { ...OPTIONS, maxOpen: 1 }],
  ['a single file, which has a lock', { ...OPTIONS, path: '/deep/out/all.jsonl' }],
];

const noPlace = new Flow<Item>(() => {
  throw new Error('Nothing is left to be opened');
});

describe.each(VARIANTS)('files written with a checkpoint (%s)', (_, options) => {
  it.each([
    ['the process is killed', 'kill'],
    ['the power is cut', 'power'],
  ])('contain every item exactly once when %s at any call', async (_name, how) => {
    const expected = await expectedOf(options);
    const calls = await callsOf(options);
    expect(calls).toBeGreaterThan(50);
    for (let cut = 0; cut < calls; cut++) {
      if (cut % STEP !== 0 && cut < calls - LAST) continue;
      const disk = new SimulatedDisk();
      disk.cutAt = cut;
      await expect(run(disk, options)).rejects.toBeInstanceOf(PowerCut);
      if (how === 'power') disk.restart(seeded(cut));
      else disk.keepAll();
      await run(disk, options);
      expect(contentOf(disk), `cut at call ${cut}`).toEqual(expected);
      // After a power cut that keeps only synced data, a completed run must still be complete.
      disk.restart(() => 0);
      await pipeline(noPlace, filesOn(disk, options));
      expect(contentOf(disk), `cut at call ${cut}, and at the end`).toEqual(expected);
    }
  });

  it('contain every item exactly once after any series of power cuts', async () => {
    const expected = await expectedOf(options);
    await fc.assert(
      fc.asyncProperty(
        fc.array(fc.integer({ min: 1, max: 150 }), { maxLength: 8 }),
        fc.integer(),
        fc.constantFrom(1, 2, 5, 100),
        async (cuts, seed, cursorEvery) => {
          const disk = new SimulatedDisk();
          const random = seeded(seed);
          for (const cut of cuts) {
            disk.cutAt = cut;
            await run(disk, options, cursorEvery).catch(error => {
              if (!(error instanceof PowerCut)) throw error;
            });
            disk.restart(random);
          }
          await run(disk, options, cursorEvery);
          expect(contentOf(disk)).toEqual(expected);
        },
      ),
      { numRuns: bySuite(3, 200) },
    );
  });

  it.each(['ENOSPC', 'EIO'])('are continued after %s at any call that writes', async code => {
    const expected = await expectedOf(options);
    const calls = await callsOf(options);
    let failed = 0;
    for (let at = 0; at < calls; at += STEP) {
      const disk = new SimulatedDisk();
      disk.before = (call, file) => {
        if (disk.calls - 1 === at && /^(write|datasync|sync|rename|open w|mkdir)/.test(call))
          throw nodeError(code, `${call} '${file}'`);
      };
      try {
        await run(disk, options);
      } catch (error) {
        failed++;
        expect(error).toBeInstanceOf(StorageError);
        expect(error).toMatchObject({ code: 'ERR_STORAGE', retryable: true });
        expect((error as StorageError).path).toMatch(/^\/(deep|state|$)/);
        expect((error as StorageError).message).toContain((error as StorageError).path);
      }
      disk.before = () => {};
      await run(disk, options);
      expect(contentOf(disk), `failed at call ${at}`).toEqual(expected);
    }
    expect(failed).toBeGreaterThan(30 / STEP);
  });
});

describe('the simulated disk of the crash tests', () => {
  it('loses posts if datasync does nothing, so that the checkpoint is ahead of the posts', async () => {
    const expected = await expectedOf();
    let wrong = 0;
    for (let cut = 0; cut < (await callsOf()); cut++) {
      const disk = new SimulatedDisk();
      const lying = Object.create(disk) as SimulatedDisk;
      lying.open = async (file, flags) => {
        const open = await disk.open(file, flags);
        return { ...open, datasync: async () => {} };
      };
      disk.cutAt = cut;
      await run(lying).catch(() => {});
      disk.restart(seeded(cut));
      const again = await run(lying).catch(() => undefined);
      if (again === undefined || JSON.stringify(contentOf(disk)) !== JSON.stringify(expected))
        wrong++;
    }
    expect(wrong).toBeGreaterThan(0);
  });
});

describe('output names on a disk that ignores case', () => {
  function ignoringCase(disk: SimulatedDisk): FileSystem {
    const { open, readFile, rename, unlink, mkdir, lstat } = SimulatedDisk.prototype;
    const fold = (name: string) => name.toLowerCase();
    return {
      open: (name, ...rest) => open.call(disk, fold(name), ...rest),
      readFile: name => readFile.call(disk, fold(name)),
      rename: (from, to) => rename.call(disk, fold(from), fold(to)),
      unlink: name => unlink.call(disk, fold(name)),
      mkdir: name => mkdir.call(disk, fold(name)),
      lstat: name => lstat.call(disk, fold(name)),
    };
  }

  it.each([
    ['with a checkpoint', OPTIONS],
    ['without a checkpoint', { path: OPTIONS.path }],
    ['through one open file', { ...OPTIONS, maxOpen: 1 }],
  ])('end the run if they differ only in case (%s)', async (_, options) => {
    const batches = [[{ to: 'BTC', n: 1 }], [{ to: 'btc', n: 2 }], [{ to: 'BTC', n: 3 }]];
    const disk = ignoringCase(new SimulatedDisk());
    const running = pipeline(places(batches, { cursorEvery: 1 }), filesOn(disk, options));
    await expect(running).rejects.toThrow(StorageError);
    await expect(running).rejects.toThrow(/differs in case only|Something else has that name/);
  });
});
