import { mkdir, readdir, readFile, rename, stat, utimes, writeFile } from 'node:fs/promises';
import path from 'node:path';
import { gzipSync } from 'node:zlib';
import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest';
import { DataError } from '../../src/base/errors.js';
import { applyCompliance } from '../../src/compliance/apply-compliance.js';
import { openTombstones, type Tombstones } from '../../src/compliance/tombstones.js';
import { isZstd } from '../../src/gzip/zstd.js';
import { gunzip } from '../../src/operators/gunzip.js';
import { jsonLines } from '../../src/operators/json-lines.js';
import type { Activity } from '../../src/post/activity.js';
import { samplePosts } from '../../src/service/sample/sample-posts.js';
import { files } from '../../src/sinks/files.js';
import { localFiles } from '../../src/sources/local-files.js';
import { texts } from '../json/cut.js';
import { temporaryFolder } from '../temporary-folder.js';
import { ofPost } from './event.js';

vi.mock('node:zlib', async original => {
  const { zlibWithZstd } = await import('../gzip/zstd-stand-in.js');
  return zlibWithZstd(await original<typeof import('node:zlib')>());
});

const posts = samplePosts(Date.UTC(2022, 9, 3, 12), { postsPerMinute: 400 });
const [first, second] = posts as [Activity, Activity];
const textOf = (some: readonly Activity[]) => some.map(({ raw }) => String(raw));
const long = new Date('2023-01-01T00:00:00Z');
let archive: string;
let tombstones: Tombstones;

beforeEach(async () => {
  const folder = await temporaryFolder();
  archive = path.join(folder, 'archive');
  await mkdir(archive);
  tombstones = await openTombstones(path.join(folder, 'tombstones'));
});
afterEach(() => tombstones.close());

async function write(name: string, some: readonly Activity[]): Promise<string> {
  const file = path.join(archive, name);
  const sink = files({ path: `${archive}/written.jsonl.zst` });
  await sink(
    (async function* () {
      yield* some;
    })(),
  );
  await rename(`${archive}/written.jsonl.zst`, file);
  await utimes(file, long, long);
  return file;
}

const linesIn = (file: string) =>
  texts(jsonLines()(gunzip({ plain: 'pass' })(localFiles(file, { match: /./ }))));

describe('applyCompliance on zstd files', () => {
  it('rewrites files with affected posts as zstd, and no file in a second run', async () => {
    const affected = await write('1.jsonl.zst', posts);
    const other = await write('2.json.ZST', posts.slice(1));
    await tombstones.record([ofPost('delete', first.id)]);
    const report = await applyCompliance(archive, tombstones);
    expect(report).toEqual({
      files: 2,
      posts: posts.length * 2 - 1,
      removed: { deleted: 1 },
      changed: 0,
      rewritten: [{ path: affected, removed: 1, changed: 0 }],
    });
    expect(isZstd(await readFile(affected))).toBe(true);
    expect(await linesIn(affected)).toEqual(textOf(posts.slice(1)));
    expect((await stat(other)).mtime).toEqual(long);
    expect((await readdir(archive)).toSorted()).toEqual(['1.jsonl.zst', '2.json.ZST']);
    const written = await readFile(affected);
    expect((await applyCompliance(archive, tombstones)).rewritten).toEqual([]);
    expect(written.equals(await readFile(affected))).toBe(true);
  });

  it('keeps each file plain, gzip or zstd as it was, whatever its name', async () => {
    const zstd = await write('zstd.zst', posts);
    const unnamed = await write('zstd.data', posts);
    const gzip = path.join(archive, 'gzip.zst');
    await writeFile(gzip, gzipSync(`${textOf(posts).join('\n')}\n`));
    const plain = path.join(archive, 'plain.zst');
    await writeFile(plain, `${first.raw}\n${second.raw}\n`);
    await tombstones.record([ofPost('delete', first.id)]);
    const report = await applyCompliance(archive, tombstones, { match: () => true });
    expect(report).toMatchObject({ files: 4, removed: { deleted: 4 } });
    for (const file of [zstd, unnamed]) {
      expect(isZstd(await readFile(file)), file).toBe(true);
      expect(await linesIn(file)).toEqual(textOf(posts.slice(1)));
    }
    expect([...(await readFile(gzip)).subarray(0, 2)]).toEqual([0x1f, 0x8b]);
    expect(await linesIn(gzip)).toEqual(textOf(posts.slice(1)));
    expect(await readFile(plain, 'utf8')).toBe(`${second.raw}\n`);
  });

  it('writes a valid zstd file if every post is removed', async () => {
    const file = await write('1.jsonl.zst', [first]);
    await tombstones.record([ofPost('delete', first.id)]);
    expect(await applyCompliance(archive, tombstones)).toMatchObject({ removed: { deleted: 1 } });
    expect(isZstd(await readFile(file))).toBe(true);
    expect(await texts(jsonLines()(gunzip()(localFiles(file))))).toEqual([]);
    expect(await applyCompliance(archive, tombstones)).toMatchObject({ files: 1, posts: 0 });
  });

  it('leaves a damaged file unchanged and reports its name', async () => {
    const file = await write('1.jsonl.zst', posts);
    const cut = (await readFile(file)).subarray(0, -1);
    await writeFile(file, cut);
    await tombstones.record([ofPost('delete', first.id)]);
    const error = await applyCompliance(archive, tombstones).catch(e => e);
    expect(error).toBeInstanceOf(DataError);
    expect(error.message).toMatch(/cut short.*1\.jsonl\.zst/);
    expect(cut.equals(await readFile(file))).toBe(true);
    expect(await readdir(archive)).toEqual(['1.jsonl.zst']);
  });
});
