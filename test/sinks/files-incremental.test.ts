import { gunzipSync } from 'node:zlib';
import { parquetReadObjects } from 'hyparquet';
import { compressors } from 'hyparquet-compressors';
import { describe, expect, it, vi } from 'vitest';
import { StorageError } from '../../src/base/errors.js';
import { Flow, type Sink } from '../../src/flow/flow.js';
import { pipeline } from '../../src/flow/pipeline.js';
import { compose } from '../../src/operators/compose.js';
import { map } from '../../src/operators/map.js';
import { committedOn } from '../../src/sinks/committed.js';
import { csvOn } from '../../src/sinks/csv.js';
import { filesOn } from '../../src/sinks/files.js';
import { parquetOn } from '../../src/sinks/parquet.js';
import { tee } from '../../src/sinks/tee.js';
import { PowerCut, SimulatedDisk, seeded } from '../storage/simulated-disk.js';
import { bySuite } from '../suite.js';
import { unchecked } from '../unchecked.js';
import { places } from './cursors.js';
import { StandIn } from './stand-in.js';

// A run waits if a crash has left an empty lock file. These tests simulate hundreds of crashes, so
// this mock ends each wait immediately.
vi.mock('node:timers/promises', () => ({ setTimeout: async () => {} }));

const BATCHES = [
  [0, 1, 2],
  [10, 11, 12],
  [20, 21, 22],
];
const FIRST = 1;
/**
 * In the nightly suite, runs are cut at every call, otherwise at every third call. Each kind of cut
 * starts at a different call, so that all kinds together cover all calls.
 */
const STEP = bySuite(3, 1);
const CHECKPOINT = '/state/run.json';
const columns = [{ name: 'n', type: 'int32' as const, value: (n: number) => n }];
const pathOf = (n: number) => `/out/${n % 2 === 0 ? 'even' : 'odd'}`;
const shared = { checkpoint: CHECKPOINT, commitIntervalMs: 0 } as const;

/** Each run delivers the batches that were added since the last run. */
function growing(count: number): Flow<number> {
  return new Flow(
    async function* (at) {
      yield* places(BATCHES.slice(0, count)).batches(at);
      yield { items: [], cursor: { next: count } };
    },
    undefined,
    [{ step: 'growing', incremental: true }],
  );
}

const SINKS: Readonly<Record<string, (disk: SimulatedDisk) => Sink<number, unknown>>> = {
  files: disk => filesOn<number>(disk, { ...shared, path: n => `${pathOf(n)}.jsonl` }),
  'gzip files': disk =>
    filesOn<number>(disk, { ...shared, path: n => `${pathOf(n)}.jsonl.gz`, gzip: true }),
  'a single file': disk => filesOn<number>(disk, { ...shared, path: '/out/all.jsonl' }),
  'numbered files': disk =>
    filesOn<number>(disk, { ...shared, path: n => `${pathOf(n)}.jsonl`, maxBytes: 12 }),
  'files with onFile': disk =>
    filesOn<number>(disk, { ...shared, path: n => `${pathOf(n)}.jsonl`, onFile: () => 'sent' }),
  csv: disk => csvOn<number>(disk, { ...shared, path: n => `${pathOf(n)}.csv`, columns }),
  parquet: disk =>
    parquetOn<number>(disk, { ...shared, path: n => `${pathOf(n)}.parquet`, columns }),
  tee: disk =>
    unchecked(
      tee(
        filesOn<number>(disk, { path: n => `${pathOf(n)}.jsonl`, commitIntervalMs: 0 }),
        csvOn<number>(disk, { path: '/out/all.csv', columns, commitIntervalMs: 0 }),
        { checkpoint: CHECKPOINT },
      ),
    ),
};

const CUTS: Readonly<Record<string, (disk: SimulatedDisk, cut: number) => void>> = {
  'the process is killed': disk => disk.keepAll(),
  'a power cut loses all that is not synced': disk => disk.restart(() => 0),
  'a power cut loses new names': disk => {
    for (const file of disk.files()) disk.file(file).sync();
    disk.restart(() => 0);
  },
  'a power cut loses new contents': disk => {
    for (const folder of ['/', '/out', '/state'])
      if (disk.find(folder) !== undefined) disk.folder(folder, 'open').sync();
    disk.restart(() => 0);
  },
  'a power cut loses a random part': (disk, cut) => disk.restart(seeded(cut)),
};

/**
 * Returns the rows on the disk. Joins the rows of the Parquet files of an output: each commit
 * writes a separate file, so the number of files depends on the crashes.
 */
async function rowsOn(disk: SimulatedDisk): Promise<Record<string, readonly unknown[]>> {
  const rows: Record<string, unknown[]> = {};
  for (const name of disk.files()) {
    if (name === CHECKPOINT) continue;
    const bytes = disk.read(name);
    if (name.endsWith('.parquet')) {
      const own = await parquetReadObjects({ file: new Uint8Array(bytes).buffer, compressors });
      const output = name.replace(/\.\d+\.parquet$/, '');
      rows[output] = [...(rows[output] ?? []), ...own.map(({ n }) => Number(n))];
    } else {
      const text = (name.endsWith('.gz') ? gunzipSync(bytes) : bytes).toString();
      rows[name] = text.split(/\r?\n/);
    }
  }
  return rows;
}

describe.each(Object.entries(SINKS))('an incremental run of %s', (_, sinkOn) => {
  const run = (disk: SimulatedDisk, count: number) => pipeline(growing(count), sinkOn(disk));

  const cuts = Object.entries(CUTS).map(([name, cutOff], at) => [name, cutOff, at] as const);
  it.each(cuts)(
    'appends every item exactly once, whichever disk call the run ends at: %s',
    async (_, cutOff, at) => {
      const first = new SimulatedDisk();
      await run(first, FIRST);
      first.restart(() => 0);
      const whole = first.copy();
      await run(whole, BATCHES.length);
      const { calls } = whole;
      const expected = await rowsOn(whole);
      expect(calls).toBeGreaterThan(10);
      for (let cut = 1 + (at % STEP); cut < calls; cut += STEP) {
        const disk = first.copy();
        disk.cutAt = cut;
        await expect(run(disk, BATCHES.length)).rejects.toBeInstanceOf(PowerCut);
        cutOff(disk, cut);
        await run(disk, BATCHES.length);
        expect(await rowsOn(disk), `cut at call ${cut}`).toEqual(expected);
      }
    },
  );
});

describe('an incremental run that has items after the last cursor of its source', () => {
  /** Creates a source that has cursors, except after its last batch. */
  const withoutLast = () =>
    new Flow<number>(
      async function* ({ resume }) {
        for (let at = Number(resume?.next ?? 0); at < 3; at++)
          yield { items: BATCHES[at] as number[], ...(at < 2 && { cursor: { next: at + 1 } }) };
      },
      undefined,
      [{ step: 'growing', incremental: true }],
    );
  const same = () => map((n: number) => n);
  const quick = { waitMs: 0, retryWaitMs: 0 } as const;
  type Made = (disk: SimulatedDisk, target: StandIn<number>) => Sink<number, unknown>;

  it.each<[string, Made]>([
    ...Object.entries(SINKS).map(([name, sinkOn]): [string, Made] => [name, disk => sinkOn(disk)]),
    [
      'committed with transactions',
      (disk, target) => committedOn<number>(disk, { ...quick, ...target.transactions }),
    ],
    [
      'committed without transactions',
      (disk, target) => committedOn<number>(disk, { ...quick, ...target.ranges }),
    ],
    [
      'tee with stages in its branches',
      disk =>
        unchecked(
          tee(
            compose(same(), filesOn<number>(disk, { path: '/out/a.jsonl', commitIntervalMs: 0 })),
            filesOn<number>(disk, { path: '/out/b.jsonl', commitIntervalMs: 0 }),
            { checkpoint: CHECKPOINT },
          ),
        ),
    ],
    [
      'tee with a branch to committed',
      (disk, target) =>
        unchecked(
          tee(
            filesOn<number>(disk, { path: '/out/a.jsonl' }),
            committedOn<number>(disk, { ...quick, ...target.transactions }),
          ),
        ),
    ],
  ])('rejects and leaves the checkpoint unchanged: %s', async (_, sinkOn) => {
    const disk = new SimulatedDisk();
    const target = new StandIn<number>();
    const failure = await pipeline(withoutLast(), sinkOn(disk, target)).catch(
      (error: unknown) => error,
    );
    expect(failure).toBeInstanceOf(StorageError);
    expect(String(failure)).toMatch(/items that no cursor follows/);
    const saved = disk.files().includes(CHECKPOINT) ? String(disk.read(CHECKPOINT)) : target.text;
    expect(JSON.parse(saved ?? '{"state":"running"}').state).toBe('running');
    // The next run fails in the same way, and adds no rows.
    const before = await rowsOn(disk);
    await expect(pipeline(withoutLast(), sinkOn(disk, target))).rejects.toThrow(
      /items that no cursor follows/,
    );
    expect(await rowsOn(disk)).toEqual(before);
    expect(new Set(target.rows).size).toBe(target.rows.length);
  });
});
