import { readdirSync, readFileSync } from 'node:fs';
import path from 'node:path';
import fc from 'fast-check';
import { describe, expect, it, vi } from 'vitest';
import { SecondCorpus } from '../../../bench/second-corpus.js';
import { DataError } from '../../../src/base/errors.js';
import { Activity } from '../../../src/post/activity.js';
import { countryNumber, ID_OF, SHOWN_INTS, ShownIds } from '../../../src/post/bytes/shown-ids.js';
import { samplePosts } from '../../../src/service/sample/sample-posts.js';
import { bySuite } from '../../suite.js';
import { jsonValue } from '../arbitrary-json.js';
import { type ArbitraryPost, arbitraryPost } from '../arbitrary-post.js';
import type { PostModel } from '../post-model.js';
import { printJson, style } from '../print-json.js';

const shown = new ShownIds();

/**
 * A post whose first version has the id 5. This id is equal to the lower 32 bits of the post's id.
 */
const POST =
  '{"created_at":"x","id":4294967301,"id_str":"4294967301","user":{"id":2,"id_str":"2","name":"n","screen_name":"u"},' +
  '"edit_history":{"initial_tweet_id":"5","edit_tweet_ids":["5","4294967301"]}}';

/** An id, and the kind of object to which it belongs. */
type Id = readonly [of: number, id: string];

/**
 * Returns the ids that `shown` reads, or its error message. Surrounds the post with other bytes, as
 * in a file.
 */
function idsIn(bytes: Buffer): readonly Id[] | string {
  const content = Buffer.concat([Buffer.from('}"\n'), bytes, Buffer.from('\n{"id":"')]);
  return outcomeOf(() => {
    shown.read(content, 3, 3 + bytes.length);
    const ids: Id[] = [];
    for (let at = 0; at < shown.length; at += SHOWN_INTS) {
      const [of, high, low] = shown.numbers.subarray(at, at + SHOWN_INTS);
      ids.push([of!, String((BigInt(high!) << 32n) + BigInt(low!))]);
    }
    return ids;
  });
}

function outcomeOf(read: () => readonly Id[]): readonly Id[] | string {
  try {
    return read();
  } catch (error) {
    expect(error).toBeInstanceOf(DataError);
    return (error as Error).message;
  }
}

function idsOf(bytes: Buffer): readonly Id[] | string {
  return outcomeOf(() => listOf(new Activity(bytes), 0));
}

const countriesOf = (codes: readonly string[], within: number) =>
  codes.map((code): Id => [within + ID_OF.country, String(countryNumber(code))]);

function listOf(activity: Activity, within: number): readonly Id[] {
  const { id, versionIds, authorId, withheldIn, retweeted, quoted } = activity;
  const all: Id[] = [
    [within + ID_OF.post, id],
    ...versionIds
      .filter(version => version !== id)
      .map((version): Id => [within + ID_OF.version, version]),
    ...countriesOf(withheldIn.post, within),
    ...(authorId === undefined ? [] : [[within + ID_OF.user, authorId] as const]),
    ...countriesOf(withheldIn.author, within),
    ...(retweeted === undefined ? [] : listOf(retweeted, within)),
    ...(quoted === undefined ? [] : listOf(quoted, ID_OF.quoted)),
  ];
  return all.flatMap(([of, text]) => {
    const isInteger = /^\d{1,20}$/.test(text) && BigInt(text) < 2n ** 64n;
    return isInteger ? [[of, String(BigInt(text))] as const] : [];
  });
}

function modelIds(model: PostModel, within: number): Id[] {
  const { id, edits, withheldIn = [], author, shared, quoted } = model;
  return [
    [within + ID_OF.post, String(id)],
    ...edits
      .filter(version => version !== id)
      .map((version): Id => [within + ID_OF.version, String(version)]),
    ...countriesOf(withheldIn, within),
    [within + ID_OF.user, String(author.id)],
    ...(shared === undefined ? [] : modelIds(shared, within)),
    ...(quoted === undefined ? [] : modelIds(quoted, ID_OF.quoted)),
  ];
}

type Members = Record<string, unknown>;

function objectsIn(value: unknown, found: Members[] = []): Members[] {
  if (typeof value !== 'object' || value === null) return found;
  if (!Array.isArray(value)) found.push(value as Members);
  for (const nested of Object.values(value)) objectsIn(nested, found);
  return found;
}

function isLeft(bytes: Buffer): boolean {
  const readId = vi.spyOn(Activity.prototype, 'id', 'get');
  try {
    shown.read(bytes, 0, bytes.length);
    return readId.mock.calls.length > 0;
  } finally {
    readId.mockRestore();
  }
}

const sample = (format: 'original' | 'activity_streams') =>
  ['2012-06-01T12:00Z', '2017-11-30T18:00Z', '2024-03-05T14:07Z'].flatMap(at =>
    samplePosts(Date.parse(at), { postsPerMinute: 100, format }).map(({ raw }) => raw),
  );

describe('the ids that a post mentions', () => {
  it('are read exactly as they were printed, in both formats, however the JSON is formatted', () => {
    fc.assert(
      fc.property(arbitraryPost, ({ bytes, model }) => {
        expect(idsIn(bytes)).toEqual(modelIds(model, 0));
      }),
      { numRuns: bySuite(75, 5_000) },
    );
  });

  it('equal those of the parsed post after any member values are changed', () => {
    const change = fc.record({ place: fc.nat(), member: fc.nat(), value: jsonValue });
    fc.assert(
      fc.property(
        arbitraryPost,
        fc.array(change, { minLength: 1, maxLength: 4 }),
        style,
        ({ json }: ArbitraryPost, changes, look) => {
          const post = JSON.parse(json, function (this: Members, key, value) {
            const isId = typeof value === 'number' && (key === 'id' || key.endsWith('_id'));
            return isId ? BigInt((this[`${key}_str`] as string | undefined) ?? value) : value;
          });
          for (const { place, member, value } of changes) {
            // Most changes are in the post itself and in the posts that it contains.
            const objects = objectsIn(post).filter(
              object => place % 4 === 0 || 'user' in object || 'actor' in object,
            );
            const object = objects[place % objects.length];
            const keys = Object.keys(object ?? {});
            if (keys.length > 0) object![keys[member % keys.length] as string] = value;
          }
          const bytes = Buffer.from(printJson(post, look));
          expect(idsIn(bytes)).toEqual(idsOf(bytes));
        },
      ),
      { numRuns: bySuite(150, 10_000) },
    );
  });

  it('equal those of the parsed post after members are removed or swapped between formats', () => {
    const members = fc.constantFrom(
      ...['id', 'id_str', 'created_at', 'postedTime', 'user', 'actor', 'verb', 'edit_history'],
      ...['screen_name', 'preferredUsername', 'name', 'displayName', 'edit_tweet_ids'],
      ...['retweeted_status', 'quoted_status', 'object', 'twitter_quoted_status'],
      ...['withheld_in_countries', 'withheld_in_countries'],
    );
    const other = fc.constantFrom<unknown>(
      ...[7, '7', '07', 'x:7', '18446744073709551616', 'x', null, [], ['7', '8'], ['x'], [7], {}],
      ...[['XX'], ['de', 'TR'], ['ÄÖ', 5]],
      ...['share', 'tag:search.twitter.com,2005:77', '\u0000', true],
      ...[
        { id: 5, id_str: '5', screen_name: 'five' },
        { id: 'id:6', preferredUsername: 'six' },
      ],
      { initial_tweet_id: '7', edit_tweet_ids: ['7', '9'] },
      { initial_tweet_id: 7, edit_tweet_ids: [7, '09'] },
    );
    const change = fc.tuple(fc.nat(), members, fc.option(other, { nil: undefined }));
    fc.assert(
      fc.property(
        arbitraryPost,
        fc.array(change, { minLength: 1, maxLength: 3 }),
        (one, changes) => {
          const post = JSON.parse(one.json);
          for (const [place, member, value] of changes) {
            const objects = objectsIn(post).filter(
              object => member in object || 'user' in object || 'actor' in object,
            );
            const object = objects[place % objects.length];
            if (object === undefined) continue;
            if (value === undefined) delete object[member];
            // Copies the value. Otherwise, the same value would be in several objects, which change
            // together, or an object would contain itself.
            else object[member] = structuredClone(value);
          }
          const bytes = Buffer.from(JSON.stringify(post));
          expect(idsIn(bytes)).toEqual(idsOf(bytes));
        },
      ),
      { numRuns: bySuite(200, 15_000) },
    );
  });

  it('equal those of the parsed post after any bytes are changed, if the result is JSON', () => {
    fc.assert(
      fc.property(
        arbitraryPost,
        fc.array(fc.tuple(fc.nat(), fc.nat(255)), { minLength: 1, maxLength: 3 }),
        fc.option(fc.nat()),
        ({ bytes }, changes, cut) => {
          const changed = Buffer.from(bytes);
          for (const [at, byte] of changes) changed[at % changed.length] = byte;
          const part = cut === null ? changed : changed.subarray(0, cut % changed.length);
          if (isUniqueJson(part)) expect(idsIn(part)).toEqual(idsOf(part));
          else idsIn(part);
        },
      ),
      { numRuns: bySuite(150, 10_000) },
    );
  });

  it('are read without the parser from generated posts and posts of other tools', () => {
    const corpus = new SecondCorpus(3);
    const others = Array.from({ length: 200 }, (_, index) => corpus.line(1.7e12 + index));
    for (const bytes of [...others, ...sample('original'), ...sample('activity_streams')]) {
      expect(idsIn(bytes)).toEqual(idsOf(bytes));
      expect(isLeft(bytes)).toBe(false);
    }
  });

  it('equal those of the parsed post with escaped or duplicate keys, unusual ids and large posts', () => {
    const post = String(new SecondCorpus(5).line(1.7e12));
    const shared = `"retweeted_status":${post},`;
    const quoted = `"quoted_status":${post},`;
    const within = (...members: string[]) => post.replace('{', `{${members.join('')}`);
    for (const text of [
      POST,
      post.replace('"user"', '"us\\u0065r"'),
      post.replace('"user":{', '"user":{"id":1,"name":"n",'),
      post.replace('{', `{"more":"${'x'.repeat(400_000)}",`),
      within(`"retweeted_status":${within(`"retweeted_status":${within(shared)},`)},`),
      within(`"quoted_status":${within(quoted)},`),
      within(`"retweeted_status":${within(quoted)},`, quoted),
      within('"edit_history":{"initial_tweet_id":"1","edit_tweet_ids":["1","2"],"x":tru},'),
      within('"edit_history":{"initial_tweet_id":"1","edit_tweet_ids":["1""2"]},'),
      within('"edit_history":{"initial_tweet_id":"x","edit_tweet_ids":["1"]},'),
      within('"edit_history":{"initial_tweet_id":"1","edit_tweet_ids":[]},'),
      POST.replace('"name":"n"', '"name":"a\\qb"'),
      POST.replace('"name":"n"', '"name":"\\u00e9"'),
      POST.replace('"id_str":"4294967301"', '"id_str":"04294967301"'),
      `${POST.slice(0, -1)},"quoted_status":${POST.replace('{"initial', '{ "initial')}}`,
    ]) {
      const bytes = Buffer.from(text);
      expect(idsIn(bytes)).toEqual(idsOf(bytes));
    }
  });

  const folder = process.env.MILLRACE_REAL_DATA ?? '';
  it.skipIf(folder === '')(
    'equal those of the parsed post for real posts (needs MILLRACE_REAL_DATA)',
    () => {
      for (const file of readdirSync(path.join(folder, 'posts')))
        for (const line of readFileSync(path.join(folder, 'posts', file), 'utf8')
          .trim()
          .split('\n')) {
          const bytes = Buffer.from(line);
          expect(idsIn(bytes)).toEqual(idsOf(bytes));
          expect(isLeft(bytes)).toBe(false);
        }
    },
  );
});

function isUniqueJson(bytes: Buffer): boolean {
  const text = bytes.toString();
  try {
    return JSON.stringify(JSON.parse(text)).length >= text.replaceAll(/\s/g, '').length;
  } catch {
    return false;
  }
}
