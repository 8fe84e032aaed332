import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { parseRule } from '../../../../src/rules/language/parse-rule.js';
import { compileRule } from '../../../../src/rules/match/compile-rule.js';
import { blockRanges } from '../../../../src/service/archive/folder/folder-index.js';
import { DAY, floorTo, MINUTE } from '../../../../src/time.js';
import { original, PLAIN } from '../../../rules/match/arbitrary-matching-post.js';
import { ALWAYS, archiveFolders, jobFile } from '../archive-folder.js';

const folders = archiveFolders();

/** The numbers of the posts that a rule finds, using only the index. */
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

describe('the index alone', () => {
  test.each([
    [
      '"the new"',
      ['the new', 'new the', 'the  new', 'the-new', 'the old new', 'x the new'],
      [1, 3, 4, 6],
    ],
    ['"a b"~2', ['a b', 'b a', 'a x b', 'a x y b', 'a x y z b'], [1, 2, 3, 4]],
    ['東京', ['東京', '東 京', '京東', '東x京'], [1, 2]],
    // The newest post has the letters separately: their term looks like that of the flag.
    ['"🇩🇪 y"', ['🇩🇪 y', 'y 🇩🇪', '🇩 🇪 y'], [1]],
    ['"🇩🇪" y', ['🇩 🇪 y', '🇩🇪 y', '🇩🇪 y'], [2, 3]],
    ['"a a"', ['a', 'a a', 'a b a'], [2]],
    ['snow OR -rain', ['rain', 'snow', 'fog', 'snow rain'], [2, 3, 4]],
    ['snow -"deep snow"', ['snow', 'deep snow', 'snow deep'], [1, 3]],
  ])('distinguishes %s', async (rule, texts, expected) => {
    expect(
      await found(
        texts.map(text => ({ text })),
        rule,
      ),
    ).toEqual(expected);
  });

  test('distinguishes words of a text from words of a link', async () => {
    const link = { expanded: 'https://deep.snow.example/x', unwound: undefined };
    const drafts = [{ text: 'deep snow' }, { text: 'look', links: [link] }];
    expect(await found(drafts, '"deep snow"')).toEqual([1]);
    expect(await found(drafts, 'url:"deep snow"')).toEqual([2]);
  });

  test('does not match across two links', async () => {
    const links = ['https://a.example/deep', 'https://snow.example/b'].map(expanded => ({
      expanded,
      unwound: undefined,
    }));
    expect(await found([{ text: 'look', links }], 'url:"deep https"')).toEqual([]);
  });

  test('finds posts by the area of their place', async () => {
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

test('blocks hold every minute once, in order, within a day, up to their maximum number of posts', () => {
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
