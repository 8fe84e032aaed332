import { mkdir, readdir, readFile, rm, writeFile } from 'node:fs/promises';
import path from 'node:path';
import { gzipSync } from 'node:zlib';
import fc from 'fast-check';
import { parquetMetadata, parquetReadObjects } from 'hyparquet';
import { compressors } from 'hyparquet-compressors';
import { describe, expect, it, vi } from 'vitest';
import { MillraceError, StorageError } from '../../../src/base/errors.js';
import { DecodedFile } from '../../../src/files/decoded-file.js';
import { Threads } from '../../../src/files/thread-pool.js';
import { pipeline } from '../../../src/flow/pipeline.js';
import { activities } from '../../../src/operators/activities.js';
import { dedupe } from '../../../src/operators/dedupe.js';
import { gunzip } from '../../../src/operators/gunzip.js';
import { jsonLines } from '../../../src/operators/json-lines.js';
import { routeByTag } from '../../../src/operators/route-by-tag.js';
import type { Activity, Routed } from '../../../src/post/activity.js';
import { samplePosts } from '../../../src/service/sample/sample-posts.js';
import { type ParquetOptions, parquet } from '../../../src/sinks/parquet.js';
import { localFiles } from '../../../src/sources/local-files.js';
import {
  itemToAdd,
  ParquetEncoder,
  rowAdder,
} from '../../../src/tables/parquet/parquet-encoder.js';
import { RowBlockBuilder } from '../../../src/tables/parquet/row-block.js';
import { listColumns } from '../../../src/tables/table-options.js';
import { bySuite } from '../../suite.js';
import { temporaryFolder } from '../../temporary-folder.js';

const TAGS = ['snow', 'rain', 'ice & co'];
const POSTS = Array.from({ length: 20 }, (_, minute) =>
  Array.from(
    samplePosts(Date.UTC(2024, 2, 5, 0, minute), {
      postsPerMinute: 30,
      format: minute % 3 === 0 ? 'activity_streams' : 'original',
    }),
  ),
)
  .flat()
  .map((post, n) =>
    post.withMatchingRules(TAGS.filter((_, at) => (n + at) % 3 > 0).map(tag => ({ tag, id: '7' }))),
  );

function linesOf(posts: readonly Activity[]): string {
  return posts.map(({ raw }) => `${Buffer.from(raw)}\n`).join('');
}

async function store(folder: string, contents: readonly Buffer[]): Promise<string[]> {
  await mkdir(folder, { recursive: true });
  return Promise.all(
    contents.map(async (content, index) => {
      const file = path.join(folder, `${String(index).padStart(3, '0')}.gz`);
      await writeFile(file, content);
      return file;
    }),
  );
}

type Options = Omit<ParquetOptions<Routed>, 'path'> & { readonly template?: string };

async function run(
  inputs: readonly string[],
  out: string,
  { template = '{tag}.parquet', ...options }: Options,
) {
  const clean = (text: string) => text.replaceAll(out, 'OUT');
  const result = await pipeline(
    localFiles(inputs),
    gunzip(),
    jsonLines(),
    activities(),
    dedupe(),
    routeByTag(),
    parquet({ ...options, path: path.join(out, template) }),
  ).then(
    ({ posts, files }) => ({
      posts,
      files: files.map(file => ({ ...file, path: clean(file.path) })),
    }),
    (error: unknown) => {
      if (!(error instanceof MillraceError)) throw error;
      return { error: clean(error.message), code: error.code };
    },
  );
  const contents: Record<string, Buffer> = {};
  for (const name of (await readdir(out, { recursive: true }).catch(() => [])).toSorted())
    if (name.endsWith('.parquet')) contents[name] = await readFile(path.join(out, name));
  return { result, contents };
}

async function rowsOf(contents: Readonly<Record<string, Buffer>>) {
  const rows: Record<string, unknown> = {};
  for (const [name, bytes] of Object.entries(contents)) {
    const file = new Uint8Array(bytes).buffer;
    const groups = parquetMetadata(file).row_groups.map(({ num_rows }) => Number(num_rows));
    rows[name] = { groups, rows: await parquetReadObjects({ file, compressors }) };
  }
  return rows;
}

const DAMAGES: Readonly<Record<string, (text: string) => Buffer>> = {
  none: gzipSync,
  'no line end': text => gzipSync(text.trimEnd()),
  'white space': text => gzipSync(text.replaceAll('\n', ' \r\n\n')),
  'an empty file': () => gzipSync(''),
  cut: text => gzipSync(text).subarray(0, -20),
  'a line that is no JSON': text => gzipSync(`${text}{"a\n`),
  'a value that does not fit': text =>
    gzipSync(text.replace(/"followers(_c|C)ount":\d+/, '"followers$1ount":0.5')),
};

describe('the memory that a Parquet encoder holds', () => {
  it('includes rows that were added before a block until they are flushed', async () => {
    const columns = listColumns(['id', 'text']);
    const format = {
      columns,
      addRow: rowAdder(columns, 'error'),
      compression: 'snappy',
      rowGroup: 100,
    } as const;
    const encoder = new ParquetEncoder(format, undefined);
    for (const item of POSTS.slice(0, 10)) encoder.add(itemToAdd(item, undefined));
    const held = encoder.heldBytes;
    expect(held).toBeGreaterThan(10 * POSTS[0]!.id.length);
    const builder = new RowBlockBuilder(columns.map(({ type }) => type));
    format.addRow(builder, POSTS[10], undefined);
    encoder.addBlock(1, Promise.resolve(builder.take()));
    expect(encoder.heldBytes).toBeGreaterThanOrEqual(held);
    expect(encoder.room).toBe(89);
    encoder.add(itemToAdd(POSTS[11], undefined));
    expect(encoder.heldBytes).toBeGreaterThan(held);
    await encoder.flush();
    expect(encoder.heldBytes).toBeLessThan(held / 10);
    expect(encoder.room).toBe(100);
  });
});

describe('Parquet files written by threads', () => {
  it('equal files written without threads, byte for byte', async () => {
    const folder = await temporaryFolder();
    const columns = vi.spyOn(DecodedFile.prototype, 'encode');
    const chunks = vi.spyOn(Threads.prototype, 'run');
    let runs = 0;
    await fc.assert(
      fc.asyncProperty(
        fc.array(
          fc.record({
            from: fc.nat({ max: POSTS.length - 1 }),
            posts: fc.nat({ max: 80 }),
            damage: fc.oneof(
              {
                weight: 12,
                arbitrary: fc.constantFrom('none', 'no line end', 'white space', 'an empty file'),
              },
              { weight: 1, arbitrary: fc.constantFrom(...Object.keys(DAMAGES)) },
            ),
          }),
          { minLength: 1, maxLength: 8 },
        ),
        fc.record({
          template: fc.constantFrom(
            '{tag}.parquet',
            'all.parquet',
            'month={month}/{lang}-{tag}.parquet',
          ),
          rowGroup: fc.constantFrom(1, 7, 64, 100_000),
          compression: fc.constantFrom('snappy' as const, 'gzip' as const, 'none' as const),
          columns: fc.constantFrom(undefined, [
            'id',
            'text',
            'hashtags',
            'author_followers',
            'tag',
          ] as const),
          invalidValues: fc.constantFrom('error' as const, 'null' as const),
        }),
        async (files, options) => {
          const here = path.join(folder, String(runs++));
          const inputs = await store(
            path.join(here, 'in'),
            files.map(({ from, posts, damage }) =>
              DAMAGES[damage]!(linesOf(POSTS.slice(from, from + posts))),
            ),
          );
          const [expected, given] = [
            await run(inputs, path.join(here, 'main'), { ...options, workers: 0 }),
            await run(inputs, path.join(here, 'threads'), { ...options, workers: 2 }),
          ];
          expect(given.result).toEqual(expected.result);
          expect(Object.keys(given.contents)).toEqual(Object.keys(expected.contents));
          for (const [name, bytes] of Object.entries(expected.contents))
            expect(given.contents[name]!.equals(bytes), name).toBe(true);
          await rm(here, { recursive: true });
        },
      ),
      { numRuns: bySuite(2, 200) },
    );
    expect(columns).toHaveBeenCalled();
    expect(chunks).toHaveBeenCalled();
  });

  it('have more row groups if memory is short, but contain all rows', async () => {
    const folder = await temporaryFolder();
    const inputs = await store(
      path.join(folder, 'in'),
      Array.from({ length: 12 }, (_, n) => gzipSync(linesOf(POSTS.slice(30 * n, 30 * n + 30)))),
    );
    const expected = await rowsOf(
      (await run(inputs, path.join(folder, 'a'), { workers: 0 })).contents,
    );
    for (const maxHeldBytes of [1, 20_000, 100_000]) {
      const out = path.join(folder, `b${maxHeldBytes}`);
      const { contents } = await run(inputs, out, { workers: 2, maxHeldBytes });
      const given = await rowsOf(contents);
      for (const [name, file] of Object.entries(expected)) {
        const { rows, groups } = given[name] as { rows: unknown; groups: number[] };
        expect(rows).toEqual((file as { rows: unknown }).rows);
        expect(groups.length).toBeGreaterThan(1);
      }
    }
  });

  it('with a checkpoint are complete after a run that was aborted at any point is continued', async () => {
    const folder = await temporaryFolder();
    const inputs = await store(
      path.join(folder, 'in'),
      Array.from({ length: 10 }, (_, n) => gzipSync(linesOf(POSTS.slice(40 * n, 40 * n + 40)))),
    );
    const all = POSTS.slice(0, 400)
      .map(({ id }) => id)
      .toSorted();
    const flow = (out: string, signal?: AbortSignal) =>
      pipeline(
        localFiles(inputs),
        gunzip(),
        jsonLines(),
        activities(),
        parquet({
          path: path.join(out, '{lang}.parquet'),
          columns: ['id'],
          workers: 2,
          checkpoint: path.join(out, 'run.json'),
          commitIntervalMs: 0,
        }),
        { signal },
      );
    for (let commits = 0; commits < 6; commits++) {
      const out = path.join(folder, `out${commits}`);
      const stop = new AbortController();
      const spied = vi.spyOn(Threads.prototype, 'run');
      const watch = setInterval(() => {
        if (spied.mock.calls.length >= commits * 5) stop.abort(new Error('enough'));
      }, 1);
      await flow(out, stop.signal).catch(error => expect(error.message).toContain('enough'));
      clearInterval(watch);
      spied.mockRestore();
      const { posts } = await flow(out);
      expect(posts).toBe(all.length);
      const names = (await readdir(out)).filter(name => /parquet/.test(name));
      expect(names.filter(name => name.endsWith('.part'))).toEqual([]);
      const files = await rowsOf(
        Object.fromEntries(
          await Promise.all(names.map(async name => [name, await readFile(path.join(out, name))])),
        ),
      );
      const ids = Object.values(files).flatMap(file =>
        (file as { rows: { id: string }[] }).rows.map(({ id }) => id),
      );
      expect(ids.toSorted()).toEqual(all);
    }
  });

  it('cause a typed error if the encoding thread exits', async () => {
    const folder = await temporaryFolder();
    const inputs = await store(path.join(folder, 'in'), [gzipSync(linesOf(POSTS))]);
    const failing = vi
      .spyOn(Threads.prototype, 'run')
      .mockImplementation(async (_task, _input, path) => {
        throw new StorageError('ended', { path });
      });
    const { result, contents } = await run(inputs, path.join(folder, 'out'), { workers: 2 });
    failing.mockRestore();
    expect(result).toMatchObject({ code: 'ERR_STORAGE' });
    expect(contents).toEqual({});
  });
});
