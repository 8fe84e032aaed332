import { readdirSync, readFileSync } from 'node:fs';
import path from 'node:path';
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { SecondCorpus } from '../../../bench/second-corpus.js';
import { Activity } from '../../../src/post/activity.js';
import { LeftToParser } from '../../../src/post/bytes/member-values.js';
import { PostInBytes } from '../../../src/post/bytes/post-in-bytes.js';
import type { PlaceOfRules } from '../../../src/post/matching-rules.js';
import type { PostFields } from '../../../src/post/post-fields.js';
import { fieldsOf } from '../../../src/post/read-fields.js';
import { samplePosts } from '../../../src/service/sample/sample-posts.js';
import { arbitraryDraft, original, streams } from '../../rules/match/arbitrary-matching-post.js';
import { bySuite } from '../../suite.js';
import { jsonValue } from '../arbitrary-json.js';
import { type ArbitraryPost, arbitraryPost } from '../arbitrary-post.js';
import { printJson, style, type Value } from '../print-json.js';

const postInBytes = PostInBytes.ofThread() as PostInBytes;

function partOf(fields: PostFields): object {
  const { text, hashtags, cashtags, mentions, links, media, isQuote, replyTo } = fields;
  return { text, hashtags, cashtags, mentions, links, media, isQuote, replyTo };
}

function readByRules(fields: PostFields): object {
  const { id, repliedId, retweeted, quotedId, quotedText, isNullcast, author } = fields;
  const { lang, place, position, source, quoted } = fields;
  const { handle, name, bio, location, verified, statuses, followers, friends, listed } = author;
  return {
    ...partOf(fields),
    ...{ id, repliedId, quotedId, quotedText, isNullcast, lang, place, position, source },
    author: { id: author.id, handle, name, bio, location, verified, homes: author.homes },
    counts: { statuses, followers, friends, listed },
    retweeted: retweeted && { id: retweeted.id, author: retweeted.author },
    quoted: quoted && partOf(quoted),
  };
}

function outcomeOf(read: () => unknown): unknown {
  try {
    return read();
  } catch (error) {
    return error;
  }
}

/**
 * Compares what `PostInBytes` reads with an `Activity` of the same bytes. Returns whether the post
 * could be read without being parsed.
 */
function expectSame(bytes: Buffer): boolean {
  const content = Buffer.concat([Buffer.from('}"\n'), bytes, Buffer.from('\n{"id":"')]);
  let fields: unknown;
  let place: PlaceOfRules | undefined;
  try {
    place = postInBytes.read(content, 3, 3 + bytes.length, post => {
      fields = readByRules(fieldsOf(post));
      return post.placeOfRules;
    });
  } catch {
    return false;
  }
  if (place === undefined) return false;
  const activity = new Activity(bytes);
  expect(fields).toEqual(outcomeOf(() => readByRules(fieldsOf(activity))));
  const { isRead, ...expected } = activity.placeOfRules;
  expect(place).toEqual({ ...expected, isRead: place.isRead });
  if (place.isRead) {
    const { start, end, before, after } = place;
    const list = '[{"tag":"of this rule"}]';
    const changed = Buffer.concat([
      bytes.subarray(0, start),
      Buffer.from(before + list + after),
      bytes.subarray(end),
    ]);
    expect(new Activity(changed).tags).toEqual(['of this rule']);
  }
  return true;
}

type Members = Record<string, unknown>;

function objectsIn(value: unknown, found: Members[] = []): Members[] {
  if (typeof value !== 'object' || value === null) return found;
  found.push(value as Members);
  for (const nested of Object.values(value)) objectsIn(nested, found);
  return found;
}

const somePost = fc.oneof(
  arbitraryPost.map(({ json }: ArbitraryPost) => json),
  fc
    .tuple(arbitraryDraft(), fc.boolean())
    .map(([draft, isOriginal]) => (isOriginal ? original : streams)(draft).raw.toString()),
);

function exactly(json: string): unknown {
  return JSON.parse(json, function (this: Members, key, value) {
    const isId = typeof value === 'number' && (key === 'id' || key.endsWith('_id'));
    return isId ? BigInt((this[`${key}_str`] as string | undefined) ?? value) : value;
  });
}

describe('the fields that rules read from the bytes of a post', () => {
  it('equal those of the parsed post, in both formats', () => {
    let read = 0;
    fc.assert(
      fc.property(somePost, style, (json, look) => {
        for (const text of [json, printJson(exactly(json) as Value, look)])
          if (expectSame(Buffer.from(text))) read++;
      }),
      { numRuns: bySuite(38, 5_000) },
    );
    expect(read).toBeGreaterThan(bySuite(15, 60));
  });

  it('equal those of the parsed post after any members are changed or added', () => {
    let read = 0;
    const change = fc.record({
      place: fc.nat(),
      member: fc.nat(),
      // Any value of the same post can be the new value. For example, a string can become a whole
      // post or a list.
      value: fc.oneof(jsonValue, fc.nat()),
      isAdded: fc.boolean(),
    });
    fc.assert(
      fc.property(somePost, fc.array(change, { minLength: 1, maxLength: 4 }), (json, changes) => {
        const post = exactly(json);
        const original = exactly(json);
        for (const { place, member, value, isAdded } of changes) {
          const places = objectsIn(post);
          const object = places[place % places.length] as Members;
          const others = objectsIn(original);
          const other = others[member % others.length] as Members;
          const keys = Object.keys(isAdded ? (others[0] as Members) : object);
          if (keys.length > 0 && !Array.isArray(object))
            object[keys[member % keys.length] as string] =
              typeof value === 'number' && value > 10 ? structuredClone(other) : value;
        }
        if (expectSame(Buffer.from(printJson(post as Value)))) read++;
      }),
      { numRuns: bySuite(50, 10_000) },
    );
    expect(read).toBeGreaterThan(bySuite(15, 60));
  });

  it.each([
    '"gnip":null',
    '"gnip" : { }',
    '"gnip":{"matching_rules":[]}',
    '"gnip":{"matching_rules":null , "urls":[] }',
    '"gnip":{"urls":[] }\t',
    '"matching_rules":[ ]',
    '"matching_rules":1,"gnip":{"matching_rules":[{"tag":"x"}]}',
    '"quoted_status":{"gnip":{"matching_rules":[]},"matching_rules":[{"tag":"of the quoted post"}]}',
  ])('include the position of the list of matching rules, with %s', members => {
    for (const start of [
      '{"created_at":"Wed Oct 10 20:19:24 +0000 2018","id":7,"id_str":"7"',
      '{"created_at":"Wed Oct 10 20:19:24 +0000 2018","id":"tag:x:7"',
      '{"id":"tag:search.twitter.com,2005:7","postedTime":"2018-10-10T20:19:24.000Z"',
      '{"postedTime":"2018-10-10T20:19:24.000Z","id":7,"id_str":"7"',
    ])
      for (const text of [`${start},${members}}`, `${start},${members} } \r`])
        expect(expectSame(Buffer.from(text)), text).toBe(true);
  });

  it.each([
    '"user_mentions":[{"id":7,"screen_name":"A"},{"id":1234567890123456789},{"id":7,"id_str":null}]',
    '"user_mentions":[ { "id_str" : "8" , "id":7} ,{"screen_name":"\\u00c9\\n"},{"screen_name":"é"}\t]',
    '"user_mentions":[{"id":7,"id":8}]',
    '"hashtags":[{"text":"a"},{"text":null},{"text":1e2},{"text":true},{"indices":[[1],{"text":"b"}]}]',
    '"hashtags":[null,{"text":"a"}]',
    '"symbols":[1],"hashtags":{"text":"a"}',
    '"urls":[{"expanded_url":"a","unwound":null},{"display_url":"b","unwound":{"url":"c","title":"d"}}]',
    '"urls":[{"expanded_url":"a","unwound":"c"},{}]',
    '"media":[{"type":"photo","media_url":"a"},{"type":"video","media_url":"b","media_url_https":"c"}]',
  ])('include the lists of entities, with %s', lists => {
    for (const start of [
      '{"created_at":"Wed Oct 10 20:19:24 +0000 2018","id":7,"id_str":"7","entities"',
      '{"postedTime":"2018-10-10T20:19:24.000Z","id":"tag:x:7","twitter_entities"',
    ])
      expect(expectSame(Buffer.from(`${start}:{${lists}}}`))).toBe(true);
  });

  it.each([
    '[{"text":"a"} {"text":"b"}]',
    '[{"text":"a"}}',
    '[{"text":"a"},]',
    '[{"text":nil}]',
    '[{"text":nul}]',
    '[{"text":nullx}]',
    '[{"text":01}]',
    '[{"text":[1}]',
    '[{"text":[]}]',
  ])('equal those of the parsed post even if a list is the invalid %s', list => {
    const start = '{"created_at":"Wed Oct 10 20:19:24 +0000 2018","id":7,"id_str":"7"';
    expectSame(Buffer.from(`${start},"entities":{"hashtags":${list}}}`));
  });

  it('are left to the parser if the post contains no time or two times', () => {
    for (const times of ['', ',"created_at":1,"postedTime":2'])
      expect(expectSame(Buffer.from(`{"id":7,"id_str":"7"${times}}`))).toBe(false);
  });

  it('are read without the parser from all generated posts and posts of other tools', () => {
    const corpus = new SecondCorpus(3);
    const others = Array.from({ length: bySuite(50, 200) }, (_, at) => corpus.line(1.7e12 + at));
    const made = ['2012-06-01T12:00Z', '2017-11-30T18:00Z', '2024-03-05T14:07Z'].flatMap(at =>
      (['original', 'activity_streams'] as const).flatMap(format =>
        samplePosts(Date.parse(at), { postsPerMinute: bySuite(40, 200), format }).map(
          ({ raw }) => raw,
        ),
      ),
    );
    for (const bytes of [...others, ...made]) expect(expectSame(bytes)).toBe(true);
  });

  const folder = process.env.MILLRACE_REAL_DATA ?? '';
  it.skipIf(folder === '')(
    'are read without the parser from real posts (needs MILLRACE_REAL_DATA)',
    () => {
      for (const file of readdirSync(path.join(folder, 'posts')))
        for (const line of readFileSync(path.join(folder, 'posts', file), 'utf8')
          .trim()
          .split('\n'))
          expect(expectSame(Buffer.from(line))).toBe(true);
    },
  );
});

describe('the shared PostInBytes of a thread', () => {
  const idOf = (post: PostInBytes) => post.id;
  const [first, second] = ['7', '8'].map(id =>
    Buffer.from(`{"id":${id},"id_str":"${id}","created_at":"x"}`),
  ) as [Buffer, Buffer];

  it.each([
    '"created_at":"Wed Oct 10 20:19:24 +0000 2018","id":7,"id_str":""',
    '"created_at":"Wed Oct 10 20:19:24 +0000 2018","id":7,"id_str":"a7"',
    '"created_at":"Wed Oct 10 20:19:24 +0000 2018","id":7,"id_str":"7a"',
    '"postedTime":"2018-10-10T20:19:24.000Z","id":"tag:search.twitter.com,2005:"',
    '"postedTime":"2018-10-10T20:19:24.000Z","id":"tag:search.twitter.com,2005:7a"',
    '"postedTime":"2018-10-10T20:19:24.000Z","id":"tag7"',
  ])('leaves a post to the parser if its id is not a number, with %s', members => {
    const bytes = Buffer.from(`{${members}}`);
    expect(() => postInBytes.read(bytes, 0, bytes.length, idOf)).toThrow(LeftToParser);
  });

  it('refuses to read a second post while the first one is in use', () => {
    const ids = postInBytes.read(first, 0, first.length, post => [
      postInBytes.read(second, 0, second.length, idOf),
      post.id,
    ]);
    expect(ids).toEqual([undefined, '7']);
  });

  it('reads the next post after the code that used the previous one has thrown', () => {
    const fail = () => {
      throw new Error('of the user');
    };
    expect(() => postInBytes.read(first, 0, first.length, fail)).toThrow('of the user');
    expect(postInBytes.read(second, 0, second.length, idOf)).toBe('8');
  });

  it('reads the next post after a post that it left to the parser', () => {
    expect(postInBytes.read(Buffer.from('{'), 0, 1, idOf)).toBeUndefined();
    expect(postInBytes.read(second, 0, second.length, idOf)).toBe('8');
  });
});
