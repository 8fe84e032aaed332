import { mkdir, readdir, readFile, stat, utimes, writeFile } from 'node:fs/promises';
import path from 'node:path';
import { gzipSync } from 'node:zlib';
import fc from 'fast-check';
import { describe, expect, test, vi } from 'vitest';
import type { Activity } from '../../../../src/activity/activity.js';
import { DataError, OptionError, StorageError } from '../../../../src/errors.js';
import { parseRule } from '../../../../src/rules/language/parse-rule.js';
import { samplePosts } from '../../../../src/service/sample/sample-posts.js';
import { files } from '../../../../src/sinks/files.js';
import { MINUTE, SEGMENT } from '../../../../src/time.js';
import { bySuite } from '../../../slow-suite.js';
import {
  ALWAYS,
  addFiles,
  archivedPost,
  archiveFolders,
  infoLine,
  jobFile,
  print,
  scanAll,
  shown,
} from '../archive-folder.js';

const folders = archiveFolders();
const NOON = Date.UTC(2024, 4, 1, 12);
const RATE = { postsPerMinute: 2 };

const posts = (
  from: number,
  minutes: number,
  format: 'original' | 'activity_streams' = 'original',
) =>
  Array.from({ length: minutes }, (_, i) =>
    samplePosts(from + i * MINUTE, { ...RATE, format }),
  ).flat();
const raws = (activities: readonly Activity[]) => activities.map(post => post.raw.toString());
const prints = (activities: readonly Activity[]) => activities.map(print);
const served = async (...args: Parameters<typeof folders.open>) =>
  prints((await scanAll(await folders.open(...args))).map(post => post.activity));

describe('a folder of files as an archive', () => {
  test('serves the stored bytes of every post, for any layout of files', async () => {
    const all = posts(NOON, 60);
    const [a, b, c, d, e] = [0, 1, 2, 3, 4].map(i =>
      all.filter((_, n) => n % 5 === i),
    ) as Activity[][];
    const folder = await folders.make({
      '20240501/1200.json.gz': jobFile(a as Activity[]),
      '20130722-20130722_abcdefghij_2013_07_22_15_00_activities.json.gz': jobFile(b as Activity[]),
      'deep/er/anything.jsonl': raws(c as Activity[]).join('\r\n'),
      'plain.json': `\n\n${raws(d as Activity[]).join('\n\n \n')}\n${infoLine(3)}`,
      'members.json.gz': Buffer.concat((e as Activity[]).map(post => gzipSync(`${post.raw}\n`))),
      'results.csv': 'not read',
      '.hidden/x.json': 'not read',
    });
    expect((await served(folder)).toSorted()).toEqual(prints(all).toSorted());
  });

  test('serves what files() has written, without its checkpoint', async () => {
    const all = posts(NOON, 10);
    const folder = await folders.make({});
    await files({ path: `${folder}/{day}.jsonl.gz`, checkpoint: `${folder}/checkpoint.json` })(
      (async function* () {
        yield* all;
      })(),
    );
    expect(await readdir(folder)).toContain('checkpoint.json');
    expect((await served(folder)).toSorted()).toEqual(prints(all).toSorted());
    const [index] = await readdir(path.join(folder, '.millrace-index'));
    // A run that goes on replaces its checkpoint: the posts, and so the index, are the same.
    await utimes(path.join(folder, 'checkpoint.json'), 1, 1);
    await served(folder);
    expect(await readdir(path.join(folder, '.millrace-index'))).toEqual([index]);
    await addFiles(folder, { 'notes.json': '{\n  "version": 1\n}\n' });
    await expect(folders.open(folder)).rejects.toThrow('notes.json');
  });

  test('scans by segment, oldest first, and leaves out segments without posts', async () => {
    const all = [...posts(NOON, 25), ...posts(NOON + 5 * SEGMENT, 10)];
    const folder = await folders.make({ 'a.json.gz': jobFile(all.toReversed()) });
    const archive = await folders.open(folder);
    const segments: { segment: number; ids: string[] }[] = [];
    for await (const { segment, posts } of archive.scan(ALWAYS)) {
      segments.push({ segment, ids: posts.map(post => post.id) });
      for (const { at } of posts) expect(Math.floor(at / SEGMENT) * SEGMENT).toBe(segment);
    }
    expect(segments.map(({ segment }) => (segment - NOON) / SEGMENT)).toEqual([0, 1, 2, 5]);
    expect(segments.flatMap(({ ids }) => ids)).toEqual(all.map(post => post.id));
  });

  test('includes the start of a window and excludes its end', async () => {
    const all = posts(NOON, 30);
    const archive = await folders.open(await folders.make({ 'a.json.gz': jobFile(all) }));
    const middle = archivedPost(all[20] as Activity).at;
    const before = await scanAll(archive, { from: NOON, to: middle });
    const after = await scanAll(archive, { from: middle, to: NOON + 30 * MINUTE });
    expect(before.every(post => post.at < middle)).toBe(true);
    expect(after[0]?.at).toBe(middle);
    expect(before.length + after.length).toBe(all.length);
    expect(await scanAll(archive, { from: middle, to: middle })).toEqual([]);
  });

  test('serves a post once, even if it occurs several times', async () => {
    const all = posts(NOON, 20);
    const folder = await folders.make({
      'a.json.gz': jobFile(all),
      'b.json.gz': jobFile([...all, ...all]),
      'c.jsonl': raws(all.toReversed()).join('\n'),
    });
    const archive = await folders.open(folder);
    expect(prints((await scanAll(archive)).map(post => post.activity))).toEqual(prints(all));
    const { tree } = parseRule('has:mentions OR -has:mentions');
    const rule = { tree: tree as NonNullable<typeof tree>, matches: () => true };
    const { posts: found } = await archive.search(rule, ALWAYS, { limit: 500 });
    expect(found.length).toBe(all.length);
    const { buckets } = await archive.counts(rule, { from: NOON, to: NOON + 60 * MINUTE }, MINUTE);
    expect(buckets.reduce((sum, { count }) => sum + count, 0)).toBe(all.length);
  });

  test('has the format of its posts', async () => {
    const streams = posts(NOON, 10, 'activity_streams');
    const archive = await folders.open(await folders.make({ 'a.json.gz': jobFile(streams) }));
    expect(archive.format).toBe('activity_streams');
  });

  test('requires a format if it has both, and then serves the posts of that format', async () => {
    const [a, b] = [posts(NOON, 10), posts(NOON, 10, 'activity_streams')];
    const folder = await folders.make({ 'a.json.gz': jobFile(a), 'b.json.gz': jobFile(b) });
    await expect(folders.open(folder)).rejects.toThrow(/both|original and .* activity_streams/);
    await expect(folders.open(folder)).rejects.toBeInstanceOf(OptionError);
    expect(await served(folder, { format: 'original' })).toEqual(prints(a));
    expect(await served(folder, { format: 'activity_streams' })).toEqual(prints(b));
  });

  test('refuses a format that none of its posts have', async () => {
    const folder = await folders.make({ 'a.json.gz': jobFile(posts(NOON, 5)) });
    await expect(folders.open(folder, { format: 'activity_streams' })).rejects.toBeInstanceOf(
      OptionError,
    );
  });

  test('is empty if its files have no posts', async () => {
    const folder = await folders.make({ 'a.json.gz': gzipSync(infoLine(0)), 'b.json': '' });
    const archive = await folders.open(folder);
    expect(archive.format).toBe('original');
    expect(await scanAll(archive)).toEqual([]);
  });

  test('is refused if it does not exist or has no files of posts', async () => {
    const folder = await folders.make({ 'readme.txt': 'hello' });
    await expect(folders.open(folder)).rejects.toBeInstanceOf(StorageError);
    await expect(folders.open(path.join(folder, 'nowhere'))).rejects.toBeInstanceOf(StorageError);
  });

  test('reads lines of a gzip file that is too large to inflate for each request', async () => {
    const all = posts(NOON, 120);
    // About 17 MB, where one line spans many chunks.
    const padded = all.map((post, i) => {
      const noise = i === 7 ? 'many '.repeat(1_000_000) : 'few '.repeat(15_000);
      return `${post.raw.toString().slice(0, -1)},"noise":"${noise}"}`;
    });
    const file = gzipSync(`\n${padded.join('\n')}\n`);
    const archive = await folders.open(await folders.make({ 'large.json.gz': file }));
    const found = await scanAll(archive);
    expect(
      found.map(({ activity }) => activity.raw.toString()).join('\n') === padded.join('\n'),
    ).toBe(true);
  });

  test('has an index that is made once and used again', async () => {
    const folder = await folders.make({
      'a.json.gz': jobFile(posts(NOON, 5)),
      'b.json.gz': jobFile(posts(NOON + SEGMENT, 5)),
    });
    await folders.open(folder);
    const indexes = path.join(folder, '.millrace-index');
    const [name = ''] = await readdir(indexes);
    const made = await stat(path.join(indexes, name, 'index.json'));
    await folders.open(folder);
    expect(await readdir(indexes)).toEqual([name]);
    const used = await stat(path.join(indexes, name, 'index.json'));
    expect([used.ino, used.mtimeMs]).toEqual([made.ino, made.mtimeMs]);
  });
});

describe('a damaged archive', () => {
  const good = () => jobFile(posts(NOON, 5));

  test.each<[string, (file: Buffer) => Buffer | string]>([
    ['a file that is cut short', file => file.subarray(0, file.length - 20)],
    [
      'a flipped byte',
      file =>
        Buffer.concat([
          file.subarray(0, 200),
          Buffer.from([(file[200] ?? 0) ^ 0x40]),
          file.subarray(201),
        ]),
    ],
    ['an empty file', () => ''],
    ['text that is named gzip', () => infoLine(0)],
    ['junk after the end', file => Buffer.concat([file, Buffer.from('junk')])],
    ['a line that is not JSON', () => gzipSync(`${posts(NOON, 1)[0]?.raw}\n{"id":1,`)],
    ['a line that is not a post', () => gzipSync('{"hello":"world"}\n')],
    [
      'a post without a time',
      () => gzipSync('{"id":1,"id_str":"1","created_at":"yesterday","text":"x","user":{"id":1}}\n'),
    ],
    ['an array', () => gzipSync('[1,2,3]\n')],
  ])('is refused for %s, with the name of the file', async (_, damage) => {
    const folder = await folders.make({
      'good.json.gz': good(),
      'sub/bad.json.gz': damage(good()),
    });
    const error = await folders.open(folder).catch(error => error);
    expect(error).toBeInstanceOf(DataError);
    expect(error.message).toContain(path.join('sub', 'bad.json.gz'));
    // No incomplete index is left.
    expect(await readdir(path.join(folder, '.millrace-index'))).toEqual([]);
  });

  test('names the line', async () => {
    const folder = await folders.make({
      'a.jsonl': `${raws(posts(NOON, 3)).join('\n')}\n\nnonsense\n`,
    });
    const error = await folders.open(folder).catch(error => error);
    expect(error.position.line).toBe(raws(posts(NOON, 3)).length + 2);
  });

  test('never serves wrong bytes, whichever byte of a file is flipped', async () => {
    const all = posts(NOON, 2);
    const file = jobFile(all);
    await fc.assert(
      fc.asyncProperty(
        fc.nat(file.length - 1),
        fc.integer({ min: 1, max: 255 }),
        async (at, flip) => {
          const bytes = Buffer.from(file);
          bytes[at] = (bytes[at] as number) ^ flip;
          const folder = await folders.make({ 'a.json.gz': bytes });
          // Header bytes such as the file's date do not affect the content.
          const found = await served(folder).catch(error => {
            expect(error).toBeInstanceOf(DataError);
            return prints(all);
          });
          expect(found).toEqual(prints(all));
        },
      ),
      { numRuns: bySuite(10, 100) },
    );
  });
});

describe('the index of a folder', () => {
  const indexes = (folder: string) => readdir(path.join(folder, '.millrace-index'));

  test('is in the archive folder, is reused, and does not change the files', async () => {
    const folder = await folders.make({ 'a.json.gz': jobFile(posts(NOON, 20)) });
    const file = path.join(folder, 'a.json.gz');
    const before = [await readFile(file), (await stat(file)).mtimeMs];
    await scanAll(await folders.open(folder));
    const [name] = await indexes(folder);
    const made = (await stat(path.join(folder, '.millrace-index', name as string))).mtimeMs;
    await scanAll(await folders.open(folder));
    expect(await indexes(folder)).toEqual([name]);
    expect((await stat(path.join(folder, '.millrace-index', name as string))).mtimeMs).toBe(made);
    expect([await readFile(file), (await stat(file)).mtimeMs]).toEqual(before);
  });

  test('is rebuilt when a file is added, removed or changed', async () => {
    const [a, b] = [posts(NOON, 5), posts(NOON + SEGMENT, 5)];
    const folder = await folders.make({ 'a.json.gz': jobFile(a) });
    expect(await served(folder)).toEqual(prints(a));
    await addFiles(folder, { 'b.json.gz': jobFile(b) });
    expect(await served(folder)).toEqual(prints([...a, ...b]));
    await addFiles(folder, { 'a.json.gz': jobFile(a.slice(1)) });
    expect(await served(folder)).toEqual(prints([...a.slice(1), ...b]));
    expect((await indexes(folder)).length).toBe(1);
  });

  test('is rebuilt when a file of the same size has another date', async () => {
    const [a, b] = [posts(NOON, 1), posts(NOON, 1).toReversed()];
    const folder = await folders.make({ 'a.jsonl': raws(a).join('\n') });
    await served(folder);
    const [before] = await indexes(folder);
    await writeFile(path.join(folder, 'a.jsonl'), raws(b).join('\n'));
    await utimes(path.join(folder, 'a.jsonl'), 1, 1);
    await served(folder);
    expect(await indexes(folder)).not.toEqual([before]);
  });

  test('is in the temporary folder if the archive is read-only', async () => {
    const all = posts(NOON, 5);
    // A file with the name of the index folder, because root may write to a read-only folder.
    const folder = await folders.make({ 'a.json.gz': jobFile(all), '.millrace-index': 'mine' });
    const elsewhere = await folders.make({});
    vi.stubEnv('TMPDIR', elsewhere);
    expect(await served(folder)).toEqual(prints(all));
    vi.unstubAllEnvs();
    expect(await readFile(path.join(folder, '.millrace-index'), 'utf8')).toBe('mine');
    expect((await readdir(elsewhere)).length).toBe(1);
  });

  test('can be built by two processes at the same time', async () => {
    const all = posts(NOON, 20);
    const folder = await folders.make({ 'a.json.gz': jobFile(all) });
    const found = await Promise.all([served(folder), served(folder), served(folder)]);
    for (const one of found) expect(one).toEqual(prints(all));
  });

  test('is rebuilt when it is damaged or incomplete', async () => {
    const all = posts(NOON, 5);
    const folder = await folders.make({ 'a.json.gz': jobFile(all) });
    await served(folder);
    const [name] = await indexes(folder);
    await writeFile(
      path.join(folder, '.millrace-index', name as string, 'index.json'),
      '{"files":',
    );
    await mkdir(path.join(folder, '.millrace-index', 'old.making'));
    await utimes(path.join(folder, '.millrace-index', 'old.making'), 1, 1);
    expect(await served(folder)).toEqual(prints(all));
    expect(await indexes(folder)).toEqual([name]);
  });

  test('is not used for a file that changes while the archive is open', async () => {
    const folder = await folders.make({ 'a.json.gz': jobFile(posts(NOON, 5)) });
    const archive = await folders.open(folder);
    await addFiles(folder, { 'a.json.gz': jobFile(posts(NOON + MINUTE, 5)) });
    await expect(scanAll(archive)).rejects.toBeInstanceOf(StorageError);
  });

  test('continues after the post with the given id within one second', async () => {
    const [post] = posts(NOON, 1) as [Activity];
    const copies = ['9', '10', '99', '100', '18446744073709551615'].map(id =>
      post.raw.toString().replaceAll(`${post.id}`, id),
    );
    const folder = await folders.make({ 'a.jsonl': copies.join('\n') });
    const found = await scanAll(await folders.open(folder));
    expect(found.map(({ id }) => id)).toEqual(['9', '10', '99', '100', '18446744073709551615']);
    expect(found.map(shown).length).toBe(5);
  });
});
