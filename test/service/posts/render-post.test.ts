import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import type { Activity } from '../../../src/index.js';
import { unescaped } from '../../../src/post/loose-values.js';
import { fieldsOf } from '../../../src/post/read-fields.js';
import { createService } from '../../../src/service/index.js';
import { escapeText } from '../../../src/service/posts/entities.js';
import { FORMATS, NOW, serve } from './serve-posts.js';

describe('the JSON of a post given to the service', () => {
  it('contains its retweeted and quoted posts in both formats', async () => {
    const { service } = await serve({ posts: [] });
    for (const format of FORMATS) {
      const local = createService({
        format,
        posts: [
          {
            text: 'see this',
            quoted: { text: 'a quoted text', author: 'quin' },
            postedAt: NOW,
          },
          { retweeted: { text: 'x'.repeat(200), author: 'long' }, postedAt: NOW },
          { text: 'y'.repeat(300), author: 'long', postedAt: NOW },
        ],
      });
      await local.start();
      const [quote, retweet, long] = local.posts.list() as [Activity, Activity, Activity];
      await local.stop();
      expect(quote.quoted?.text).toBe('a quoted text');
      expect(retweet.retweeted?.text).toBe('x'.repeat(200));
      expect(retweet.text).toHaveLength(140);
      expect(long.text).toBe('y'.repeat(300));
    }
    expect(() => service.posts.add({ quoted: '5', text: 'x' })).toThrow(/posts\.quoted/);
  });

  it('contains a mentioned author with the id that another post states for that author', async () => {
    const { service } = await serve({ posts: [] });
    const [, mention, own] = service.posts.add([
      { text: 'tea', author: { handle: 'Ann', id: '42' } },
      { text: 'hello @ann and @bob', author: 'bob' },
      { text: 'more tea', author: 'ann' },
    ]) as [Activity, Activity, Activity];
    const { entities } = JSON.parse(mention.raw.toString());
    const [ann, bob] = entities.user_mentions;
    expect(ann.id_str).toBe('42');
    expect(bob.id_str).toBe(mention.author.id);
    expect(own.author.id).toBe('42');
  });

  it.each(FORMATS)(
    'contains escaped text in the format %s, with indices that count the escapes',
    async format => {
      const { service } = await serve({ posts: [], format });
      const text = '😀 a & b <c> #tea http://example.com/?a=1&b=2 & example.com @ann $TWTR ＃東京';
      const [post] = service.posts.add({ text }) as [Activity];
      expect(shownOf(post)).toEqual({
        text: text.replaceAll('&', '&amp;').replace('<c>', '&lt;c&gt;'),
        entities: [
          '#tea',
          'http://example.com/?a=1&amp;b=2',
          'example.com',
          '@ann',
          '$TWTR',
          '＃東京',
        ],
      });
      expect(post.raw.toString()).toContain('"expanded_url":"http://example.com/?a=1&b=2"');
      expect(post.raw.toString()).toContain('"expanded_url":"http://example.com"');
      const [retweet] = service.posts.add({ retweeted: post.id }) as [Activity];
      expect(shownOf(retweet).text).toBe(`RT @someone: ${shownOf(post).text}`);
    },
  );

  it.each(FORMATS)(
    'does not escape an already escaped text again in the format %s when the post is retweeted',
    async format => {
      const { service } = await serve({ posts: [], format });
      const [first] = service.posts.add({ id: '1000', text: 'a & b' }) as [Activity];
      const exact = first.raw.toString();
      service.posts.clear();
      service.posts.add(exact);
      const [retweet] = service.posts.add({ retweeted: '1000' }) as [Activity];
      expect(shownOf(retweet).text).toBe('RT @someone: a &amp; b');
    },
  );

  it.each(FORMATS)('contains an escaped author profile in the format %s', async format => {
    const { service } = await serve({ posts: [], format });
    const author = { handle: 'ann', name: 'Ann & <Co>', description: 'a & b', location: 'C & D' };
    const [post] = service.posts.add({ text: 'tea', author }) as [Activity];
    expect(post.raw.toString()).toContain('"Ann &amp; &lt;Co&gt;"');
    const { name, bio, location } = fieldsOf(post).author;
    expect([name, bio, location]).toEqual(['Ann & <Co>', 'a & b', 'C & D']);
  });

  it('contains no hashtag entity for a hashtag that is truncated', async () => {
    const { service } = await serve({ posts: [] });
    const [long] = service.posts.add({
      text: `#first ${'x'.repeat(100)} #coffeetime ${'y'.repeat(60)}`,
    });
    const { text, entities, extended_tweet } = JSON.parse(String(long?.raw));
    expect(text).toContain('#coffe… https://twitter.com/i/web/status/');
    expect(entities.hashtags).toEqual([{ text: 'first', indices: [0, 6] }]);
    expect(entities.urls).toHaveLength(1);
    expect(extended_tweet.entities.hashtags).toHaveLength(2);
    const [retweet] = service.posts.add({ retweeted: { text: `${'x'.repeat(120)} #coffeetime` } });
    expect(retweet?.text).toMatch(/ #coff…$/);
    expect(JSON.parse(String(retweet?.raw)).entities.hashtags).toEqual([]);
  });

  it.each(FORMATS)('is parsed in the format %s to the values that were given', format => {
    const { posts } = createService({ format });
    const piece = fc.constantFrom(
      ...['&', '<', '>', '&amp;', '😀', '#tea', '＃東京', '@ann', '$TWTR', 'x'.repeat(30), '・'],
      ...['https://example.com/?a&b', 'example.com', 'é', '"', '\\', '\u2028', '\n', '…'],
    );
    const texts = fc.array(piece, { minLength: 1, maxLength: 30 }).map(pieces => pieces.join(' '));
    fc.assert(
      fc.property(
        texts.filter(text => text.trim() !== ''),
        text => {
          const [post] = posts.add({ text }) as [Activity];
          expect(unescaped(post.text)).toBe(text);
          const { entities } = shownOf(post);
          expect(entities).toEqual(
            text.match(/#tea|＃東京|@ann|\$TWTR|\S*example.com\S*/g)?.map(escapeText) ?? [],
          );
        },
      ),
    );
  });
});

/**
 * Returns the full text of a post, and the parts of the text that the indices of its entities mark.
 * Checks each of these parts against its entity.
 */
function shownOf(post: Activity) {
  const { text, full_text, body, entities, twitter_entities, extended_tweet, long_object } =
    JSON.parse(post.raw.toString());
  const whole = extended_tweet ??
    long_object ?? { full_text, text, body, entities, twitter_entities };
  const full: string = whole.full_text ?? whole.text ?? whole.body;
  const all = whole.entities ?? whole.twitter_entities;
  const points = Array.from(full);
  const at = ({ indices: [start, end] }: { indices: [number, number] }) =>
    points.slice(start, end).join('');
  for (const url of all.urls) expect(at(url)).toBe(url.url);
  for (const tag of all.hashtags) expect(at(tag).slice(1)).toBe(tag.text);
  for (const tag of all.symbols) expect(at(tag).slice(1)).toBe(tag.text);
  for (const mention of all.user_mentions) expect(at(mention).slice(1)).toBe(mention.screen_name);
  return {
    text: full,
    entities: [...all.hashtags, ...all.urls, ...all.user_mentions, ...all.symbols]
      .sort((a, b) => a.indices[0] - b.indices[0])
      .map(at),
  };
}
