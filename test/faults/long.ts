import { mkdirSync, statSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import type { ComplianceEvent } from 'millrace';
import { loadLibrary } from './load-library.js';
import { complianceHour } from './long/compliance-hour.js';
import { Course } from './long/course.js';
import { FixedWork } from './long/fixed-work.js';
import { renderCurves } from './long/render-curves.js';
import { replayHour } from './long/replay-hour.js';
import type { Millrace } from './matrix/pipeline.js';
import type { Counts, Part, Setting, Trial } from './part.js';
import { tryInChild } from './try-in-child.js';

const MIB = 2 ** 20;
const LIMIT_MS = 12 * 3_600_000;
const IN_CHILD = 'MILLRACE_LONG_CHILD';
const STEPS = 200;
/** The number of commits that follow after all outputs are open. */
const COMMITS = 20;
/** The maximum number of events that one call records. Each call waits for the disk. */
const MAX_RECORD = 50_000;

/** Events in the form that the parser returns. Parsing each event would take most of the time. */
const DELETE = {
  kind: 'delete',
  userId: '1',
  at: new Date(1),
  raw: Buffer.from('{"delete":{}}'),
} as const satisfies Partial<ComplianceEvent>;

interface Kind {
  readonly why: string;
  /**
   * The number of items in each run. If something grows, the short first run usually shows it
   * within a minute, while the last run takes long.
   */
  readonly sizes: readonly number[];
  /** The memory that each item may add. @default 0 */
  readonly itemBytes?: number;
  /**
   * How much the memory may exceed its value before the run, however many items there are. Covers
   * the memory of a step, for example. @default 64 MiB
   */
  readonly workBytes?: number;
  /** Whether memory must stay constant in the second half of the run. @default false */
  readonly settles?: boolean;
  run(millrace: Millrace, size: number, trial: Trial, course: Course): Promise<Counts | undefined>;
}

const KINDS: Readonly<Record<string, Kind>> = {
  'compliance-minutes': {
    why: 'a compliance stream over this number of minutes, whose connections break, loses no event, and repeats only those that a replay filled in',
    sizes: [6, 60],
    settles: true,
    run: complianceHour,
  },
  'replay-minutes': {
    why: 'replays of one window after the other, for this number of minutes, keep to the limit of connections, and give each post once',
    sizes: [10, 60],
    settles: true,
    run: replayHour,
  },
  tombstones: {
    why: 'recording this number of deleted posts takes the same memory and time at the end as before',
    sizes: [1_000_000, 100_000_000],
    // The larger run needs this much memory for the events of one step.
    workBytes: 320 * MIB,
    run: (millrace, size, trial, course) =>
      recordTombstones(millrace, size, trial, course, n => BigInt(n) * 977n),
  },
  'tombstones-in-any-order': {
    why: 'the same for ids in random order, so that each is recorded in another page of the store',
    sizes: [100_000, 2_000_000],
    // Multiplying by an odd number visits each id once.
    run: (millrace, size, trial, course) =>
      recordTombstones(millrace, size, trial, course, n =>
        BigInt.asUintN(58, BigInt(n) * 0x9e3779b97f4a7c15n),
      ),
  },
  outputs: {
    why: `a checkpoint with this number of outputs takes at most 64 MiB of memory and 1 KiB for each output, and no more CPU time for the last ones; with all of them, ${COMMITS} more commits take no more memory`,
    sizes: [10_000, 100_000],
    itemBytes: 1024,
    async run({ files, Flow, pipeline }, size, { folder }, course) {
      const count = size / STEPS;
      const checkpoint = path.join(folder, 'checkpoint.json');
      const source = new Flow<number>(async function* () {
        for (let step = 0; step < STEPS; step++) {
          const first = step * count;
          yield {
            items: Array.from({ length: count }, (_, n) => first + n),
            cursor: { at: first + count },
          };
          course.step();
        }
        // The file does not exist before the first commit.
        const writtenAt = () =>
          statSync(checkpoint, { bigint: true, throwIfNoEntry: false })?.mtimeNs;
        let [commits, last] = [0, writtenAt()];
        for (let more = 0; commits < COMMITS; more++) {
          yield { items: [(more * 7_919) % size], cursor: { at: size + more + 1 } };
          await delay(20);
          if (writtenAt() === last) continue;
          commits++;
          last = writtenAt();
          // A step waits for the commit interval, so only its CPU time is checked.
          course.step({});
        }
      });
      const written = await pipeline(
        source,
        files({
          path: (n: number) => path.join(folder, `out/${n % 1_000}/${n}.jsonl`),
          checkpoint,
        }),
      );
      if (written.files.length !== size)
        throw new Error(`${written.files.length} of ${size} files`);
      return undefined;
    },
  },
  listing: {
    why: 'a folder with this number of files is read with at most 64 MiB of memory and 1 KiB for each file, and no more CPU time for the last',
    sizes: [4_000, 1_000_000],
    itemBytes: 1024,
    async run({ activities, dedupe, gunzip, jsonLines, localFiles }, size, { folder }, course) {
      const stored = path.join(folder, 'stored');
      for (let first = 0; first < size; first += 1_000) {
        const below = path.join(stored, String(first));
        mkdirSync(below, { recursive: true });
        for (let n = first; n < first + 1_000; n++)
          writeFileSync(path.join(below, `${n}.jsonl`), `{"id":${n + 1},"id_str":"${n + 1}"}\n`);
      }
      let seen = 0;
      const posts = dedupe()(
        activities()(jsonLines()(gunzip({ plain: 'pass' })(localFiles(stored)))),
      );
      const endListing = course.watch('it lists');
      for await (const _ of posts) {
        if (seen++ === 0) {
          endListing();
          course.begin();
        }
        if (seen % (size / STEPS) === 0) course.step();
      }
      if (seen !== size) throw new Error(`${seen} of ${size} posts`);
      return undefined;
    },
  },
};

export const long: Part = {
  name: 'long',
  title: 'Long runs',
  promise:
    'Memory, open files and the time of a step stay flat, whatever the number of items: from the second quarter of a run to the last, memory, heap and ' +
    'buffers grow by 32 MiB at most, or by what a cell says for each item, open files by 10, and the CPU time of a step to three times and 50 ms at most; ' +
    'times by the clock from the first third to the last, too, and as much more as fixed work beside them takes longer. From the third quarter of the hours ' +
    'to the last, the heap grows by 4 MiB at most, buffers and memory without young objects by 16 MiB.',
  seeds: 1,
  cells: Object.entries(KINDS).flatMap(([kind, { sizes, why }]) =>
    sizes.map(size => ({
      name: `${kind}/${size}`,
      expects: 'holds' as const,
      why,
      limitMs: LIMIT_MS,
    })),
  ),
  render: renderCurves,
  open: setting => ({
    run: ({ name }, trials) =>
      trials.each(trial =>
        process.env[IN_CHILD] === undefined
          ? runInChild(setting, name, trial)
          : runHere(setting, name, trial),
      ),
  }),
};

/**
 * Does one kind of long run in a separate process, so that its memory contains nothing of other
 * runs.
 */
async function runInChild({ library }: Setting, name: string, trial: Trial): Promise<Counts> {
  const { counts, curves, failures } = await tryInChild('long', name, {
    library,
    seeds: 1,
    firstSeed: trial.seed,
    limitMs: LIMIT_MS,
    env: { [IN_CHILD]: '1' },
  });
  const [failure] = failures;
  if (failure !== undefined) throw new Error(failure.message);
  if (curves !== undefined) trial.keep(curves);
  return counts;
}

async function runHere(setting: Setting, name: string, trial: Trial): Promise<Counts> {
  const millrace = await loadLibrary(setting);
  const [kind = '', digits] = name.split('/');
  const size = Number(digits);
  const { itemBytes = 0, workBytes = 64 * MIB, settles, run } = KINDS[kind] as Kind;
  using fixedWork = new FixedWork();
  const course = new Course(fixedWork);
  const counts = await run(millrace, size, trial, course);
  trial.keep(course.curves);
  const taken = course.assertFlat({
    // Growth is measured from the second quarter of a run to the last. Half of the items arrive
    // between the middles of these quarters.
    growBytes: 32 * MIB + (itemBytes * size) / 2,
    peakBytes: workBytes + itemBytes * size,
    settles,
  });
  return { ...(counts ?? { items: size }), ...taken };
}

async function recordTombstones(
  { openTombstones }: Millrace,
  size: number,
  { folder }: Trial,
  course: Course,
  idOf: (n: number) => bigint,
): Promise<undefined> {
  const tombstones = await openTombstones(path.join(folder, 'tombstones'));
  const count = size / STEPS;
  const events = (first: number, length: number) =>
    Array.from({ length }, (_, n) => ({
      ...DELETE,
      postId: String(10n ** 18n + idOf(first + n)),
    }));
  for (let step = 0; step < STEPS; step++) {
    for (let at = 0; at < count; at += MAX_RECORD)
      await tombstones.record(events(step * count + at, Math.min(MAX_RECORD, count - at)));
    course.step();
  }
  if (tombstones.size !== size) throw new Error(`${tombstones.size} of ${size} are recorded`);
  await tombstones.close();
  return undefined;
}
