import { writeFile } from 'node:fs/promises';
import path from 'node:path';
import { describe, expect, it, onTestFinished, vi } from 'vitest';
import { DAY, floorTo, HOUR, MINUTE, SECOND } from '../../../src/base/time.js';
import { type Activity, collect, counts, pipeline, search } from '../../../src/index.js';
import { parseRule } from '../../../src/rules/language/parse-rule.js';
import type { RuleNode } from '../../../src/rules/tree.js';
import type { Archive } from '../../../src/service/archive/archive.js';
import { type GivenPost, samplePosts } from '../../../src/service/index.js';
import { joinedArchive, PostsArchive } from '../../../src/service/posts/posts-archive.js';
import { temporaryFolder } from '../../temporary-folder.js';
import { unchecked } from '../../unchecked.js';
import { MemoryArchive } from '../memory-archive.js';
import { added, NOW, serve } from './serve-posts.js';

describe('the given posts of a service', () => {
  it('are served together with generated posts if a rate is set', async () => {
    const posts = [{ text: 'a unique zyxwv post', author: 'ann', postedAt: NOW - 2 * HOUR }];
    const generated = await serve({ posts, postsPerMinute: 0.2 });
    expect(await generated.found('zyxwv')).toHaveLength(1);
    expect((await generated.everything()).length).toBeGreaterThan(100);
  });

  it('are served together with the posts of a folder, in order of time', async () => {
    const posts = [{ text: 'a unique zyxwv post', author: 'ann', postedAt: NOW - 2 * HOUR }];
    const folder = await temporaryFolder();
    const stored = samplePosts(NOW - HOUR, { postsPerMinute: 20 });
    await writeFile(path.join(folder, 'a.jsonl'), stored.map(({ raw }) => `${raw}\n`).join(''));
    const { everything, found, service } = await serve({ posts, archive: folder });
    expect(await found('zyxwv')).toHaveLength(1);
    service.posts.add({ text: 'within', postedAt: NOW - HOUR + 1000 });
    const all = await everything();
    expect(all).toHaveLength(stored.length + 2);
    const times = all.map(({ postedAt }) => postedAt.getTime());
    expect(times).toEqual(times.toSorted((a, b) => a - b));
  });

  it('are served and counted once if a folder also contains them', async () => {
    const folder = await temporaryFolder();
    const stored = samplePosts(NOW - HOUR, { postsPerMinute: 20 });
    await writeFile(path.join(folder, 'a.jsonl'), stored.map(({ raw }) => `${raw}\n`).join(''));
    const { acme, everything, found, service } = await serve({ archive: folder });
    const [again] = stored as [Activity];
    service.posts.add([
      again,
      { text: 'another', author: again.author.handle, postedAt: again.postedAt },
    ]);
    const query = `from:${again.author.handle}`;
    const both = await found(query);
    expect(both.length).toBeGreaterThanOrEqual(2);
    expect(await everything()).toHaveLength(stored.length + 1);
    const buckets = await pipeline(
      counts(acme, { product: '30day', query, bucket: 'day', fromDate: new Date(NOW - DAY) }),
      collect(),
    );
    expect(buckets.reduce((sum, { count }) => sum + count, 0)).toBe(both.length);
  });

  describe(', one with the current time and one with a time an hour later,', () => {
    const archive = () => {
      const posts = added([
        { text: 'tea', id: '7', author: 'Ann' },
        { text: 'soon', id: '8', author: 'bob', postedAt: NOW + HOUR },
      ]);
      return new PostsArchive(posts, 'original', () => NOW);
    };

    it('are found by id', () => {
      expect(archive().post('7')?.activity.text).toBe('tea');
    });

    it('are found by author, in upper and lower case', () => {
      expect(archive().author('aNN')?.handle).toBe('Ann');
    });

    it('are found only once the clock reaches their time', () => {
      expect(archive().post('8')).toBeUndefined();
      expect(archive().author('bob')).toBeUndefined();
    });
  });

  it('can be retweeted at any time, unlike posts of the archive', () => {
    const archive = unchecked<Archive>({ format: 'original', reactionsMs: DAY });
    const reactionsMs = (posts: readonly GivenPost[]) =>
      joinedArchive(new PostsArchive(added(posts), 'original', () => NOW), archive).reactionsMs;
    expect(reactionsMs([])).toBe(DAY);
    expect(reactionsMs([{ text: 'tea' }])).toBeUndefined();
  });

  it('are all found by a search of several pages that also has generated posts', async () => {
    const posts = Array.from({ length: 25 }, (_, n) => ({
      text: 'zyxwv',
      postedAt: NOW - HOUR - n * MINUTE,
    }));
    const { acme } = await serve({ posts, postsPerMinute: 0.05 });
    const query = { product: '30day', query: 'zyxwv', maxResults: 10 } as const;
    expect(await pipeline(search(acme, query), collect())).toHaveLength(25);
  });

  it('come on the second page if other posts fill the first page', async () => {
    const archiveOf = (text: string, postedAt: number) =>
      new PostsArchive(added([{ text, postedAt }]), 'original', () => NOW);
    const others = unchecked<Archive>(archiveOf('tea', NOW - MINUTE));
    const joined = joinedArchive(archiveOf('tea', NOW - HOUR), others);
    const rule = { tree: parseRule('tea').tree as RuleNode, matches: () => true };
    const window = { from: NOW - DAY, to: NOW + MINUTE };
    const found = (limit: number) => joined.search(rule, window, { limit });
    expect(await found(1)).toMatchObject({
      posts: [{ at: floorTo(SECOND, NOW - MINUTE) }],
      more: true,
    });
    expect(await found(2)).toMatchObject({ posts: [{}, {}], more: false });
  });

  it('are found if a window starts at their time, but not if the window ends at their time', async () => {
    const at = Math.floor((NOW - HOUR) / MINUTE) * MINUTE;
    const { acme } = await serve({ posts: [{ text: 'tea', postedAt: at }] });
    const within = (from: number, to: number) =>
      pipeline(
        search(acme, {
          product: '30day',
          query: 'tea',
          fromDate: new Date(from),
          toDate: new Date(to),
        }),
        collect(),
      );
    expect(await within(at, at + MINUTE)).toHaveLength(1);
    expect(await within(at - MINUTE, at)).toEqual([]);
  });

  it('do not affect the counts of rules that they do not match, even if a folder also contains them', async () => {
    const folder = await temporaryFolder();
    const [again] = samplePosts(NOW - HOUR, { postsPerMinute: 20 }) as [Activity];
    await writeFile(path.join(folder, 'a.jsonl'), `${again.raw}\n`);
    const { acme, service } = await serve({ archive: folder });
    service.posts.add([again, { text: 'zyxwv', postedAt: again.postedAt }]);
    const buckets = await pipeline(
      counts(acme, { product: '30day', query: 'zyxwv', bucket: 'day' }),
      collect(),
    );
    expect(buckets.reduce((sum, { count }) => sum + count, 0)).toBe(1);
  });
});

describe('a search or count with a deadline in an archive of given and other posts', () => {
  /** Joins 400 given posts with another archive. The clock advances each time it is read. */
  async function joined(others: Archive) {
    const posts = added(
      Array.from({ length: 400 }, (_, i) => ({ text: 'tea', postedAt: NOW - (i + 1) * SECOND })),
    );
    let now = 0;
    const clock = vi.spyOn(performance, 'now').mockImplementation(() => ++now);
    onTestFinished(() => void clock.mockRestore());
    return joinedArchive(new PostsArchive(posts, 'original', () => NOW), others);
  }
  const window = { from: NOW - HOUR, to: NOW };
  const rule = { tree: parseRule('tea').tree as RuleNode, matches: () => true };

  it('counts the given posts only in the part of the window that it reaches before the deadline', async () => {
    for (const newestFirst of [true, false]) {
      const archive = await joined(new MemoryArchive([]));
      const options = { newestFirst, deadlineMs: 100 };
      const { buckets, counted } = await archive.counts(rule, window, DAY, options);
      const within = Array.from({ length: 400 }, (_, i) => NOW - (i + 1) * SECOND)
        .map(at => floorTo(SECOND, at))
        .filter(at => at >= counted.from && at < counted.to);
      expect(within.length).toBeLessThan(400);
      expect(newestFirst ? counted.to : counted.from).toBe(newestFirst ? NOW : window.from);
      expect(buckets.reduce((sum, { count }) => sum + count, 0)).toBe(within.length);
      expect(within.length).toBeGreaterThan(newestFirst ? 0 : -1);
    }
  });

  it('finds no given post older than the position at which the other archive stopped', async () => {
    const others = new MemoryArchive([]);
    const reached = { at: NOW - 10 * SECOND, id: '0' };
    const search = vi.spyOn(others, 'search');
    search.mockResolvedValue({ posts: [], more: false, reached });
    const found = await (await joined(others)).search(rule, window, { limit: 100 });
    expect(found.posts.map(({ at }) => at >= reached.at)).toEqual(Array(9).fill(true));
    expect(found).toMatchObject({ more: false, reached });
    const few = await (await joined(others)).search(rule, window, { limit: 5 });
    expect(few.posts).toHaveLength(5);
    expect(few.more).toBe(true);
  });
});
