import { readFileSync } from 'node:fs';
import path from 'node:path';
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { MINUTE } from '../../src/base/time.js';
import { Activity } from '../../src/post/activity.js';
import { samplePosts } from '../../src/service/sample/sample-posts.js';
import * as tables from '../../src/tables/tables.js';
import { writePost } from '../post/arbitrary-post.js';
import { type PostModel, postModel } from '../post/post-model.js';
import { bySuite } from '../suite.js';
import { unchecked } from '../unchecked.js';

type PostRow = tables.Row<typeof tables.posts>;
const rowOf = tables.toRow(tables.posts);

/** Columns that only one format has, according to the documentation. */
const ORIGINAL_ONLY = ['reply_count', 'quote_count', 'possibly_sensitive', 'author_protected'];

function inBothFormats(row: PostRow, streams: PostRow): PostRow {
  const same = {
    ...row,
    ...Object.fromEntries(ORIGINAL_ONLY.map(name => [name, null])),
  };
  // `activity_streams` contains the author of the answered post only if the reply mentions this
  // author or has the same author.
  return streams.replied_author_id === null ? { ...same, replied_author_id: null } : same;
}

function expectSameRow(original: Activity, streams: Activity): void {
  const row = rowOf(streams);
  expect(row).toEqual(inBothFormats(rowOf(original), row));
}

describe('the table row of a post', () => {
  it('contains a value of the post in every column', () => {
    const post = new Activity(
      Buffer.from(
        JSON.stringify({
          created_at: 'Wed Oct 10 20:19:24 +0000 2018',
          id_str: '1050118621198921728',
          text: 'Snow &amp; ice #snow https://t.co/a @jack',
          source: '<a href="http://example.com/?a=1&amp;b=2" rel="nofollow">An &lt;app&gt;</a>',
          in_reply_to_status_id_str: '9223372036854775807',
          in_reply_to_user_id_str: '12',
          in_reply_to_screen_name: 'Jack',
          user: {
            id_str: '6253282',
            screen_name: 'LunaReads',
            name: 'Luna',
            location: null,
            description: '',
            verified: false,
            protected: true,
            followers_count: 21,
            created_at: 'Wed May 23 06:01:13 +0000 2007',
          },
          coordinates: { type: 'Point', coordinates: [-9.14, 38.72] },
          place: {
            id: '01a9',
            place_type: 'city',
            name: 'Lisbon',
            full_name: 'Lisbon, Portugal',
            country_code: 'pt',
            country: 'Portugal',
            bounding_box: {
              type: 'Polygon',
              coordinates: [
                [
                  [-9.2, 38.8],
                  [-9.1, 38.7],
                  [-9.1, 38.8],
                  [-9.2, 38.7],
                ],
              ],
            },
          },
          entities: {
            hashtags: [{ text: 'snow' }],
            urls: [
              {
                url: 'https://t.co/a',
                expanded_url: 'http://bit.ly/1',
                unwound: { url: 'https://snow.example/1' },
              },
              { url: 'https://t.co/b', expanded_url: null },
            ],
            user_mentions: [
              { id_str: '12', screen_name: 'Jack' },
              { id_str: '12', screen_name: 'Jack' },
            ],
            media: [{ type: 'photo', media_url: 'http://pbs.example/1.jpg' }],
          },
          extended_entities: {
            media: [{ type: 'video', media_url_https: 'https://pbs.example/1.jpg' }],
          },
          favorite_count: 3,
          retweet_count: 0,
          lang: 'en',
          withheld_in_countries: ['DE', 'FR'],
          matching_rules: [
            { tag: 'ski', id: 1, id_str: '9007199254740993' },
            { tag: null, id_str: '2' },
          ],
        }),
      ),
    );
    expect(rowOf(unchecked({ tag: 'ski', activity: post }))).toEqual({
      id: '1050118621198921728',
      posted_at: new Date('2018-10-10T20:19:24Z'),
      verb: 'post',
      text: 'Snow & ice #snow https://t.co/a @jack',
      lang: 'en',
      link: 'http://twitter.com/LunaReads/statuses/1050118621198921728',
      author_id: '6253282',
      author_handle: 'LunaReads',
      author_name: 'Luna',
      author_description: null,
      author_location: null,
      author_url: null,
      author_image: null,
      author_verified: false,
      author_protected: true,
      author_created_at: new Date('2007-05-23T06:01:13Z'),
      author_posts: null,
      author_followers: 21,
      author_following: null,
      author_listed: null,
      author_favorites: null,
      author_country_code: null,
      author_region: null,
      author_locality: null,
      favorite_count: 3,
      retweet_count: 0,
      reply_count: null,
      quote_count: null,
      possibly_sensitive: null,
      withheld_countries: ['DE', 'FR'],
      source: 'An <app>',
      source_link: 'http://example.com/?a=1&b=2',
      place_id: '01a9',
      place_name: 'Lisbon',
      place_full_name: 'Lisbon, Portugal',
      place_type: 'city',
      place_country: 'Portugal',
      place_country_code: 'PT',
      place_bbox: [-9.2, 38.7, -9.1, 38.8],
      longitude: -9.14,
      latitude: 38.72,
      hashtags: ['snow'],
      cashtags: [],
      mentioned_ids: ['12'],
      mentioned_handles: ['Jack'],
      links: ['https://snow.example/1', 'https://t.co/b'],
      media_types: ['video'],
      media_urls: ['https://pbs.example/1.jpg'],
      shared_id: null,
      shared_author_id: null,
      shared_author_handle: null,
      shared_posted_at: null,
      shared_favorite_count: null,
      shared_retweet_count: null,
      quoted_id: null,
      quoted_author_id: null,
      quoted_author_handle: null,
      quoted_text: null,
      replied_id: '9223372036854775807',
      replied_author_id: '12',
      replied_author_handle: 'Jack',
      edit_initial_id: null,
      edit_ids: null,
      editable_until: null,
      edits_remaining: null,
      is_editable: null,
      rule_ids: ['9007199254740993', '2'],
      rule_tags: ['ski'],
      tag: 'ski',
    });
  });

  it.each(['original', 'activity_streams'] as const)(
    'contains, for a retweet, the counts, the time and the full quote of the original post: %s',
    format => {
      const [base] = fc.sample(postModel, { numRuns: 1, seed: 7 }) as [PostModel];
      const plain: PostModel = {
        ...base,
        ...{ shared: undefined, quoted: undefined, replyTo: undefined, longText: undefined },
      };
      const quoted: PostModel = { ...plain, id: 1n, text: 'cut', longText: 'ice &amp; snow' };
      const shared: PostModel = {
        ...{ ...plain, id: 2n, likes: 54, retweets: 29, quoted },
        postedAt: new Date('2018-10-10T20:19:24Z'),
      };
      const retweet: PostModel = { ...plain, id: 3n, likes: 0, retweets: 0, shared };
      expect(rowOf(new Activity(writePost(retweet, format).bytes))).toMatchObject({
        id: '3',
        favorite_count: 0,
        retweet_count: 0,
        shared_id: '2',
        shared_posted_at: new Date('2018-10-10T20:19:24Z'),
        shared_favorite_count: 54,
        shared_retweet_count: 29,
        quoted_id: '1',
        quoted_text: 'ice & snow',
      });
    },
  );

  it('contains the countries in which the post is withheld, in both formats', () => {
    const [base] = fc.sample(postModel, { numRuns: 1, seed: 7 }) as [PostModel];
    for (const format of ['original', 'activity_streams'] as const) {
      const { bytes } = writePost({ ...base, withheldIn: ['DE', 'XY'] }, format);
      expect(rowOf(new Activity(bytes)).withheld_countries).toEqual(['DE', 'XY']);
    }
  });

  it('contains `RT @handle: ` and the whole text of a retweet that has only `full_text`', () => {
    const retweet = {
      created_at: 'Wed Oct 10 20:19:24 +0000 2018',
      id_str: '3',
      full_text: 'RT @anna: snow &am…',
      user: { id_str: '4' },
      retweeted_status: { id_str: '2', full_text: 'snow &amp; ice', user: { id_str: '5' } },
    };
    const row = rowOf(new Activity(Buffer.from(JSON.stringify(retweet))));
    expect(row.text).toBe('RT @anna: snow & ice');
  });

  it('contains the retweet count of the original post even if only the retweet states it', () => {
    const retweet = {
      id: 'tag:search.twitter.com,2005:3',
      verb: 'share',
      postedTime: '2017-05-24T20:35:57.000Z',
      retweetCount: 5,
      favoritesCount: 0,
      actor: {},
      object: { id: 'tag:search.twitter.com,2005:2', actor: {}, favoritesCount: 9 },
    };
    expect(rowOf(new Activity(Buffer.from(JSON.stringify(retweet))))).toMatchObject({
      shared_favorite_count: 9,
      shared_retweet_count: 5,
      shared_posted_at: null,
    });
  });

  it.each([
    '2006-03-21T20:50Z',
    '2012-06-01T12:00Z',
    '2017-11-30T18:00Z',
    '2022-12-24T18:00Z',
    '2024-03-05T14:07Z',
  ])('is the same in both formats for generated posts from %s on', from => {
    for (let minute = 0; minute < 20; minute++) {
      const at = Date.parse(from) + minute * MINUTE;
      const originals = samplePosts(at, { postsPerMinute: 30 });
      const streams = samplePosts(at, { postsPerMinute: 30, format: 'activity_streams' });
      for (const [i, post] of originals.entries()) expectSameRow(post, streams[i] as Activity);
    }
  });

  it('is the same in both formats for arbitrary posts', () => {
    fc.assert(
      fc.property(postModel.map(consistent), model => {
        const [original, streams] = (['original', 'activity_streams'] as const).map(
          format => new Activity(writePost(model, format).bytes),
        ) as [Activity, Activity];
        expectSameRow(original, streams);
      }),
      { numRuns: bySuite(25, 1_200) },
    );
  });

  const folder = process.env.MILLRACE_REAL_DATA ?? '';
  it.skipIf(folder === '')(
    'is the same in both formats for real posts (needs MILLRACE_REAL_DATA)',
    () => {
      const [originals = [], streams = []] = ['original', 'activity'].map(format =>
        readFileSync(path.join(folder, `posts/${format}-tweet-parser.jsonl`), 'utf8')
          .trim()
          .split('\n')
          .map(line => new Activity(Buffer.from(line))),
      );
      expect(originals.length).toBe(11);
      for (const [i, post] of originals.entries()) expectSameRow(post, streams[i] as Activity);
    },
  );

  it.skipIf(folder === '')('can be built for every real post (needs MILLRACE_REAL_DATA)', () => {
    for (const file of ['original-simdjson', 'activity-gnacs', 'activity-gnip4j']) {
      const lines = readFileSync(path.join(folder, `posts/${file}.jsonl`), 'utf8')
        .trim()
        .split('\n');
      for (const line of lines) {
        const row = rowOf(new Activity(Buffer.from(line)));
        expect(row.author_handle).toMatch(/^\w+$/);
        expect(row.links?.every(link => link.startsWith('http'))).toBe(true);
      }
    }
  });
});

describe('the table row of a user', () => {
  it('describes the author of a post', () => {
    const userOf = tables.toRow(tables.users);
    const from = Date.parse('2024-03-05T14:07Z');
    for (const format of ['original', 'activity_streams'] as const)
      for (const post of samplePosts(from, { postsPerMinute: 30, format })) {
        const row: Record<string, unknown> = rowOf(post);
        const { seen_in: seenIn, seen_at: seenAt, ...author } = userOf(post);
        expect(author).toEqual(
          Object.fromEntries(Object.keys(author).map(name => [name, row[`author_${name}`]])),
        );
        expect([seenIn, seenAt]).toEqual([post.id, post.postedAt]);
      }
  });

  it('contains every column about authors that the table of posts has', () => {
    const names = Object.keys(tables.posts).filter(name => name.startsWith('author_'));
    const own = Object.keys(tables.users).filter(name => !name.startsWith('seen_'));
    expect(own.map(name => `author_${name}`)).toEqual(names);
  });
});

/**
 * Makes a post consistent, so that each handle belongs to one user and each link leads to one page.
 * Otherwise, the two formats would not give the same row.
 */
function consistent(model: PostModel): PostModel {
  const idOf = (handle: string) =>
    BigInt(`0x${Buffer.from(handle.toLowerCase()).toString('hex').slice(0, 12)}`);
  const known = <T extends { readonly handle: string }>(user: T) => ({
    ...user,
    id: idOf(user.handle),
  });
  return {
    ...model,
    // A nested post could use the same short address for another page, which real posts never do.
    links: model.quoted === undefined && model.shared === undefined ? model.links : [],
    author: known(model.author),
    mentions: model.mentions.map(known),
    replyTo: model.replyTo && { ...model.replyTo, author: known(model.replyTo.author) },
    shared: model.shared && consistent(model.shared),
    quoted: model.quoted && consistent(model.quoted),
  };
}
