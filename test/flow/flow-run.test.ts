import { once } from 'node:events';
import { writeFile } from 'node:fs/promises';
import path from 'node:path';
import { gzipSync } from 'node:zlib';
import { beforeAll, describe, expect, it } from 'vitest';
import {
  DataError,
  IncompleteError,
  type MillraceError,
  StorageError,
} from '../../src/base/errors.js';
import { type Cursor, Flow } from '../../src/flow/flow.js';
import { activities } from '../../src/operators/activities.js';
import { chunk } from '../../src/operators/chunk.js';
import { dedupe } from '../../src/operators/dedupe.js';
import { gunzip } from '../../src/operators/gunzip.js';
import { jsonLines } from '../../src/operators/json-lines.js';
import { take } from '../../src/operators/take.js';
import type { Activity } from '../../src/post/activity.js';
import { concat } from '../../src/sources/concat.js';
import { localFiles } from '../../src/sources/local-files.js';
import { merge } from '../../src/sources/merge.js';
import { temporaryFolder } from '../temporary-folder.js';

const GOOD = ['{"id_str":"1"}\n', '{"id_str":"2"}\n', '{"id_str":"3"}\n', '{"id_str":"4"}\n'];

let folder: string;
beforeAll(async () => {
  folder = await temporaryFolder();
});

async function store(name: string, posts: readonly (string | Buffer)[]): Promise<string[]> {
  const paths = posts.map((_, index) => path.join(folder, `${name}-${index}.json.gz`));
  for (const [index, post] of posts.entries())
    await writeFile(paths[index] as string, typeof post === 'string' ? gzipSync(post) : post);
  return paths;
}

const postsIn = (paths: readonly string[]) =>
  activities()(jsonLines()(gunzip()(localFiles(paths))));

async function failing<T>(flow: Flow<T>): Promise<{ items: T[]; error: MillraceError }> {
  const items: T[] = [];
  try {
    for await (const item of flow) items.push(item);
  } catch (error) {
    return { items, error: error as MillraceError };
  }
  throw new Error('It did not fail');
}

const idsOf = (posts: readonly Activity[]) => posts.map(({ id }) => id);

describe('an error that ends a flow', () => {
  const damages: readonly [string, string | Buffer][] = [
    ['a line of the next file is truncated', '{"id_str":"3"\n'],
    ['a line of the next file has no id', '{"text":"no id"}\n'],
    [
      'a line of the next file is too large',
      `{"id_str":"3","text":"${'x'.repeat(16 * 1024 * 1024)}"}\n`,
    ],
    ['the next gzip file is truncated', gzipSync(GOOD[2] as string).subarray(0, 20)],
    ['the next file is not gzip', Buffer.from(GOOD[2] as string)],
  ];
  it.each(damages)('has the cursor after the last complete file if %s', async (what, damaged) => {
    const paths = await store(what, GOOD.with(2, damaged as string));
    const { items, error } = await failing(take<Activity>(100)(dedupe()(postsIn(paths))));
    expect(error).toBeInstanceOf(DataError);
    expect(idsOf(items)).toEqual(['1', '2']);
    // Repairs the file and resumes. The cursor contains the sizes of the files before the damaged
    // one.
    await store(what, GOOD);
    const resume = JSON.parse(JSON.stringify(error.cursor)) as Cursor;
    const rest: Activity[] = [];
    for await (const { items } of postsIn(paths).batches({ resume })) rest.push(...items);
    expect(idsOf(rest)).toEqual(['3', '4']);
  });

  it('has no cursor if no file is complete or the cursor could not be resumed', async () => {
    const paths = await store('first', GOOD.with(0, '{"id_str":"1"\n'));
    const second = await store('second', GOOD.with(1, '{"id_str":"1"\n'));
    expect((await failing(postsIn(paths))).error.cursor).toBeUndefined();
    expect((await failing(chunk(2)(postsIn(paths)))).error.cursor).toBeUndefined();
    // `dedupe` fails here, after the sources are joined. No run could continue from the cursor of a
    // single source, so the error has none.
    const noIds = await store('no-ids', GOOD.with(3, '{"text":"no id"}\n'));
    for (const join of [merge, concat]) {
      const both = join(postsIn(noIds), postsIn(await store('good', GOOD)));
      expect((await failing(dedupe()(both))).error.cursor).toBeUndefined();
    }
    expect((await failing(postsIn(second))).error.cursor).toMatchObject({ files: 1 });
  });

  it('has no cursor if it is the reason of an abort, because the sink may not have written all items', async () => {
    const stop = new AbortController();
    const flow = new Flow<number>(async function* ({ signal }) {
      yield { items: [1], cursor: { source: 'mine', at: 1 } };
      await once(signal, 'abort');
      throw signal.reason;
    });
    const full = new StorageError('The disk is full', { path: 'out.jsonl' });
    const reading = async () => {
      for await (const _ of take<number>(100)(flow).batches({ signal: stop.signal }))
        setTimeout(() => stop.abort(full), 10);
    };
    await expect(reading()).rejects.toBe(full);
    expect(full.cursor).toBeUndefined();
  });

  it('has the last cursor even if batches without a cursor came after it', async () => {
    const flow = new Flow<number>(async function* () {
      yield { items: [1], cursor: { source: 'mine', at: 1 } };
      yield { items: [2] };
      throw new DataError('bad');
    });
    const { items, error } = await failing(flow);
    expect(items).toEqual([1, 2]);
    expect(error.cursor).toEqual({ source: 'mine', at: 1 });
  });

  it('keeps the cursor that its source attached', async () => {
    const cursor = { source: 'mine', at: 1 };
    const ends = (error: Error) =>
      new Flow<number>(async function* () {
        yield { items: [1], cursor };
        throw error;
      });
    const own = new IncompleteError('Not all', {
      missing: ['2'],
      cursor: { source: 'mine', at: 7 },
    });
    expect((await failing(ends(own))).error.cursor).toEqual({ source: 'mine', at: 7 });
    const plain = new Error('of the caller');
    expect((await failing(ends(plain))).error).toBe(plain);
    expect(plain).not.toHaveProperty('cursor');
    expect((await failing(ends(new DataError('bad')))).error.cursor).toEqual(cursor);
  });
});
