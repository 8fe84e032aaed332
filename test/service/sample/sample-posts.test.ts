import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import type { Activity } from '../../../src/activity/activity.js';
import type { ActivityStreamsPost } from '../../../src/activity/activity-streams-post.js';
import type { OriginalEntities, OriginalPost } from '../../../src/activity/original-post.js';
import { OptionError } from '../../../src/errors.js';
import { samplePosts } from '../../../src/service/sample/sample-posts.js';
import { FIRST_POST, MINUTE } from '../../../src/time.js';
import { bySuite } from '../../slow-suite.js';

const minute = fc
  .integer({ min: FIRST_POST / MINUTE, max: Date.UTC(2030, 0, 1) / MINUTE })
  .map(number => number * MINUTE);
const options = fc.record({
  seed: fc.oneof(fc.string(), fc.integer()),
  postsPerMinute: fc.constantFrom(1, 3.5, 40),
});

const original = (post: Activity) => post.post as OriginalPost;
const streams = (post: Activity) => post.post as ActivityStreamsPost;

describe('samplePosts', () => {
  test('gives the same bytes for the same seed and minute, independent of earlier calls', () => {
    fc.assert(
      fc.property(minute, minute, options, (at, other, choice) => {
        const first = samplePosts(at, choice).map(post => post.raw.toString());
        samplePosts(other, { ...choice, seed: 'another' });
        samplePosts(other, choice);
        expect(samplePosts(new Date(at + 59_999), choice).map(post => post.raw.toString())).toEqual(
          first,
        );
      }),
      { numRuns: bySuite(10, 120) },
    );
  });

  test('gives other posts for another seed', () => {
    const at = Date.UTC(2024, 4, 1);
    const [a, b] = ['a', 'b'].map(seed =>
      samplePosts(at, { seed, postsPerMinute: 20 }).map(post => post.text),
    );
    expect(a).not.toEqual(b);
  });

  test('gives posts of the minute, in order of time and id', () => {
    fc.assert(
      fc.property(minute, options, (at, choice) => {
        const posts = samplePosts(at, choice);
        let last = { at: at, id: 0n };
        for (const post of posts) {
          const here = { at: post.postedAt.getTime(), id: BigInt(post.id) };
          expect(here.at).toBeGreaterThanOrEqual(last.at);
          expect(here.at).toBeLessThan(at + MINUTE);
          expect(here.id > last.id).toBe(true);
          last = here;
        }
      }),
      { numRuns: bySuite(15, 200) },
    );
  });

  test('gives time-based ids since they were introduced, and small ones before', () => {
    const [early] = samplePosts(Date.UTC(2009, 5, 1), { postsPerMinute: 5 });
    expect(Number(early?.id)).toBeLessThan(30_000_000_000);
    for (const post of samplePosts(Date.UTC(2019, 5, 1), { postsPerMinute: 50 })) {
      const at = Number(BigInt(post.id) >> 22n) + 1_288_834_974_657;
      expect(Math.floor(at / 1000) * 1000).toBe(post.postedAt.getTime());
    }
  });

  test('gives ascending ids across the introduction of time-based ids', () => {
    const at = Date.UTC(2010, 10, 4, 1, 40);
    const ids = [0, 1, 2, 3, 4, 5, 6].flatMap(i =>
      samplePosts(at + i * MINUTE, { postsPerMinute: 60 }).map(({ id }) => BigInt(id)),
    );
    expect(ids.every((id, i) => i === 0 || id > (ids[i - 1] as bigint))).toBe(true);
    expect((ids[0] as bigint) < 30_000_000_000n && (ids.at(-1) as bigint) > 40_000_000_000n).toBe(
      true,
    );
  });

  test('gives the same post in both formats', () => {
    fc.assert(
      fc.property(minute, options, (at, choice) => {
        const a = samplePosts(at, { ...choice, format: 'original' });
        const b = samplePosts(at, { ...choice, format: 'activity_streams' });
        expect(b.map(says)).toEqual(a.map(says));
        expect(a.every(post => post.format === 'original')).toBe(true);
        expect(b.every(post => post.format === 'activity_streams')).toBe(true);
      }),
      { numRuns: bySuite(10, 120) },
    );
  });

  test('has exact ids in both of their forms', () => {
    for (const post of samplePosts(Date.UTC(2023, 5, 1, 12), { postsPerMinute: 100 })) {
      const text = post.raw.toString();
      for (const [, name, number, twin] of text.matchAll(/"(\w+)":(\d+),"\1_str":"(\d+)"/g))
        expect(`${name} ${number}`).toBe(`${name} ${twin}`);
      expect(text).toContain(`"id":${post.id},"id_str":"${post.id}"`);
    }
  });

  test('has entities at their indices, counted in code points', () => {
    for (const year of [2008, 2012, 2016, 2019, 2024])
      for (const post of samplePosts(Date.UTC(year, 5, 1, 12), { postsPerMinute: 300 })) {
        const {
          text,
          entities,
          extended_tweet: extended,
          truncated,
          retweeted_status,
        } = original(post);
        checkEntities(text, entities);
        expect(truncated).toBe(extended !== undefined);
        if (extended !== undefined) {
          checkEntities(extended.full_text, extended.entities);
          expect(Array.from(text).length).toBeLessThanOrEqual(140);
        }
        if (retweeted_status !== undefined)
          checkEntities(retweeted_status.text, retweeted_status.entities);
      }
  });

  test('truncates the body of a long post and has the full text in long_object', () => {
    const posts = samplePosts(Date.UTC(2024, 5, 1, 12), {
      postsPerMinute: 300,
      format: 'activity_streams',
    });
    const long = posts.map(streams).filter(post => post.long_object !== undefined);
    expect(long.length).toBeGreaterThan(5);
    for (const { body, long_object: whole, twitter_entities } of long) {
      expect(Array.from(body).length).toBeLessThanOrEqual(140);
      expect(Array.from(whole?.body ?? '').length).toBeGreaterThan(140);
      expect(twitter_entities.urls.at(-1)?.expanded_url).toMatch(
        /^https:\/\/twitter\.com\/i\/web\/status\/\d+$/,
      );
    }
  });

  test('has edit metadata from 29 September 2022 on, and only then', () => {
    const before = samplePosts(Date.UTC(2022, 8, 28, 23, 59), { postsPerMinute: 50 });
    const after = samplePosts(Date.UTC(2022, 8, 29), { postsPerMinute: 50 });
    expect(before.some(post => post.edits !== undefined)).toBe(false);
    for (const post of after) expect(post.edits?.ids.at(-1)).toBe(post.id);
  });

  test('has titles and descriptions of links, and topics of influence, since 29 July 2016 only', () => {
    const hour = (at: number, format: 'original' | 'activity_streams') =>
      Array.from({ length: 3 }, (_, i) =>
        samplePosts(at + i * MINUTE, { postsPerMinute: 200, format }),
      ).flat();
    for (const [at, isEnriched] of [
      [Date.UTC(2012, 5, 1), false],
      [Date.UTC(2016, 6, 28, 23, 57), false],
      [Date.UTC(2016, 6, 29), true],
      [Date.UTC(2024, 5, 1), true],
    ] as const) {
      let links = 0;
      for (const post of hour(at, 'original').map(original)) {
        const { klout } = post.user.derived ?? {};
        expect(klout?.score).toBeGreaterThan(0);
        expect(klout?.influence_topics !== undefined).toBe(isEnriched);
        if (post.retweeted_status !== undefined) continue;
        for (const { unwound } of post.entities.urls) {
          if (unwound === undefined) continue;
          links++;
          expect(unwound.status).toBe(200);
          expect('title' in unwound && 'description' in unwound).toBe(isEnriched);
          expect('title' in unwound || 'description' in unwound).toBe(isEnriched);
        }
      }
      expect(links).toBeGreaterThan(0);
      for (const { gnip, verb } of hour(at, 'activity_streams').map(streams)) {
        expect(gnip?.klout_score).toBeGreaterThan(0);
        expect(gnip?.klout_profile !== undefined).toBe(isEnriched);
        if (verb === 'share') continue;
        for (const page of gnip?.urls ?? [])
          expect('expanded_url_title' in page && 'expanded_url_description' in page).toBe(
            isEnriched,
          );
      }
    }
  });

  test('has every kind of post in several languages', () => {
    const kinds = new Map<string, number>();
    const see = (kind: string) => kinds.set(kind, (kinds.get(kind) ?? 0) + 1);
    for (const post of samplePosts(Date.UTC(2024, 5, 1, 12), { postsPerMinute: 3000 })) {
      const { entities, place, coordinates, extended_entities } = original(post);
      see(`lang:${post.lang}`);
      if (post.verb === 'share') see('retweet');
      if (post.quoted !== undefined) see('quote');
      if (original(post).in_reply_to_status_id !== null) see('reply');
      if ((post.edits?.ids.length ?? 0) > 1) see('edit');
      if (place !== null) see('place');
      if (coordinates !== null) see('point');
      for (const medium of extended_entities?.media ?? []) see(medium.type);
      for (const name of ['hashtags', 'symbols', 'urls', 'user_mentions'] as const)
        if (entities[name].length > 0) see(name);
    }
    for (const kind of [
      ...[
        'lang:en',
        'lang:ja',
        'lang:es',
        'lang:pt',
        'lang:ar',
        'lang:ko',
        'lang:tr',
        'lang:fr',
        'lang:und',
      ],
      ...['retweet', 'quote', 'reply', 'edit', 'place', 'point', 'photo', 'video', 'animated_gif'],
      ...['hashtags', 'symbols', 'urls', 'user_mentions'],
    ])
      expect(kinds.get(kind) ?? 0, kind).toBeGreaterThan(0);
  });

  test('retweets, quotes and replies to existing posts', () => {
    const at = Date.UTC(2024, 5, 1, 12);
    const options = { postsPerMinute: 30 };
    for (const post of samplePosts(at, options)) {
      for (const other of [post.retweeted, post.quoted]) {
        if (other === undefined) continue;
        const there = samplePosts(other.postedAt, options).find(({ id }) => id === other.id);
        expect(there?.text).toBe(other.text);
        expect(there?.author).toEqual(other.author);
      }
    }
  });

  test('keeps its rate over a day', () => {
    for (const postsPerMinute of [0.2, 3.5, 20]) {
      let posts = 0;
      for (let i = 0; i < 1440; i++)
        posts += samplePosts(Date.UTC(2012, 1, 3) + i * MINUTE, { postsPerMinute }).length;
      expect(posts / 1440 / postsPerMinute).toBeCloseTo(1, 1);
    }
  });

  test('refuses impossible arguments', () => {
    expect(() => samplePosts(FIRST_POST - 1)).toThrow(OptionError);
    expect(() => samplePosts(Number.NaN)).toThrow(OptionError);
    expect(() => samplePosts(FIRST_POST, { postsPerMinute: -1 })).toThrow(OptionError);
    expect(() => samplePosts(FIRST_POST, { postsPerMinute: Number.NaN })).toThrow(OptionError);
  });
});

/** The values that both formats have. */
function says(post: Activity): unknown {
  const { id, text, author, lang, link, verb, edits } = post;
  return {
    id,
    text,
    author,
    lang,
    link,
    verb,
    edits,
    postedAt: post.postedAt.getTime(),
    retweeted: post.retweeted === undefined ? undefined : says(post.retweeted),
    quoted: post.quoted === undefined ? undefined : says(post.quoted),
  };
}

function checkEntities(text: string, entities: OriginalEntities): void {
  const points = Array.from(text);
  const at = ([start, end]: readonly [number, number]) => points.slice(start, end).join('');
  for (const tag of entities.hashtags) expect(at(tag.indices)).toBe(`#${tag.text}`);
  for (const symbol of entities.symbols) expect(at(symbol.indices)).toBe(`$${symbol.text}`);
  for (const mention of entities.user_mentions)
    expect(at(mention.indices)).toBe(`@${mention.screen_name}`);
  for (const link of entities.urls) expect(at(link.indices)).toBe(link.url);
  for (const medium of entities.media ?? []) expect(at(medium.indices)).toBe(medium.url);
}
