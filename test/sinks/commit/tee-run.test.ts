import { mkdir, readdir, readFile, rm, writeFile } from 'node:fs/promises';
import path from 'node:path';
import { gunzipSync, gzipSync } from 'node:zlib';
import fc from 'fast-check';
import { parquetReadObjects } from 'hyparquet';
import { compressors } from 'hyparquet-compressors';
import { describe, expect, it, onTestFinished, vi } from 'vitest';
import { MillraceError, StorageError } from '../../../src/base/errors.js';
import { openTombstones } from '../../../src/compliance/tombstones.js';
import { withoutDeleted } from '../../../src/compliance/without-deleted.js';
import { DecodedFile } from '../../../src/files/decoded-file.js';
import { Flow, type FlowSink, type Operator } from '../../../src/flow/flow.js';
import { pipeline } from '../../../src/flow/pipeline.js';
import { activities } from '../../../src/operators/activities.js';
import { compose } from '../../../src/operators/compose.js';
import { dedupe } from '../../../src/operators/dedupe.js';
import { filter } from '../../../src/operators/filter.js';
import { gunzip } from '../../../src/operators/gunzip.js';
import { jsonLines } from '../../../src/operators/json-lines.js';
import { map } from '../../../src/operators/map.js';
import { routeByTag } from '../../../src/operators/route-by-tag.js';
import { take } from '../../../src/operators/take.js';
import type { Activity } from '../../../src/post/activity.js';
import { collect } from '../../../src/sinks/collect.js';
import { committed } from '../../../src/sinks/committed.js';
import { csv } from '../../../src/sinks/csv.js';
import { files } from '../../../src/sinks/files.js';
import { parquet } from '../../../src/sinks/parquet.js';
import { tee } from '../../../src/sinks/tee.js';
import { localFiles } from '../../../src/sources/local-files.js';
import { ofPost, scrubGeo } from '../../compliance/event.js';
import { askedOfThreads } from '../../files/asked-of-threads.js';
import { bySuite } from '../../suite.js';
import { temporaryFolder } from '../../temporary-folder.js';
import { StandIn } from '../stand-in.js';

const DAYS = ['Oct 10', 'Oct 11', 'Oct 12'];

function post(id: number, tags: readonly string[], size = 10): string {
  const rules = tags.map((tag, index) => ({ tag, id: index + 1, id_str: `${index + 1}` }));
  return `{"created_at":"Wed ${DAYS[id % 3]} 20:19:24 +0000 2018","id":${id},"id_str":"${id}","text":"${'é'.repeat(size)}","user":{"id":1,"id_str":"1","screen_name":"a"},"lang":"${id % 2 === 0 ? 'en' : 'de'}","matching_rules":${JSON.stringify(rules)}}`;
}

const gz = (lines: readonly string[]) => gzipSync(lines.map(line => `${line}\n`).join(''));

async function store(folder: string, contents: readonly Buffer[]): Promise<string[]> {
  const paths = contents.map((_, index) => path.join(folder, `${index}.gz`));
  for (const [index, content] of contents.entries()) await writeFile(paths[index]!, content);
  return paths;
}

interface Setting {
  readonly out: string;
  readonly workers: number;
}

type Branch = FlowSink<Activity, unknown>;

const BRANCHES: Readonly<Record<string, (setting: Setting) => Branch>> = {
  'lines by tag': ({ out, workers }) =>
    compose(dedupe(), routeByTag(), files({ path: `${out}/{tag}/{day}.jsonl`, workers })),
  gzip: ({ out, workers }) => files({ path: `${out}/{lang}.jsonl.gz`, workers }),
  'numbered lines': ({ out, workers }) =>
    files({ path: `${out}/all.jsonl`, maxBytes: 2_000, workers }),
  csv: ({ out, workers }) =>
    compose(
      routeByTag(),
      csv({ path: `${out}/{tag}-{lang}.csv`, columns: ['id', 'text', 'tag'], workers }),
    ),
  'other columns': ({ out, workers }) =>
    csv({ path: `${out}/{day}.csv`, columns: ['lang', 'id'], workers }),
  parquet: ({ out, workers }) =>
    compose(
      dedupe({ window: 5 }),
      parquet({ path: `${out}/{day}.parquet`, columns: ['id', 'text'], workers }),
    ),
  'the first': ({ out, workers }) =>
    compose(take(7), files({ path: `${out}/first.jsonl`, workers })),
  'a filter': ({ out, workers }) =>
    compose(
      dedupe(),
      filter(({ lang }: Activity) => lang === 'en'),
      files({ path: `${out}/{id}.jsonl`, workers }),
    ),
  'a line': ({ out, workers }) => files({ path: `${out}/ids`, line: ({ id }) => id, workers }),
  author: ({ out, workers }) => files({ path: `${out}/{id}.jsonl`, workers }),
  'an operator that opens its input later': ({ out, workers }) =>
    compose(
      ((input: AsyncIterable<Activity>) =>
        new Flow(run => dedupe()(input).batches(run))) as Operator<Activity, Activity>,
      files({ path: `${out}/all.jsonl`, workers }),
    ),
};

/**
 * Returns the contents of all files. Each commit ends a Parquet file and starts another one, so
 * this joins the rows of files whose paths differ only in the number.
 */
async function contentsOf(folder: string): Promise<Record<string, unknown>> {
  const entries = await readdir(folder, { recursive: true, withFileTypes: true });
  const names = entries
    .filter(entry => entry.isFile())
    .map(entry => path.relative(folder, path.join(entry.parentPath, entry.name)))
    .toSorted();
  const contents: Record<string, string | unknown[]> = {};
  for (const name of names) {
    const bytes = await readFile(path.join(folder, name));
    if (name.endsWith('.parquet')) {
      const rows = await parquetReadObjects({ file: new Uint8Array(bytes).buffer, compressors });
      const whole = name.replace(/\.\d+\.parquet$/, '.parquet');
      contents[whole] = [...(contents[whole] ?? []), ...rows];
    } else contents[name] = (name.endsWith('.gz') ? gunzipSync(bytes) : bytes).toString();
  }
  return contents;
}

const posts = (paths: readonly string[]) =>
  activities()(jsonLines({ maxBytes: 20_000 })(gunzip()(localFiles(paths))));

async function ended<T>(run: Promise<T>) {
  try {
    return { result: await run };
  } catch (error) {
    if (!(error instanceof MillraceError)) throw error;
    return { error: error.message, code: error.code };
  }
}

const line = fc
  .tuple(
    fc.integer({ min: 1, max: 40 }),
    fc.subarray(['rain', 'snow', 'a/b', '天気'], { maxLength: 3 }),
    fc.integer({ min: 0, max: 600 }),
  )
  .map(([id, tags, size]) => post(id, tags, size));
const contents = fc.array(fc.array(line, { maxLength: 12 }), { minLength: 1, maxLength: 5 });

describe('tee over stored files', () => {
  it('writes with threads in each branch what each sink writes alone, even after a failure in the middle', async () => {
    const folder = await temporaryFolder();
    const asked = askedOfThreads();
    let round = 0;
    const holds = async (
      lines: readonly (readonly string[])[],
      names: readonly string[],
      { at, isDamaged }: { readonly at: number; readonly isDamaged: boolean },
    ) => {
      const here = path.join(folder, `${round++}`);
      await mkdir(here);
      const paths = await store(here, lines.map(gz));
      const expected = [];
      for (const [index, name] of names.entries()) {
        const out = path.join(here, 'alone', `${index}`);
        await mkdir(out, { recursive: true });
        await pipeline(posts(paths), BRANCHES[name]!({ out, workers: 0 }));
        expected.push(await contentsOf(out));
      }
      const out = path.join(here, 'tee');
      const outs = names.map((_, index) => path.join(out, `${index}`));
      for (const branch of outs) await mkdir(branch, { recursive: true });
      const run = () =>
        pipeline(
          posts(paths),
          tee(
            ...(names.map((name, index) => BRANCHES[name]!({ out: outs[index]!, workers: 2 })) as [
              Branch,
            ]),
            { checkpoint: path.join(out, 'checkpoint.json') },
          ),
        );
      if (isDamaged) {
        const damaged = paths[at % paths.length]!;
        const whole = await readFile(damaged);
        await writeFile(damaged, whole.subarray(0, whole.length - 3));
        await ended(run());
        await writeFile(damaged, whole);
      }
      await run();
      for (const [index, name] of names.entries())
        expect(
          { name, ...(await contentsOf(outs[index]!)) },
          `branch ${index} of ${names}`,
        ).toEqual({ name, ...expected[index] });
      await rm(here, { recursive: true });
    };
    // This input is large enough for threads to do every kind of work.
    const some = Array.from({ length: 4 }, (_, file) =>
      Array.from({ length: 10 }, (_, at) => post(file * 7 + at + 1, ['rain', 'snow'], at)),
    );
    await holds(some, ['lines by tag', 'gzip', 'csv', 'other columns', 'parquet', 'a filter'], {
      at: 2,
      isDamaged: false,
    });
    for (const name of ['write', 'encode', 'copy'] as const)
      expect(asked(name), name).toBeGreaterThan(0);
    await fc.assert(
      fc.asyncProperty(
        contents,
        fc.subarray(Object.keys(BRANCHES), { minLength: 1, maxLength: 4 }),
        fc.record({ at: fc.nat(), isDamaged: fc.boolean() }),
        holds,
      ),
      { numRuns: bySuite(3, 150), endOnFailure: true },
    );
  });

  it('lets branches with other sinks keep the items that it delivers', async () => {
    const folder = await temporaryFolder();
    const lines = Array.from({ length: 9 }, (_, file) =>
      Array.from({ length: 20 }, (_, at) => post(file * 15 + at + 1, ['rain', 'snow'], 2_000)),
    );
    const paths = await store(folder, lines.map(gz));
    const once = [...new Set(lines.flat())];
    for (const workers of [2, 0]) {
      const out = path.join(folder, `${workers}`);
      const [written, list, tagged, nested] = await pipeline(
        posts(paths),
        tee(
          files({ path: `${out}/all.jsonl.gz`, workers }),
          compose(dedupe(), collect<Activity>()),
          async (input: Flow<Activity>) => {
            const ids: string[] = [];
            for await (const { tag, activity } of routeByTag()(dedupe()(input)))
              ids.push(`${tag} ${activity.id}`);
            return ids;
          },
          tee(
            compose(dedupe(), files({ path: `${out}/nested.jsonl`, workers })),
            csv({ path: `${out}/nested.csv`, columns: ['id'], workers }),
          ),
        ),
      );
      expect(written.posts).toBe(180);
      expect(list.map(({ raw }) => String(raw))).toEqual(once);
      expect(tagged).toHaveLength(2 * once.length);
      expect(nested.map(({ posts }) => posts)).toEqual([once.length, 180]);
      expect(await readFile(`${out}/nested.jsonl`, 'utf8')).toBe(`${once.join('\n')}\n`);
    }
  });

  it('rejects with the error of a post that one branch cannot write', async () => {
    const folder = await temporaryFolder();
    const bad = post(7, ['x']).replace('"screen_name"', '"followers_count":0.5,"screen_name"');
    const paths = await store(folder, [gz([post(1, ['x'])]), gz([post(2, ['x']), bad])]);
    const errors = [];
    for (const workers of [0, 2]) {
      const out = path.join(folder, `${workers}`);
      const table = csv({ path: `${out}/a.csv`, columns: ['id', 'author_followers'], workers });
      errors.push(
        await ended(
          pipeline(posts(paths), tee(files({ path: `${out}/all.jsonl.gz`, workers }), table)),
        ),
      );
    }
    expect(errors[0]).toMatchObject({ code: 'ERR_DATA' });
    expect(errors[1]).toEqual(errors[0]);
  });

  it('lets no branch see the changes that another branch makes to a post', async () => {
    const folder = await temporaryFolder();
    const tombstones = await openTombstones(path.join(folder, 'tombstones'));
    onTestFinished(() => tombstones.close());
    await tombstones.record([ofPost('delete', '3'), scrubGeo('1', '4')]);
    const place = (id: number, geo: string) =>
      post(id, []).replace('"lang"', `"geo":${geo},"lang"`);
    const lines = [1, 2, 3, 4].map(id => place(id, '{"type":"Point","coordinates":[1,2]}'));
    const paths = await store(folder, [gz(lines)]);
    for (const workers of [2, 0]) {
      const out = path.join(folder, `${workers}`);
      await pipeline(
        posts(paths),
        tee(
          compose(withoutDeleted(tombstones), files({ path: `${out}/left.jsonl`, workers })),
          files({ path: `${out}/all.jsonl`, workers }),
        ),
      );
      const written = (name: string) => readFile(`${out}/${name}.jsonl`, 'utf8');
      expect(await written('all')).toBe(lines.map(line => `${line}\n`).join(''));
      const left = (await written('left')).split('\n').slice(0, -1);
      expect(left.map(line => JSON.parse(line).id)).toEqual([1, 2, 4]);
      expect(left.join()).not.toContain('coordinates":[');
    }
  });

  it('rejects with a typed error if a worker thread exits, and continues from the checkpoint', async () => {
    const folder = await temporaryFolder();
    const lines = Array.from({ length: 30 }, (_, file) => [post(file + 1, ['x'], 300)]);
    const paths = await store(folder, lines.map(gz));
    const run = () =>
      pipeline(
        posts(paths),
        tee(
          files({ path: `${folder}/all.jsonl.gz`, workers: 2, commitIntervalMs: 0 }),
          csv({ path: `${folder}/ids.csv`, columns: ['id'], workers: 2, commitIntervalMs: 0 }),
          { checkpoint: `${folder}/checkpoint.json` },
        ),
      );
    const { encode } = DecodedFile.prototype;
    let calls = 0;
    const broken = vi.spyOn(DecodedFile.prototype, 'encode').mockImplementation(function (
      this: DecodedFile,
      ...args
    ) {
      if (++calls === 21)
        return Promise.reject(new StorageError('The thread ended', { path: 'x' }));
      return encode.apply(this, args);
    });
    await expect(run()).rejects.toThrow('The thread ended');
    broken.mockRestore();
    await run();
    const all = gunzipSync(await readFile(`${folder}/all.jsonl.gz`)).toString();
    expect(all).toBe(
      lines
        .flat()
        .map(line => `${line}\n`)
        .join(''),
    );
    const ids = await readFile(`${folder}/ids.csv`, 'utf8');
    expect(ids.match(/\d+/g)).toEqual(lines.map((_, file) => `${file + 1}`));
  });

  it('releases the memory of a file after every branch has read it, even branches that ended early', async () => {
    const folder = await temporaryFolder();
    const lines = Array.from({ length: 20 }, (_, file) => [post(file + 1, ['x'])]);
    const paths = await store(folder, lines.map(gz));
    const asked = askedOfThreads();
    await pipeline(
      posts(paths),
      tee(
        compose(take(2), files({ path: `${folder}/first.jsonl`, workers: 1 })),
        files({ path: `${folder}/all.jsonl`, workers: 1 }),
        compose(take(1), collect()),
      ),
    );
    expect(asked('free')).toBe(20);
  });

  it('continues from its checkpoint after branches ended in the middle of a file', async () => {
    const folder = await temporaryFolder();
    const lines = Array.from({ length: 8 }, (_, file) =>
      Array.from({ length: 200 }, (_, at) => post(file * 200 + at + 1, ['x'])),
    );
    const paths = await store(folder, lines.map(gz));
    const first = (count: number) =>
      compose(
        filter((of: Activity) => of.id !== ''),
        take(count),
        collect<Activity>(),
      );
    const [{ posts: written }] = await pipeline(
      posts(paths),
      tee(files({ path: `${folder}/all.jsonl`, workers: 1 }), first(3), first(203), first(403)),
    );
    expect(written).toBe(1_600);
  });
});

it('tee writes each post to its files and to committed() exactly once, even after failing runs', async () => {
  const folder = await temporaryFolder();
  const days = Array.from({ length: 6 }, (_, day) =>
    Array.from({ length: 300 }, (_, n) => post(day * 300 + n, ['a'])),
  );
  const stored = await store(folder, days.map(gz));
  const target = new StandIn<string>();
  const run = (failAt: number) =>
    pipeline(
      localFiles(stored),
      gunzip(),
      jsonLines(),
      activities(),
      dedupe(),
      tee(
        files({ path: path.join(folder, 'out/all.jsonl'), commitIntervalMs: 0, workers: 2 }),
        compose(
          map(({ id }: Activity) => {
            if (Number(id) === failAt) throw new Error('interrupted');
            return id;
          }),
          committed<string>({ rows: 100, waitMs: 0, ...target.transactions }),
        ),
      ),
    );
  for (const failAt of [250, 900, 1_500]) {
    await expect(run(failAt)).rejects.toThrow('interrupted');
    expect(target.rows).toEqual(target.rows.map((_, id) => String(id)));
    expect(target.rows.length).toBeLessThanOrEqual(failAt);
  }
  const [all, { rows }] = await run(-1);
  expect([all.posts, rows]).toEqual([1_800, 1_800]);
  expect(target.rows).toEqual(Array.from({ length: 1_800 }, (_, id) => String(id)));
  const lines = await readFile(path.join(folder, 'out/all.jsonl'), 'utf8');
  expect(lines).toBe(
    days
      .flat()
      .map(line => `${line}\n`)
      .join(''),
  );
});
