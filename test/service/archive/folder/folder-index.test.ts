import { createHash } from 'node:crypto';
import { mkdir, readdir, readFile, rename, stat, utimes, writeFile } from 'node:fs/promises';
import path from 'node:path';
import fc from 'fast-check';
import { describe, expect, test, vi } from 'vitest';
import { StorageError } from '../../../../src/base/errors.js';
import { DAY, floorTo, MINUTE, SEGMENT } from '../../../../src/base/time.js';
import { parseRule } from '../../../../src/rules/language/parse-rule.js';
import { compileRule } from '../../../../src/rules/match/compile-rule.js';
import {
  type IndexedOperators,
  indexedOperators,
} from '../../../../src/rules/operators/post-terms.js';
import { dialectOf } from '../../../../src/rules/post/dialect.js';
import { listFiles } from '../../../../src/service/archive/folder/folder-files.js';
import { blockRanges, indexName } from '../../../../src/service/archive/folder/folder-index.js';
import { original, PLAIN } from '../../../rules/match/arbitrary-matching-post.js';
import { ALWAYS, addFiles, jobFile, scanAll } from '../archive-folder.js';
import { folders, NOON, posts, prints, raws, served } from './noon-posts.js';

/** Returns the positions, from 1, of the posts that a rule finds by the index alone. */
async function found(drafts: readonly Partial<typeof PLAIN>[], text: string): Promise<number[]> {
  const activities = drafts.map((draft, i) => original({ ...PLAIN, ...draft, id: String(i + 1) }));
  const { tree } = parseRule(text);
  if (tree === undefined) throw new Error(`Not a rule: ${text}`);
  const matches = compileRule(tree, { product: 'search' });
  const archive = await folders.open(await folders.make({ 'a.json.gz': jobFile(activities) }));
  const unread = { tree, matches: () => expect.fail('a post was read') };
  const { posts } = await archive.search(unread, ALWAYS, { limit: 500 });
  const ids = posts.map(({ id }) => Number(id)).toSorted((a, b) => a - b);
  expect(ids).toEqual(activities.filter(matches).map(({ id }) => Number(id)));
  return ids;
}

describe('the search of a folder archive, which reads only the index,', () => {
  test.each([
    [
      '"the new"',
      ['the new', 'new the', 'the  new', 'the-new', 'the old new', 'x the new'],
      [1, 3, 4, 6],
    ],
    ['"a b"~2', ['a b', 'b a', 'a x b', 'a x y b', 'a x y z b'], [1, 2, 3, 4]],
    ['東京', ['東京', '東 京', '京東', '東x京'], [1, 2]],
    // In the newest post, a space separates the two letters of the flag. The index has the same
    // term for this pair of letters as for the flag.
    ['"🇩🇪 y"', ['🇩🇪 y', 'y 🇩🇪', '🇩 🇪 y'], [1]],
    ['🇩🇪', ['🇩 🇪', '🇩🇪'], [2]],
    ['"🇩🇪" y', ['🇩 🇪 y', '🇩🇪 y', '🇩🇪 y'], [2, 3]],
    ['"a a"', ['a', 'a a', 'a b a'], [2]],
    ['snow OR -rain', ['rain', 'snow', 'fog', 'snow rain'], [2, 3, 4]],
    ['snow -"deep snow"', ['snow', 'deep snow', 'snow deep'], [1, 3]],
  ])('tells apart the variants of %s', async (rule, texts, expected) => {
    expect(
      await found(
        texts.map(text => ({ text })),
        rule,
      ),
    ).toEqual(expected);
  });

  test('tells apart words in the text and words in a link', async () => {
    const link = { expanded: 'https://deep.snow.example/x', unwound: undefined };
    const drafts = [{ text: 'deep snow' }, { text: 'look', links: [link] }];
    expect(await found(drafts, '"deep snow"')).toEqual([1, 2]);
    expect(await found(drafts, '"deep snow"~1')).toEqual([1]);
    expect(await found(drafts, 'url:"deep snow"')).toEqual([2]);
  });

  test('does not match a phrase that spans two links', async () => {
    const links = ['https://a.example/deep', 'https://snow.example/b'].map(expanded => ({
      expanded,
      unwound: undefined,
    }));
    expect(await found([{ text: 'look', links }], 'url:"deep https"')).toEqual([]);
  });

  test('finds posts by the area of the tagged place', async () => {
    const place = (corner: readonly [number, number]) => ({
      id: 'x',
      name: 'Here',
      country: 'US',
      corner,
    });
    const drafts = [
      { position: [-105.27, 40.01] as const },
      { position: [0, 0] as const },
      { place: place([-105.27, 40.01]) },
      { place: place([0, 0]) },
      {},
    ];
    expect(await found(drafts, 'point_radius:[-105.27 40.01 20mi]')).toEqual([1, 3]);
    expect(await found(drafts, 'point_radius:[0 0 20mi]')).toEqual([2, 4]);
    expect(await found(drafts, 'bounding_box:[-105.4 39.9 -105.1 40.2]')).toEqual([1, 3]);
    expect(await found(drafts, 'bounding_box:[100 10 100.1 10.1]')).toEqual([]);
    expect(await found(drafts, 'place:here -point_radius:[0 0 20mi]')).toEqual([3]);
  });
});

test('blockRanges covers every minute once, in order, within a day and a maximum number of posts', () => {
  const counts = fc
    .uniqueArray(fc.tuple(fc.nat(5 * 1440), fc.integer({ min: 1, max: 30 })), {
      selector: ([minute]) => minute,
    })
    .map(entries => new Map(entries.map(([minute, count]) => [minute * MINUTE, count])));
  fc.assert(
    fc.property(counts, fc.integer({ min: 1, max: 100 }), (counts, most) => {
      const ranges = [...blockRanges(counts, most)];
      let end = 0;
      let held = 0;
      for (const { from, to } of ranges) {
        expect(from).toBeGreaterThanOrEqual(end);
        expect(floorTo(DAY, from)).toBe(floorTo(DAY, to - 1));
        const minutes = [...counts].filter(([minute]) => minute >= from && minute < to);
        const posts = minutes.reduce((sum, [, count]) => sum + count, 0);
        expect(posts <= most || minutes.length === 1).toBe(true);
        expect(minutes.length).toBeGreaterThan(0);
        held += minutes.length;
        end = to;
      }
      expect(held).toBe(counts.size);
    }),
  );
});

describe('the index of an archive of a folder', () => {
  const indexes = (folder: string) => readdir(path.join(folder, '.millrace-index'));

  test('is built once and then reused', async () => {
    const folder = await folders.make({
      'a.json.gz': jobFile(posts(NOON, 5)),
      'b.json.gz': jobFile(posts(NOON + SEGMENT, 5)),
    });
    await folders.open(folder);
    const [name = ''] = await indexes(folder);
    const file = path.join(folder, '.millrace-index', name, 'index.json');
    const made = await stat(file);
    await folders.open(folder);
    expect(await indexes(folder)).toEqual([name]);
    const used = await stat(file);
    expect([used.ino, used.mtimeMs]).toEqual([made.ino, made.mtimeMs]);
  });

  const scannedTwice = async () => {
    const folder = await folders.make({ 'a.json.gz': jobFile(posts(NOON, 20)) });
    const file = path.join(folder, 'a.json.gz');
    const fileNow = async () => [await readFile(file), (await stat(file)).mtimeMs];
    const indexNow = async () => {
      const names = await indexes(folder);
      const { mtimeMs } = await stat(path.join(folder, '.millrace-index', names[0] as string));
      return { names, mtimeMs };
    };
    const before = await fileNow();
    await scanAll(await folders.open(folder));
    const made = await indexNow();
    await scanAll(await folders.open(folder));
    return { before, after: await fileNow(), made, again: await indexNow() };
  };

  test('is written into the folder', async () => {
    const { made, again } = await scannedTwice();
    expect(made.names).toHaveLength(1);
    expect(again).toEqual(made);
  });

  test('does not change any stored file of the folder', async () => {
    const { before, after } = await scannedTwice();
    expect(after).toEqual(before);
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

  test('is rebuilt when a file has a new modification time but the same size', async () => {
    const [a, b] = [posts(NOON, 1), posts(NOON, 1).toReversed()];
    const folder = await folders.make({ 'a.jsonl': raws(a).join('\n') });
    await served(folder);
    const [before] = await indexes(folder);
    await writeFile(path.join(folder, 'a.jsonl'), raws(b).join('\n'));
    await utimes(path.join(folder, 'a.jsonl'), 1, 1);
    await served(folder);
    expect(await indexes(folder)).not.toEqual([before]);
  });

  test('is written into the temporary folder of the system if the folder is read-only', async () => {
    const all = posts(NOON, 5);
    // The index cannot be written, because a file has the name of its folder. A read-only folder
    // would not stop root.
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

  test('is rebuilt if an earlier version wrote it, and the old files are removed', async () => {
    const all = posts(NOON, 5);
    const folder = await folders.make({ 'a.json.gz': jobFile(all) });
    await served(folder);
    const [name] = await indexes(folder);
    const earlier = createHash('sha256')
      .update(JSON.stringify([4, await listFiles(folder)]))
      .digest('hex')
      .slice(0, 24);
    const inFolder = (...names: string[]) => path.join(folder, '.millrace-index', ...names);
    await rename(inFolder(name as string), inFolder(earlier));
    const { files, formats } = JSON.parse(await readFile(inFolder(earlier, 'index.json'), 'utf8'));
    const [block] = formats.original;
    const earlierFormats = {
      original: { posts: block.posts, blocks: [block] },
      activity_streams: { posts: 0, blocks: [] },
    };
    await writeFile(
      inFolder(earlier, 'index.json'),
      JSON.stringify({ files, formats: earlierFormats }),
    );
    await writeFile(inFolder(earlier, block.name), 'mrblock2');
    expect(await served(folder)).toEqual(prints(all));
    expect(await indexes(folder)).toEqual([name]);
  });

  test('has another file name if an operator that needs index terms is added or removed', async () => {
    const folder = await folders.make({ 'a.json.gz': jobFile(posts(NOON, 5)) });
    await served(folder);
    const files = await listFiles(folder);
    const operators = indexedOperators(dialectOf('search'));
    expect(await indexes(folder)).toEqual([indexName(files, operators)]);
    const { keys, fields, trigrams, flags } = operators;
    const prefix = 'new:';
    const changed: readonly Partial<IndexedOperators>[] = [
      { keys: [...keys, { prefix, keys: () => [] }] },
      { fields: [...fields, { prefix, texts: () => [] }] },
      { trigrams: [...trigrams, { prefix, of: 'text' }] },
      { flags: [...flags, { term: 'is:new', test: () => true }] },
      { keys: keys.slice(1) },
      { flags: flags.slice(1) },
    ];
    const names = changed.map(change => indexName(files, { ...operators, ...change }));
    expect(new Set([indexName(files), ...names]).size).toBe(changed.length + 1);
  });

  test('is not used for a file that changes while the archive is open', async () => {
    const folder = await folders.make({ 'a.json.gz': jobFile(posts(NOON, 5)) });
    const archive = await folders.open(folder);
    await addFiles(folder, { 'a.json.gz': jobFile(posts(NOON + MINUTE, 5)) });
    await expect(scanAll(archive)).rejects.toBeInstanceOf(StorageError);
  });
});
