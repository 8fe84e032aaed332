import { mkdirSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import { ofPost } from '../compliance/event.js';
import { loadLibrary } from './load-library.js';
import { Course } from './long/course.js';
import type { Part } from './part.js';

const MIB = 2 ** 20;
const STEPS = 200;
/** A run at each of these sizes: the first shows in a minute what the second needs hours for. */
const SIZES = {
  tombstones: [1_000_000, 100_000_000],
  outputs: [10_000, 100_000],
  listing: [4_000, 1_000_000],
} as const;
type Kind = keyof typeof SIZES;

const WHY: Readonly<Record<Kind, string>> = {
  tombstones:
    'recording this number of deleted posts takes the same memory and time at the end as before',
  outputs:
    'a checkpoint with this number of outputs takes at most 1 KiB of memory each, and no more time for the last',
  listing:
    'a folder with this number of files is read with at most 1 KiB of memory each, and no more time for the last',
};

/** Long runs: what grows a little with each item is seen. */
export const long: Part = {
  name: 'long',
  title: 'Long runs',
  promise: 'Memory, open files and the time of a step stay flat, whatever the number of items.',
  seeds: 1,
  cells: (Object.keys(SIZES) as Kind[]).flatMap(kind =>
    SIZES[kind].map(size => ({
      name: `${kind}/${size}`,
      expects: 'holds' as const,
      why: WHY[kind],
      limitMs: 12 * 3_600_000,
    })),
  ),
  async open(setting) {
    const {
      activities,
      dedupe,
      files,
      Flow,
      gunzip,
      jsonLines,
      localFiles,
      openTombstones,
      pipeline,
    } = await loadLibrary(setting);
    const runs: Readonly<
      Record<Kind, (size: number, folder: string, course: Course) => Promise<void>>
    > = {
      async tombstones(size, folder, course) {
        const tombstones = await openTombstones(path.join(folder, 'tombstones'));
        const count = size / STEPS;
        const events = (first: number, length: number) =>
          Array.from({ length }, (_, n) =>
            ofPost('delete', String(10n ** 18n + BigInt(first + n) * 977n)),
          );
        for (let step = 0; step < STEPS; step++) {
          for (let at = 0; at < count; at += 5_000)
            await tombstones.record(events(step * count + at, Math.min(5_000, count - at)));
          course.step();
        }
        if (tombstones.size !== size) throw new Error(`${tombstones.size} of ${size} are recorded`);
        await tombstones.close();
      },
      async outputs(size, folder, course) {
        const count = size / STEPS;
        const source = new Flow<number>(async function* () {
          for (let step = 0; step < STEPS; step++) {
            const first = step * count;
            yield {
              items: Array.from({ length: count }, (_, n) => first + n),
              cursor: { at: first + count },
            };
            course.step();
          }
        });
        const written = await pipeline(
          source,
          files({
            path: (n: number) => path.join(folder, `out/${n % 1_000}/${n}.jsonl`),
            checkpoint: path.join(folder, 'checkpoint.json'),
          }),
        );
        if (written.files.length !== size)
          throw new Error(`${written.files.length} of ${size} files`);
      },
      async listing(size, folder, course) {
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
        for await (const _ of posts) if (++seen % (size / STEPS) === 0) course.step();
        if (seen !== size) throw new Error(`${seen} of ${size} posts`);
      },
    };
    return {
      run: ({ name }, trials) => {
        const [kind, size] = name.split('/') as [Kind, string];
        return trials.each(async ({ folder }) => {
          const course = new Course();
          await runs[kind](Number(size), folder, course);
          const perItem = kind === 'tombstones' ? 0 : 1024 * Number(size);
          const counts = course.assertFlat({ growBytes: 32 * MIB + perItem });
          console.log(course.draw());
          return { items: Number(size), ...counts };
        });
      },
    };
  },
};
