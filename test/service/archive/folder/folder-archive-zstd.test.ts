import { readdir, readFile, writeFile } from 'node:fs/promises';
import path from 'node:path';
import { gzipSync } from 'node:zlib';
import { afterEach, describe, expect, test, vi } from 'vitest';
import { DataError } from '../../../../src/base/errors.js';
import { MINUTE } from '../../../../src/base/time.js';
import { Activity } from '../../../../src/post/activity.js';
import { samplePosts } from '../../../../src/service/sample/sample-posts.js';
import { files } from '../../../../src/sinks/files.js';
import { archiveFolders, infoLine, jobFile, print, scanAll } from '../archive-folder.js';

vi.mock('node:zlib', async original => {
  const { zlibWithZstd } = await import('../../../gzip/zstd-stand-in.js');
  return zlibWithZstd(await original<typeof import('node:zlib')>());
});

const folders = archiveFolders();
const NOON = Date.UTC(2024, 4, 1, 12);
const posts = Array.from({ length: 30 }, (_, i) =>
  samplePosts(NOON + i * MINUTE, { postsPerMinute: 2 }),
).flat();
const prints = (activities: readonly Activity[]) => activities.map(print);
const served = async (folder: string) =>
  prints((await scanAll(await folders.open(folder))).map(post => post.activity));

async function zstdFile(some: readonly Activity[]): Promise<Buffer> {
  const folder = await folders.make({});
  const sink = files({ path: `${folder}/posts.jsonl.zst` });
  await sink(
    (async function* () {
      yield* some;
    })(),
  );
  return readFile(`${folder}/posts.jsonl.zst`);
}

function padded(post: Activity, noise: string): string {
  return `${post.raw.toString().slice(0, -1)},"noise":"${noise}"}`;
}

describe('an archive of a folder with zstd files', () => {
  test('serves the stored bytes of every post', async () => {
    const [a, b, c, d, e, f] = [0, 1, 2, 3, 4, 5].map(i => posts.filter((_, n) => n % 6 === i)) as [
      Activity[],
      Activity[],
      Activity[],
      Activity[],
      Activity[],
      Activity[],
    ];
    const folder = await folders.make({
      '20240501.jsonl.zst': await zstdFile(a),
      'deep/er/1200.json.ZST': await zstdFile(b),
      'frames.ndjson.zst': Buffer.concat(await Promise.all(c.map(post => zstdFile([post])))),
      'zstd without an ending for it.jsonl': await zstdFile(d),
      'gzip.json.gz': jobFile(e),
      'plain.jsonl': f.map(({ raw }) => `${raw}\n`).join(''),
      'results.csv.zst': 'not read',
    });
    expect((await served(folder)).toSorted()).toEqual(prints(posts).toSorted());
    // The first call has built an index, so this call reads the posts from the index.
    expect((await served(folder)).toSorted()).toEqual(prints(posts).toSorted());
  });

  test('reads lines of a file that is too large to be inflated for each request', async () => {
    const lines = posts
      .slice(0, 40)
      .map((post, i) => padded(post, (i === 7 ? 'many ' : 'few ').repeat(i === 7 ? 1e6 : 8e4)));
    const folder = await folders.make({
      'large.jsonl.zst': await zstdFile(lines.map(line => new Activity(Buffer.from(line)))),
    });
    const archive = await folders.open(folder);
    const [index] = await readdir(path.join(folder, '.millrace-index'));
    // The index contains a copy of the text. Unlike the zstd file, this copy can be read in parts.
    expect(await readdir(path.join(folder, '.millrace-index', `${index}`))).toContain('0.text');
    const found = (await scanAll(archive)).map(({ activity }) => activity.raw.toString());
    expect(found.join('\n') === lines.join('\n')).toBe(true);
  });

  test('rebuilds its index if a zstd file is added', async () => {
    const folder = await folders.make({ 'a.json.gz': jobFile(posts.slice(0, 9)) });
    expect(await served(folder)).toEqual(prints(posts.slice(0, 9)));
    await writeFile(path.join(folder, 'b.jsonl.zst'), await zstdFile(posts.slice(9)));
    expect(await served(folder)).toEqual(prints(posts));
  });

  test.each<[string, RegExp, (file: Buffer) => Buffer | string]>([
    ['a truncated file', /cut short/, file => file.subarray(0, -1)],
    ['an empty file', /named \.zst but is empty/, () => ''],
    ['text that is named zstd', /named \.zst but is not zstd/, () => infoLine(0)],
    ['gzip that is named zstd', /named \.zst but is not zstd/, () => gzipSync(infoLine(0))],
    ['junk after the end', /follows the end/, file => Buffer.concat([file, Buffer.from('junk')])],
  ])('fails to open with %s, and names the file', async (_, message, damage) => {
    const file = await zstdFile(posts);
    const folder = await folders.make({
      'good.jsonl.zst': file,
      'sub/bad.jsonl.zst': damage(file),
    });
    const error = await folders.open(folder).catch(error => error);
    expect(error).toBeInstanceOf(DataError);
    expect(error.message).toMatch(message);
    expect(error.message).toContain(path.join('sub', 'bad.jsonl.zst'));
    expect(await readdir(path.join(folder, '.millrace-index'))).toEqual([]);
  });

  test('fails to open if a zstd file is named .gz', async () => {
    const folder = await folders.make({ 'a.json.gz': await zstdFile(posts) });
    await expect(folders.open(folder)).rejects.toThrow(/named \.gz but is not gzip.*a\.json\.gz/);
  });
});

describe('an archive in a Node without zstd', () => {
  afterEach(() => {
    vi.doUnmock('node:zlib');
    vi.resetModules();
  });

  async function openWithoutZstd(folder: string) {
    vi.resetModules();
    vi.doMock('node:zlib', async original => ({
      ...(await original<typeof import('node:zlib')>()),
      createZstdCompress: undefined,
      createZstdDecompress: undefined,
      zstdCompress: undefined,
      zstdCompressSync: undefined,
    }));
    const { openFolderArchive } = await import(
      '../../../../src/service/archive/folder/folder-archive.js'
    );
    return openFolderArchive(folder);
  }

  test.each(['a folder that was never indexed', 'a folder that a Node with zstd indexed'])(
    'fails to open %s, with the first zstd file and advice in the error',
    async kind => {
      const folder = await folders.make({
        'a.json.gz': jobFile(posts.slice(0, 3)),
        'sub/b.jsonl.zst': await zstdFile(posts.slice(3)),
      });
      const isIndexed = kind.endsWith('zstd indexed');
      if (isIndexed) expect(await served(folder)).toEqual(prints(posts));
      const error = await openWithoutZstd(folder).catch(error => error);
      expect(error).toMatchObject({
        name: 'DataError',
        code: 'ERR_DATA',
        position: { origin: path.join(folder, 'sub', 'b.jsonl.zst') },
      });
      expect(error.message).toMatch(
        /from version 22\.15 on, and this is v\d.*newer Node.*`zstd -d --rm`.*b\.jsonl\.zst/,
      );
      expect((await readdir(folder)).includes('.millrace-index')).toBe(isIndexed);
    },
  );

  test('rejects a zstd file whose extension is not .zst, and names the file in the error', async () => {
    const folder = await folders.make({ 'a.jsonl': await zstdFile(posts) });
    const error = await openWithoutZstd(folder).catch(error => error);
    expect(error.code).toBe('ERR_DATA');
    expect(error.message).toMatch(/from version 22\.15 on.*a\.jsonl/);
    expect(await readdir(path.join(folder, '.millrace-index'))).toEqual([]);
    // A newer Node version with zstd may have built the index.
    expect(await served(folder)).toEqual(prints(posts));
    const archive = await openWithoutZstd(folder);
    await expect(scanAll(archive)).rejects.toThrow(/from version 22\.15 on.*a\.jsonl/);
    await archive.close();
  });

  test('serves a folder without zstd files', async () => {
    const folder = await folders.make({ 'a.json.gz': jobFile(posts) });
    const archive = await openWithoutZstd(folder);
    expect(await scanAll(archive)).toHaveLength(posts.length);
    await archive.close();
  });
});
