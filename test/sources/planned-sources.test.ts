import { mkdir, readFile, rm, writeFile } from 'node:fs/promises';
import path from 'node:path';
import { gzipSync } from 'node:zlib';
import fc from 'fast-check';
import { describe, expect, it, vi } from 'vitest';
import { DataError } from '../../src/base/errors.js';
import { DecodedFile } from '../../src/files/decoded-file.js';
import { Threads } from '../../src/files/thread-pool.js';
import { Flow } from '../../src/flow/flow.js';
import { pipeline } from '../../src/flow/pipeline.js';
import { Progress } from '../../src/flow/progress.js';
import type { FileBytes } from '../../src/json/records.js';
import { activities } from '../../src/operators/activities.js';
import { compose } from '../../src/operators/compose.js';
import { dedupe } from '../../src/operators/dedupe.js';
import { gunzip } from '../../src/operators/gunzip.js';
import { jsonLines } from '../../src/operators/json-lines.js';
import { files } from '../../src/sinks/files.js';
import { concat } from '../../src/sources/concat.js';
import { localFiles } from '../../src/sources/local-files.js';
import { merge } from '../../src/sources/merge.js';
import { bySuite } from '../suite.js';
import { temporaryFolder } from '../temporary-folder.js';

const post = (id: number) => `{"id":${id},"id_str":"${id}","text":"${'x'.repeat(id % 50)}"}`;
const gz = (ids: readonly number[]) => gzipSync(ids.map(id => `${post(id)}\n`).join(''));
const toPosts = () => compose(gunzip(), jsonLines(), activities());

type Source = Flow<FileBytes>;

/** Returns the same source without its plan, so that the engine does not recognise whole files. */
function unplanned(source: Source): Source {
  return new Flow(run => source.batches(run), undefined, source.identity);
}

interface Options {
  readonly join: typeof concat | typeof merge;
  /** Whether each source is separately converted to posts. */
  readonly byItself?: boolean;
  readonly planned: boolean;
}

async function run(
  groups: readonly (readonly string[])[],
  out: string,
  { join, byItself = false, planned }: Options,
) {
  const sources = groups.map(paths => {
    const source = localFiles(paths);
    return planned ? source : unplanned(source);
  });
  const checkpoint = path.join(out, 'checkpoint.json');
  const posts = byItself
    ? join(...sources.map(source => toPosts()(source)))
    : toPosts()(join(...sources));
  const result = await pipeline(
    posts,
    dedupe(),
    files({ path: path.join(out, 'all.jsonl'), checkpoint, commitIntervalMs: 0, workers: 2 }),
  ).then(
    ({ posts, bytes }) => ({ posts, bytes }),
    (error: unknown) => {
      if (!(error instanceof DataError)) throw error;
      return { error: error.message, position: error.position };
    },
  );
  const { state, cursor } = JSON.parse(await readFile(checkpoint, 'utf8').catch(() => '{}'));
  return { result, state, cursor };
}

/** Returns the lines of an output. An output without posts has no file. */
const linesOf = async (out: string) =>
  (await readFile(path.join(out, 'all.jsonl'), 'utf8').catch(() => '')).split('\n').slice(0, -1);

async function stored(folder: string, groups: readonly (readonly Buffer[])[]) {
  const paths = groups.map((files, group) =>
    files.map((_, file) => path.join(folder, `${group}-${file}.gz`)),
  );
  for (const [group, files] of groups.entries())
    for (const [file, bytes] of files.entries()) await writeFile(paths[group]![file]!, bytes);
  return paths;
}

const groups = fc.array(
  fc.array(fc.array(fc.integer({ min: 1, max: 60 }), { maxLength: 8 }), {
    minLength: 1,
    maxLength: 4,
  }),
  { minLength: 1, maxLength: 3 },
);

async function damage(file: string): Promise<() => Promise<void>> {
  const whole = await readFile(file);
  await writeFile(file, whole.subarray(0, whole.length - 3));
  return () => writeFile(file, whole);
}

describe('several sources of whole files, decoded by threads,', () => {
  it.each([
    ['with operators after concat', false],
    ['with operators before concat', true],
  ])(
    '%s are read by concat with the same result as on the main thread, and continue from either checkpoint',
    async (_, byItself) => {
      const folder = await temporaryFolder();
      const writes = vi.spyOn(DecodedFile.prototype, 'write');
      let round = 0;
      await fc.assert(
        fc.asyncProperty(groups, fc.nat(), fc.boolean(), async (ids, at, endsPlanned) => {
          const here = path.join(folder, `${round++}`);
          await mkdir(here);
          const paths = await stored(
            here,
            ids.map(files => files.map(gz)),
          );
          const all = paths.flat();
          const damaged = all[at % all.length]!;
          const repair = await damage(damaged);
          const outs = [true, false].map(planned => ({
            planned,
            out: path.join(here, `${planned}`),
          }));
          const failed = [];
          for (const { planned, out } of outs) {
            await mkdir(out);
            failed.push(await run(paths, out, { join: concat, byItself, planned }));
          }
          expect(failed[0]!.result).toMatchObject({ position: { origin: damaged } });
          expect(failed[0]).toEqual(failed[1]);
          await repair();
          const once = [...new Set(ids.flat(2))].map(post);
          for (const { planned, out } of outs) {
            const again = endsPlanned ? planned : !planned;
            const ended = await run(paths, out, { join: concat, byItself, planned: again });
            expect(ended).toMatchObject({ result: { posts: once.length }, state: 'complete' });
            expect(await linesOf(out)).toEqual(once);
          }
          await rm(here, { recursive: true });
        }),
        { numRuns: bySuite(2, 60) },
      );
      expect(writes).toHaveBeenCalled();
    },
  );

  it('are delivered by merge exactly once and in order, even after a failure', async () => {
    const folder = await temporaryFolder();
    const writes = vi.spyOn(DecodedFile.prototype, 'write');
    let round = 0;
    await fc.assert(
      fc.asyncProperty(groups, fc.nat(), fc.boolean(), async (shape, at, byItself) => {
        const here = path.join(folder, `${round++}`);
        await mkdir(here);
        let next = 1;
        const ids = shape.map(files => files.map(of => of.map(() => next++)));
        const paths = await stored(
          here,
          ids.map(files => files.map(gz)),
        );
        const all = paths.flat();
        const damaged = all[at % all.length]!;
        const repair = await damage(damaged);
        const failed = await run(paths, here, { join: merge, byItself, planned: true });
        expect(failed.result).toMatchObject({ position: { origin: damaged } });
        await repair();
        const ended = await run(paths, here, { join: merge, byItself, planned: true });
        expect(ended).toMatchObject({ result: { posts: next - 1 }, state: 'complete' });
        const lines = await linesOf(here);
        expect(lines).toHaveLength(next - 1);
        for (const files of ids) {
          const own = files.flat().map(post);
          expect(lines.filter(line => own.includes(line))).toEqual(own);
        }
        await rm(here, { recursive: true });
      }),
      { numRuns: bySuite(2, 60) },
    );
    expect(writes).toHaveBeenCalled();
  });

  it('are read by merge until one source ends while another source waits', async () => {
    const folder = await temporaryFolder();
    const paths = await stored(folder, [
      Array.from({ length: 30 }, (_, file) => gz([file + 1])),
      [gz([100]), gz([101])],
    ]);
    const { result } = await run(paths, folder, { join: merge, planned: true });
    expect(result).toMatchObject({ posts: 32 });
  });

  it('are not decoded together if their operators differ', async () => {
    const folder = await temporaryFolder();
    const paths = await stored(folder, [[gz([1, 2])], [gz([2, 3])]]);
    const [first, second] = paths.map(of => localFiles(of)) as [Source, Source];
    const decode = vi.spyOn(Threads.prototype, 'decode');
    const out = path.join(folder, 'all.jsonl');
    const other = compose(gunzip({ plain: 'pass' }), jsonLines(), activities());
    for (const both of [
      concat(toPosts()(first), other(second)),
      merge(toPosts()(first), dedupe()(toPosts()(second))),
      concat(first, gunzip()(second)),
    ] as readonly Flow<unknown>[])
      await pipeline(both, files({ path: out, workers: 2 })).catch(() => {});
    expect(decode).not.toHaveBeenCalled();
    await pipeline(concat(toPosts()(first), toPosts()(second)), files({ path: out, workers: 2 }));
    expect(decode).toHaveBeenCalledTimes(2);
  });

  it('start threads even if they are large only in sum', async () => {
    const folder = await temporaryFolder();
    const large = gzipSync(`{"id":1,"text":"${'x'.repeat(5 << 20)}"}\n`, { level: 0 });
    const paths = await stored(folder, [
      [large, large, large, large],
      [large, large, large, large],
    ]);
    const start = vi.spyOn(Threads.prototype, 'start').mockImplementation(() => {});
    vi.spyOn(Threads.prototype, 'decode').mockResolvedValue(undefined);
    const sources = paths.map(of => localFiles(of));
    const out = path.join(folder, 'all.jsonl');
    await pipeline(concat(...sources), toPosts(), files({ path: out }));
    expect(start).toHaveBeenCalled();
    start.mockClear();
    await pipeline(sources[0]!, toPosts(), files({ path: out }));
    expect(start).not.toHaveBeenCalled();
  });

  it('report the progress fraction of all files together', async () => {
    const folder = await temporaryFolder();
    const paths = await stored(folder, [[gz([1]), gz([2])], [gz([3])]]);
    const progress = new Progress();
    const seen: (number | undefined)[] = [];
    const flow = toPosts()(concat(...paths.map(of => localFiles(of))));
    for await (const { items } of flow.batches({ progress }))
      if (items.length > 0) seen.push(progress.fraction);
    expect(progress.fraction).toBe(1);
    expect(progress.received).toBe(3);
    expect(seen.at(-1)).toBeGreaterThan(0.5);
  });
});
