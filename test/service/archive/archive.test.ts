import fc from 'fast-check';
import { afterAll, beforeAll, describe, expect, onTestFinished, test, vi } from 'vitest';
import { DAY, HOUR, MINUTE, type Window } from '../../../src/base/time.js';
import { parseRule } from '../../../src/rules/language/parse-rule.js';
import { compileRule } from '../../../src/rules/match/compile-rule.js';
import type { RuleNode } from '../../../src/rules/tree.js';
import type { Archive, ArchiveQuery, SortKey } from '../../../src/service/archive/archive.js';
import { openFolderArchive } from '../../../src/service/archive/folder/folder-archive.js';
import { openSampleArchive } from '../../../src/service/sample/sample-archive.js';
import { SampleDrafts } from '../../../src/service/sample/sample-draft.js';
import { samplePosts } from '../../../src/service/sample/sample-posts.js';
import { acceptedRule } from '../../rules/arbitrary-rule.js';
import { bySuite } from '../../suite.js';
import { temporaryFolder } from '../../temporary-folder.js';
import { MemoryArchive } from '../memory-archive.js';
import { addFiles, archivedPost, jobFile, shown } from './archive-folder.js';

const START = Date.UTC(2024, 4, 1, 21);
const END = START + 6 * HOUR;
const SPAN: Window = { from: START, to: END };
const OPTIONS = { seed: 'search', postsPerMinute: 2 };

const words = [
  ...[
    'coffee',
    'the',
    'football',
    'album',
    'Türk',
    'café',
    'cafe',
    'フ',
    'コーヒー',
    'ライブ',
    '커피',
    'музыка',
  ],
  ...[
    '☕',
    '❤️',
    '❤',
    '1️⃣',
    '❤️‍🔥',
    'example',
    'https',
    'twitter',
    'rt',
    'the new',
    'kahvesi',
    'news',
    'love',
    "can't",
    'US',
    'en',
  ],
];

const rules = acceptedRule('search', {
  words,
  users: someUsers(),
  ids: samplePosts(START + 3 * HOUR, OPTIONS).map(post => post.id),
});
const windows = fc.tuple(fc.nat(8 * 60), fc.nat(8 * 60)).map(([a, b]) => ({
  from: START - HOUR + Math.min(a, b) * MINUTE,
  to: START - HOUR + Math.max(a, b) * MINUTE,
}));

function query(tree: RuleNode): ArchiveQuery {
  return { tree, matches: compileRule(tree, { product: 'search' }) };
}

function rule(text: string): ArchiveQuery {
  const { tree } = parseRule(text);
  if (tree === undefined) throw new Error(`Not a rule: ${text}`);
  return query(tree);
}

function countDrafts(): () => number {
  const { draft } = SampleDrafts.prototype;
  let drawn = 0;
  SampleDrafts.prototype.draft = function (...of) {
    drawn++;
    return draft.apply(this, of);
  };
  onTestFinished(() => {
    SampleDrafts.prototype.draft = draft;
  });
  return () => drawn;
}

function someUsers(): string[] {
  const authors = samplePosts(START + HOUR, OPTIONS).map(post => post.author);
  return authors.flatMap(({ handle, id }) => [handle, id]);
}

async function pages(archive: Archive, rule: ArchiveQuery, window: Window, limit: number) {
  const found: ReturnType<typeof shown>[] = [];
  let after: SortKey | undefined;
  while (true) {
    const { posts, more } = await archive.search(rule, window, { limit, after });
    found.push(...posts.map(shown));
    expect(posts.length === limit || !more).toBe(true);
    if (!more) return found;
    after = posts.at(-1);
  }
}

describe.each(['sample', 'folder'])('the search of a %s archive', kind => {
  const truth = { original: memory('original'), activity_streams: memory('activity_streams') };
  const archives = new Map<string, Archive>();

  function memory(format: 'original' | 'activity_streams'): MemoryArchive {
    const posts = [];
    for (let at = START; at < END; at += MINUTE)
      for (const post of samplePosts(at, { ...OPTIONS, format })) posts.push(archivedPost(post));
    return new MemoryArchive(posts, format);
  }

  beforeAll(async () => {
    for (const format of ['original', 'activity_streams'] as const) {
      if (kind === 'sample') {
        archives.set(format, openSampleArchive({ ...OPTIONS, format, now: () => END }));
        continue;
      }
      const { posts } = truth[format];
      const half = Math.floor(posts.length / 2);
      const folder = await temporaryFolder();
      await addFiles(folder, {
        'a.json.gz': jobFile(posts.slice(half - 50).map(post => post.activity)),
        'b.json.gz': jobFile(posts.slice(0, half).map(post => post.activity)),
      });
      archives.set(format, await openFolderArchive(folder));
    }
  });

  afterAll(async () => {
    for (const archive of archives.values()) await archive.close();
  });

  const cases = fc.record({
    rule: rules,
    format: fc.constantFrom('original' as const, 'activity_streams' as const),
    // Limits the windows to the time that the listed posts cover. The sample archive also has
    // earlier and later posts, which are not in the list.
    window: windows.map(({ from, to }) => ({
      from: Math.max(from, START),
      to: Math.max(Math.min(to, END), START),
    })),
  });

  test('finds the same posts on all pages as a test of every post against the rule', async () => {
    await fc.assert(
      fc.asyncProperty(
        cases,
        fc.integer({ min: 1, max: 60 }),
        async ({ rule, format, window }, limit) => {
          const archive = archives.get(format) as Archive;
          const expected = truth[format].matches(query(rule.tree), window).map(shown);
          expect(await pages(archive, query(rule.tree), window, limit)).toEqual(expected);
        },
      ),
      { numRuns: bySuite(8, 500) },
    );
  });

  test('finds as many posts as the counts say, bucket by bucket', async () => {
    await fc.assert(
      fc.asyncProperty(
        cases,
        fc.constantFrom(MINUTE, HOUR, DAY),
        async ({ rule, format, window }, bucketMs) => {
          const archive = archives.get(format) as Archive;
          const { buckets, counted } = await archive.counts(query(rule.tree), window, bucketMs);
          const expected = await truth[format].counts(query(rule.tree), window, bucketMs);
          expect(buckets).toEqual(expected.buckets);
          expect(counted).toEqual(window);
        },
      ),
      { numRuns: bySuite(8, 500) },
    );
  });

  test('reads no post if the index terms decide the match', async () => {
    const archive = archives.get('original') as Archive;
    for (const text of [
      'coffee',
      'coffee lang:en -is:retweet',
      '(#coffee OR has:media) -lang:ja',
      'coffee from:nobody1',
    ]) {
      const { tree, matches } = rule(text);
      let asked = 0;
      const counted = await archive.counts({ tree, matches: () => ++asked > 0 }, SPAN, HOUR);
      expect(asked).toBe(0);
      const expected = await truth.original.counts({ tree, matches }, SPAN, HOUR);
      expect(counted.buckets).toEqual(expected.buckets);
    }
  });

  test('stops counting at a deadline, with the newest or the oldest part of the window complete', async () => {
    const archive = archives.get('original') as Archive;
    for (const newestFirst of [true, false]) {
      let now = 0;
      const clock = vi.spyOn(performance, 'now').mockImplementation(() => ++now);
      const options = { deadlineMs: 4, newestFirst };
      const { buckets, counted } = await archive.counts(rule('sample:99'), SPAN, DAY, options);
      clock.mockRestore();
      expect(newestFirst ? counted.to : counted.from).toBe(newestFirst ? END : START);
      expect(counted.from).toBeLessThan(counted.to);
      expect(counted.to - counted.from).toBeLessThan(END - START);
      const expected = await truth.original.counts(rule('sample:99'), counted, DAY);
      expect(buckets).toEqual(expected.buckets);
    }
  });

  test('scans only the posts whose id and time are requested', async () => {
    for (const [format, archive] of archives) {
      const wanted = ({ id, at }: SortKey) => id.endsWith('7') && at % HOUR >= 10 * MINUTE;
      const scanned: ReturnType<typeof shown>[] = [];
      for await (const { posts } of archive.scan(SPAN, { wanted })) {
        expect(posts).not.toHaveLength(0);
        scanned.push(...posts.map(shown));
      }
      const expected = truth[format as keyof typeof truth].posts.toReversed().filter(wanted);
      expect(scanned).toEqual(expected.map(shown));
      expect(expected.length).toBeGreaterThan(30);
    }
  });

  test('rejects with the reason of an abort', async () => {
    const archive = archives.get('original') as Archive;
    const reason = new Error('enough');
    const signal = AbortSignal.abort(reason);
    await expect(archive.search(rule('coffee'), SPAN, { limit: 10, signal })).rejects.toBe(reason);
    await expect(archive.counts(rule('coffee'), SPAN, HOUR, { signal })).rejects.toBe(reason);
    await expect(archive.scan(SPAN, { signal })[Symbol.asyncIterator]().next()).rejects.toBe(
      reason,
    );
  });
});

describe('the archive of generated posts', () => {
  test('returns the minutes of samplePosts in segments of ten minutes', async () => {
    const archive = openSampleArchive({ ...OPTIONS, now: () => END });
    for await (const { segment, posts } of archive.scan({ from: START, to: START + HOUR })) {
      const minutes = Array.from({ length: 10 }, (_, i) =>
        samplePosts(segment + i * MINUTE, OPTIONS),
      );
      expect(posts.map(post => post.activity.raw.toString())).toEqual(
        minutes.flat().map(post => post.raw.toString()),
      );
    }
  });

  test('counts as many posts as a search finds, at 60 posts a minute', async () => {
    const archive = openSampleArchive({ postsPerMinute: 60, now: () => END });
    await fc.assert(
      fc.asyncProperty(rules, windows, async ({ tree }, { from, to }) => {
        const window = { from, to: Math.min(to, from + 20 * MINUTE) };
        const { buckets } = await archive.counts(query(tree), window, MINUTE);
        const found = await pages(archive, query(tree), window, 500);
        expect(buckets.reduce((sum, { count }) => sum + count, 0)).toBe(found.length);
      }),
      { numRuns: bySuite(5, 200) },
    );
  });

  test('generates each post of a week only once, even if several words are counted', async () => {
    const archive = openSampleArchive({ postsPerMinute: 12, now: () => END });
    const week = { from: END - 7 * DAY, to: END };
    const drawn = countDrafts();
    const { counted } = await archive.counts(rule('coffee -is:retweet'), week, DAY);
    expect(counted).toEqual(week);
    expect(drawn()).toBeLessThan(7 * 24 * 60 * 13);
    await archive.counts(rule('football lang:en'), week, DAY);
    expect(drawn()).toBeLessThan(7 * 24 * 60 * 13);
  });

  test('generates no post to search for a word that no generated post has', async () => {
    const archive = openSampleArchive({ seed: 'absent', postsPerMinute: 1, now: () => END });
    const day = { from: END - DAY, to: END };
    const drawn = countDrafts();
    const { posts } = await archive.search(rule('unbelievably'), day, { limit: 10 });
    expect(posts).toEqual([]);
    expect(drawn()).toBe(0);
    await archive.search(rule('coffee'), day, { limit: 10 });
    expect(drawn()).toBeGreaterThan(0);
  });

  test('generates posts once for all archives with the same settings', async () => {
    const open = (seed: string) => openSampleArchive({ seed, postsPerMinute: 1, now: () => END });
    const day = { from: END - DAY, to: END };
    const drawn = countDrafts();
    const [first, second] = [open('shared'), open('shared')];
    const { buckets } = await first.counts(rule('coffee'), day, DAY);
    const once = drawn();
    expect(once).toBeGreaterThan(1_000);
    expect((await second.counts(rule('coffee'), day, DAY)).buckets).toEqual(buckets);
    expect(drawn()).toBe(once);
    await first.close();
    await second.counts(rule('football'), day, DAY);
    expect(drawn()).toBe(once);
    await open('other').counts(rule('coffee'), day, DAY);
    expect(drawn()).toBeGreaterThan(once);
  });

  test('contains no posts from the future, and new posts as time passes', async () => {
    let now = START + 10 * MINUTE + 30_000;
    const archive = openSampleArchive({ ...OPTIONS, postsPerMinute: 60, now: () => now });
    const newest = async () => {
      const { posts } = await archive.search(
        rule('has:mentions'),
        { from: START, to: END },
        { limit: 1 },
      );
      return posts[0]?.at ?? 0;
    };
    const first = await newest();
    expect(first).toBeLessThanOrEqual(now);
    expect(first).toBeGreaterThan(now - MINUTE);
    now += HOUR;
    expect(await newest()).toBeGreaterThan(now - MINUTE);
  });

  test('starts on 21 March 2006', async () => {
    const archive = openSampleArchive({ ...OPTIONS, now: () => END });
    const window = { from: 0, to: Date.UTC(2006, 2, 21, 1) };
    const { posts, more } = await archive.search(rule('lang:en OR -lang:en'), window, {
      limit: 500,
    });
    expect(more).toBe(false);
    expect(posts.at(-1)?.at).toBeGreaterThanOrEqual(Date.UTC(2006, 2, 21));
    expect(posts.length).toBeGreaterThan(60);
  });

  test('finds a page of posts within the newest minute if that minute has enough posts', async () => {
    const archive = openSampleArchive({ seed: 1, postsPerMinute: 5000, now: () => END });
    const { posts } = await archive.search(rule('coffee'), SPAN, { limit: 100 });
    expect(posts.length).toBe(100);
    expect(posts[0]?.at).toBeGreaterThan(END - MINUTE);
  });
});
