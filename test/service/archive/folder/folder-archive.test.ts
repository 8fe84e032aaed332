import { readdir } from 'node:fs/promises';
import path from 'node:path';
import { gzipSync } from 'node:zlib';
import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { DataError, OptionError } from '../../../../src/base/errors.js';
import { MINUTE, SEGMENT } from '../../../../src/base/time.js';
import type { Activity } from '../../../../src/post/activity.js';
import { parseRule } from '../../../../src/rules/language/parse-rule.js';
import { bySuite } from '../../../suite.js';
import { ALWAYS, archivedPost, infoLine, jobFile, scanAll, shown } from '../archive-folder.js';
import { folders, NOON, posts, prints, raws, served } from './noon-posts.js';

describe('the archive of a folder', () => {
  test('serves the stored bytes of every post, whatever the files they are in', async () => {
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

  test('serves posts after a byte order mark and between stream notices', async () => {
    const all = posts(NOON, 20);
    const text = `\ufeff${raws(all).join('\n{"limit":{"track":1}}\n{"delete":{"status":{"id":1}}}\n')}\n`;
    const half = Buffer.from(`\ufeff${infoLine(3)}\n`);
    const folder = await folders.make({ 'a.jsonl': text, 'b.json.gz': gzipSync(half) });
    expect((await served(folder)).toSorted()).toEqual(prints(all).toSorted());
    const zipped = await folders.make({ 'a.jsonl.gz': gzipSync(text) });
    expect((await served(zipped)).toSorted()).toEqual(prints(all).toSorted());
  });

  test('names the file and the line in an error about UTF-16', async () => {
    const text = Buffer.from(`\ufeff${raws(posts(NOON, 2)).join('\n')}`, 'utf16le');
    const folder = await folders.make({ 'a.jsonl': text });
    const error = await folders.open(folder).catch(e => e);
    expect(error).toBeInstanceOf(DataError);
    expect(error.message).toContain('UTF-16');
    expect(error.position).toEqual({ origin: path.join(folder, 'a.jsonl'), line: 1 });
  });

  test('returns posts of the same second in order of their 64-bit ids', async () => {
    const [post] = posts(NOON, 1) as [Activity];
    const copies = ['9', '10', '99', '100', '18446744073709551615'].map(id =>
      post.raw.toString().replaceAll(`${post.id}`, id),
    );
    const folder = await folders.make({ 'a.jsonl': copies.join('\n') });
    const found = await scanAll(await folders.open(folder));
    expect(found.map(({ id }) => id)).toEqual(['9', '10', '99', '100', '18446744073709551615']);
    expect(found.map(shown).length).toBe(5);
  });

  test('scans posts by segment, oldest first, and skips segments without posts', async () => {
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

  test('includes posts from the start of a window, but not from its end', async () => {
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

  test('serves a duplicate post only once', async () => {
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

  test('has the format of the stored posts', async () => {
    const streams = posts(NOON, 10, 'activity_streams');
    const archive = await folders.open(await folders.make({ 'a.json.gz': jobFile(streams) }));
    expect(archive.format).toBe('activity_streams');
  });

  test('requires the option `format` if its posts have both formats, and serves only posts of that format', async () => {
    const [a, b] = [posts(NOON, 10), posts(NOON, 10, 'activity_streams')];
    const folder = await folders.make({ 'a.json.gz': jobFile(a), 'b.json.gz': jobFile(b) });
    await expect(folders.open(folder)).rejects.toThrow(/both|original and .* activity_streams/);
    await expect(folders.open(folder)).rejects.toBeInstanceOf(OptionError);
    expect(await served(folder, { format: 'original' })).toEqual(prints(a));
    expect(await served(folder, { format: 'activity_streams' })).toEqual(prints(b));
  });

  test('fails to open with a format that none of its posts have', async () => {
    const folder = await folders.make({ 'a.json.gz': jobFile(posts(NOON, 5)) });
    await expect(folders.open(folder, { format: 'activity_streams' })).rejects.toBeInstanceOf(
      OptionError,
    );
  });

  test('is empty if its files contain no posts', async () => {
    const folder = await folders.make({ 'a.json.gz': gzipSync(infoLine(0)), 'b.json': '' });
    const archive = await folders.open(folder);
    expect(archive.format).toBe('original');
    expect(await scanAll(archive)).toEqual([]);
  });
});

describe('a damaged archive of a folder', () => {
  const good = () => jobFile(posts(NOON, 5));

  test.each<[string, (file: Buffer) => Buffer | string]>([
    ['a truncated file', file => file.subarray(0, file.length - 20)],
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
  ])('fails to open with %s, and names the file', async (_, damage) => {
    const folder = await folders.make({
      'good.json.gz': good(),
      'sub/bad.json.gz': damage(good()),
    });
    const error = await folders.open(folder).catch(error => error);
    expect(error).toBeInstanceOf(DataError);
    expect(error.message).toContain(path.join('sub', 'bad.json.gz'));
    // A failed build must not leave an incomplete index.
    expect(await readdir(path.join(folder, '.millrace-index'))).toEqual([]);
  });

  test('fails to open with the number of the damaged line', async () => {
    const folder = await folders.make({
      'a.jsonl': `${raws(posts(NOON, 3)).join('\n')}\n\nnonsense\n`,
    });
    const error = await folders.open(folder).catch(error => error);
    expect(error.position.line).toBe(raws(posts(NOON, 3)).length + 2);
  });

  test('never serves wrong bytes, whichever byte is flipped', async () => {
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
          // Some bytes of the header, such as the file's date, do not affect the content.
          const found = await served(folder).catch(error => {
            expect(error).toBeInstanceOf(DataError);
            return prints(all);
          });
          expect(found).toEqual(prints(all));
        },
      ),
      { numRuns: bySuite(3, 100) },
    );
  });
});
