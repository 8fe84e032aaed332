import { describe, expect, it } from 'vitest';
import { type Activity, OptionError } from '../../../src/index.js';
import { createService, type GivenPost, samplePosts } from '../../../src/service/index.js';
import { splitPosts } from '../../../src/service/posts/read-given.js';
import { NOW, serve } from './serve-posts.js';

it('splitPosts accepts a byte order mark, and names UTF-16 in its error for a UTF-16 file', () => {
  const lines = '{"text":"a"}\n{"text":"b"}';
  for (const text of ['{"text":"a"}', '[{"text":"a"},{"text":"b"}]', lines])
    expect(splitPosts(Buffer.from(`\ufeff${text}`)).map(String)).toEqual(
      splitPosts(Buffer.from(text)).map(String),
    );
  for (const text of [`\ufeff${lines}`, lines])
    expect(() => splitPosts(Buffer.from(text, 'utf16le'))).toThrow(/UTF-16/);
});

describe('a post given to the service', () => {
  const [sample] = samplePosts(NOW, { postsPerMinute: 200 }) as [Activity];
  const [streams] = samplePosts(NOW, { postsPerMinute: 200, format: 'activity_streams' }) as [
    Activity,
  ];
  const withId = (id: bigint) =>
    sample.raw
      .toString()
      .replace(`"id":${sample.id}`, `"id":${id}`)
      .replace(`"id_str":"${sample.id}"`, `"id_str":"${id}"`);
  const early = () => {
    const post = JSON.parse(sample.raw.toString()) as Record<string, unknown>;
    return JSON.stringify({ ...post, created_at: 'Mon Jan 03 10:00:00 +0000 2005' });
  };
  const cut = (key: string) => {
    const post = JSON.parse(sample.raw.toString()) as Record<string, unknown>;
    delete post[key];
    return JSON.stringify(post);
  };
  it.each([
    [{ text: 5 }, 'posts[1].text'],
    [{}, 'posts[1].text'],
    [{ text: ' ' }, 'posts[1].text'],
    [{ text: 'x', txt: 'y' }, 'posts[1].txt'],
    [{ text: 'x', id: 5 }, 'posts[1].id'],
    [{ text: 'x', id: '99999999999999999999' }, 'posts[1].id'],
    [{ text: 'x', postedAt: 'yesterday' }, 'posts[1].postedAt'],
    [{ text: 'x', postedAt: '2005-01-01' }, 'posts[1].postedAt'],
    [{ text: 'x', author: 'a b' }, 'posts[1].author'],
    [{ text: 'x', author: { name: 'x' } }, 'posts[1].author.handle'],
    [{ text: 'x', author: { handle: 'x', bio: 'y' } }, 'posts[1].author.bio'],
    [{ text: 'x', likes: -1 }, 'posts[1].likes'],
    [{ text: 'x', quoted: { txt: 1 } }, 'posts[1].quoted.txt'],
    [{ retweeted: '12' }, 'posts[1].retweeted'],
    [{ text: 'x', quoted: '12' }, 'posts[1].quoted'],
    [5, 'posts[1]'],
    [null, 'posts[1]'],
    ['{"text":', 'posts[1]'],
    ['[]', 'posts[1]'],
    [cut('text'), 'text or body'],
    [cut('user'), 'user or actor'],
    [{ created_at: 'soon', id: 1, text: 'x', user: {} }, 'created_at'],
    [{ ...(JSON.parse(cut('id_str')) as object) }, 'posts[1].id'],
    [withId(2n ** 64n), 'more than 64 bits'],
    [early(), 'before 2006-03-21'],
    [streams, 'activity_streams'],
  ] as [unknown, string][])(
    'causes an error with the name of the invalid member: %j',
    (bad, member) => {
      const given = [sample, bad] as GivenPost[];
      let error: unknown;
      try {
        createService({ posts: given });
      } catch (thrown) {
        error = thrown;
      }
      expect(error).toBeInstanceOf(OptionError);
      expect((error as Error).message).toContain('posts[1]');
      expect((error as Error).message).toContain(member);
    },
  );

  it('may have the largest 64-bit id', () => {
    const largest = 2n ** 64n - 1n;
    const [post] = createService({ posts: [] }).posts.add(withId(largest));
    expect(post?.id).toBe(String(largest));
  });

  it('leaves the other posts unchanged if a replacement fails', async () => {
    const { service } = await serve({ posts: [{ text: 'a', id: '7' }] });
    service.posts.delete('7');
    const twice = { text: 'b', id: '5' };
    expect(() => service.posts.replace({ posts: [twice, twice], deleted: [] })).toThrow(
      /posts\[1\]\.id/,
    );
    expect(service.posts.list().map(({ id }) => id)).toEqual(['7']);
    expect(() => service.posts.delete('7')).toThrow('deleted before');
  });

  it('is not added if another post of the same call is invalid', async () => {
    const { service } = await serve({ posts: [] });
    expect(() =>
      service.posts.add([
        { text: 'a', id: '5' },
        { text: 'b', id: '5' },
      ]),
    ).toThrow(/posts\[1\]\.id.*added before/);
    expect(service.posts.list()).toEqual([]);
  });
});
