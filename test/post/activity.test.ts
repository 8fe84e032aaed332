import { inspect } from 'node:util';
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { DataError } from '../../src/base/errors.js';
import { parseExact } from '../../src/json/exact-ids.js';
import { LazyObject } from '../../src/json/lazy-object.js';
import { Activity } from '../../src/post/activity.js';
import { bySuite } from '../suite.js';
import { arbitraryPost, writePost } from './arbitrary-post.js';
import { minimal } from './minimal-post.js';
import { type AuthorModel, type PostModel, postModel } from './post-model.js';
import { style } from './print-json.js';

function said(activity: Activity | undefined): unknown {
  if (activity === undefined) return undefined;
  const { id, postedAt, text, author, verb, lang, link, matchingRules, tags, edits } = activity;
  return {
    id,
    postedAt,
    text,
    author,
    verb,
    lang,
    link,
    matchingRules,
    tags,
    edits,
    retweeted: said(activity.retweeted),
    quoted: said(activity.quoted),
  };
}

function expected(post: PostModel | undefined): unknown {
  if (post === undefined) return undefined;
  const rules = post.rules ?? [];
  return {
    id: String(post.id),
    postedAt: post.postedAt,
    text: post.longText ?? post.text,
    author: expectedAuthor(post.author),
    verb: post.shared === undefined ? 'post' : 'share',
    lang: post.lang,
    link: `http://twitter.com/${post.author.handle}/statuses/${post.id}`,
    matchingRules: rules.map(({ tag, id, value }) => ({ tag, id: id?.toString(), value })),
    tags: [...new Set(rules.map(rule => rule.tag).filter(tag => tag !== null))],
    edits:
      post.edits.length === 0
        ? undefined
        : {
            initialId: String(post.edits[0]),
            ids: post.edits.map(String),
            editableUntil: new Date(post.postedAt.getTime() + 1_800_000),
            remaining: 5,
            editable: true,
          },
    retweeted: expected(post.shared),
    quoted: expected(post.quoted),
  };
}

function expectedAuthor({ id, handle, name }: AuthorModel) {
  return { id: String(id), handle, name };
}

describe('Activity', () => {
  it('has the properties of its post in both formats, however the JSON is formatted', () => {
    fc.assert(
      fc.property(arbitraryPost, ({ bytes, model, format }) => {
        const activity = new Activity(bytes);
        expect(activity.format).toBe(format);
        expect(said(activity)).toEqual(expected(model));
      }),
      { numRuns: bySuite(13, 600) },
    );
  });

  it('returns the same values in whatever order its properties are read', () => {
    const properties = [
      'id',
      'postedAt',
      'text',
      'author',
      'verb',
      'lang',
      'tags',
      'format',
    ] as const;
    const order = fc.shuffledSubarray([...properties], { minLength: properties.length });
    fc.assert(
      fc.property(arbitraryPost, order, ({ bytes }, names) => {
        const activity = new Activity(bytes);
        for (const name of names) expect(activity[name]).toEqual(new Activity(bytes)[name]);
      }),
    );
  });

  it('parses the whole post with exact ids', () => {
    fc.assert(
      fc.property(arbitraryPost, ({ bytes, json }) => {
        const activity = new Activity(bytes);
        expect(activity.post).toEqual(parseExact(json));
        expect(activity.post).toBe(activity.post);
        expect(JSON.parse(JSON.stringify(activity))).toEqual(parseExact(json));
      }),
    );
  });

  it('copies neither its bytes nor those of the nested posts', () => {
    fc.assert(
      fc.property(arbitraryPost, ({ bytes, model }) => {
        const { raw, retweeted, quoted, byteLength } = new Activity(bytes);
        expect(raw).toBe(bytes);
        expect(byteLength).toBe(bytes.length);
        expect(retweeted?.raw.buffer).toBe(model.shared && bytes.buffer);
        expect(quoted?.raw.buffer).toBe(model.quoted && bytes.buffer);
      }),
    );
  });

  it('does not copy a Uint8Array that is not a Buffer', () => {
    const array = new TextEncoder().encode('{"id_str":"1"}');
    expect(new Activity(array).raw.buffer).toBe(array.buffer);
  });

  it('reads the id from id_str, or from the digits of id if there is no id_str', () => {
    const time = '"created_at":"Wed Oct 10 20:19:24 +0000 2018"';
    const idOf = (members: string) => new Activity(Buffer.from(`{${time},${members}}`)).id;
    expect(idOf('"id":505874924095815700,"id_str":"505874924095815681"')).toBe(
      '505874924095815681',
    );
    expect(idOf('"id":505874924095815681')).toBe('505874924095815681');
    expect(idOf('"user":{"id_str":"7","id":7},"id_str":"12"')).toBe('12');
    expect(idOf('"\\u0069d_str":"1\\u0032"')).toBe('12');
  });

  it('reads the language of an old post without twitter_lang from gnip.language', () => {
    const gnip = { language: { value: 'it' } };
    const postedTime = '2011-05-06T17:39:47.000Z';
    expect(minimal({ postedTime, gnip }).lang).toBe('it');
    expect(minimal({ postedTime, twitter_lang: 'en', gnip }).lang).toBe('en');
    expect(minimal({ postedTime }).lang).toBeUndefined();
  });

  it('reads the full text from full_text or extended_tweet', () => {
    const created_at = 'Wed Oct 10 20:19:24 +0000 2018';
    expect(minimal({ created_at, text: 'cut', full_text: 'whole' }).text).toBe('whole');
    expect(minimal({ created_at, full_text: 'whole' }).text).toBe('whole');
    const extended_tweet = { full_text: 'longest' };
    expect(minimal({ created_at, text: 'cut', full_text: 'long', extended_tweet }).text).toBe(
      'longest',
    );
  });

  it('finds matching rules even in the member of the other format', () => {
    const matching_rules = [{ tag: 'a', id: 7 }];
    expect(minimal({ created_at: '', matching_rules }).tags).toEqual(['a']);
    expect(minimal({ id: 'tag:x:1', matching_rules }).tags).toEqual(['a']);
    expect(minimal({ id: 1, gnip: { matching_rules } }).matchingRules).toEqual([
      { tag: 'a', id: '7' },
    ]);
    expect(minimal({ id: 1, matching_rules: null }).tags).toEqual([]);
  });

  it.each([100, 900, 1_100, 1_950, 2_100, 5_000])(
    'reads its matching rules in `gnip` if `gnip` starts %i bytes before the end',
    distance => {
      const post = (gnip: object) => ({
        id: 'tag:search.twitter.com,2005:7',
        object: { gnip: { matching_rules: [{ tag: 'of the original' }] } },
        gnip: { urls: [{ title: 'x'.repeat(distance) }], ...gnip },
      });
      expect(minimal(post({ matching_rules: [{ tag: 'own' }] })).tags).toEqual(['own']);
      expect(minimal(post({})).tags).toEqual([]);
      expect(minimal({ ...post({}), matching_rules: [{ tag: 'outside' }] }).tags).toEqual([
        'outside',
      ]);
    },
  );

  it('replaces the matching rules and keeps all other bytes', () => {
    const rule = fc.record({
      tag: fc.option(fc.string({ unit: 'grapheme' })),
      id: fc.option(fc.bigInt(1n, 2n ** 63n - 1n).map(String), { nil: undefined }),
    });
    fc.assert(
      fc.property(
        postModel,
        style,
        fc.array(rule),
        fc.boolean(),
        (model, look, rules, original) => {
          const { bytes, json } = writePost(
            model,
            original ? 'original' : 'activity_streams',
            look,
          );
          const changed = new Activity(bytes).withMatchingRules(rules);
          expect(changed.matchingRules).toEqual(rules);
          // If both are parsed, the post differs from the original only in its matching rules.
          const before = parseExact(json) as { matching_rules?: unknown; gnip?: object };
          const printed = rules.map(({ tag, id }) => ({ tag, ...(id && { id, id_str: id }) }));
          if (original) before.matching_rules = printed;
          else before.gnip = { ...before.gnip, matching_rules: printed };
          expect(changed.post).toEqual(before);
          const root = LazyObject.of(bytes);
          const span = (original ? root : root?.object('gnip'))?.span('matching_rules');
          const [start, end] = span ?? [bytes.length, bytes.length];
          const kept = bytes.length - (end - start);
          expect(
            commonStart(bytes, changed.raw) + commonEnd(bytes, changed.raw),
          ).toBeGreaterThanOrEqual(kept);
        },
      ),
      { numRuns: bySuite(9, 400) },
    );
  });

  it('adds matching rules to a post that has none', () => {
    const rules = [{ tag: 'a', id: undefined }];
    const put = (json: string) =>
      new Activity(Buffer.from(json)).withMatchingRules(rules).raw.toString();
    const postedTime = '"postedTime":"2011-05-06T17:39:47.000Z"';
    expect(put('{"created_at":""}')).toBe('{"created_at":"","matching_rules":[{"tag":"a"}]}');
    expect(put('{"created_at":"" }\n')).toBe('{"created_at":"" ,"matching_rules":[{"tag":"a"}]}\n');
    expect(put(`{${postedTime}}`)).toBe(`{${postedTime},"gnip":{"matching_rules":[{"tag":"a"}]}}`);
    expect(put(`{"gnip":{},${postedTime}}`)).toBe(
      `{"gnip":{"matching_rules":[{"tag":"a"}]},${postedTime}}`,
    );
    expect(put(`{"gnip":null,${postedTime}}`)).toBe(
      `{"gnip":{"matching_rules":[{"tag":"a"}]},${postedTime}}`,
    );
    expect(put(`{"gnip":{"urls":[]},${postedTime}}`)).toBe(
      `{"gnip":{"urls":[],"matching_rules":[{"tag":"a"}]},${postedTime}}`,
    );
  });

  it('predicts whether matching rules that it inserts into a post would be found there', () => {
    const lists = ['[]', '[{"tag":"old","id":3}]', 'null', '7'];
    const gnip = fc
      .array(
        fc.tuple(
          fc.constantFrom('"matching_rules"', '"matching_rule\\u0073"', '"urls"'),
          fc.constantFrom(...lists),
        ),
        { maxLength: 3 },
      )
      .map(members => `{${members.map(([key, list]) => `${key}:${list}`).join(' , ')}}`);
    const member = fc.oneof(
      fc
        .tuple(
          fc.constantFrom('"matching_rules"', '"matching_rule\\u0073"'),
          fc.constantFrom(...lists),
        )
        .map(([key, list]) => `${key}: ${list}`),
      fc
        .tuple(
          fc.constantFrom('"gnip"', '"\\u0067nip"'),
          fc.oneof(gnip, fc.constantFrom('null', '1')),
        )
        .map(([key, value]) => `${key} :${value}`),
      gnip.map(value => `"object":{"gnip":${value},"matching_rules":[{"tag":"other"}]}`),
      fc.constantFrom('"text":"matching_rules"', `"text":"${'long '.repeat(500)}"`),
    );
    let read = 0;
    fc.assert(
      fc.property(
        fc.array(member, { maxLength: 5 }),
        fc.constantFrom('"id":1,"id_str":"1"', '"id":"tag:search.twitter.com,2005:1"', '"id":"x"'),
        fc.constantFrom('"created_at":""', '"postedTime":""'),
        fc.nat(5),
        (members, id, time, at) => {
          const json = `{${members.toSpliced(at, 0, id, time).join(',')}}`;
          const post = new Activity(Buffer.from(json));
          const rules = [{ tag: 'new', id: '9007199254740993' }];
          const changed = post.withMatchingRules(rules);
          if (!post.placeOfRules.isRead) return;
          read++;
          expect(changed.matchingRules).toEqual(rules);
        },
      ),
      { numRuns: bySuite(125, 5_000) },
    );
    expect(read).toBeGreaterThan(bySuite(25, 100));
  });

  it('names a missing member in the error, with the start of the document', () => {
    const created_at = 'Wed Oct 10 20:19:24 +0000 2018';
    expect(() => minimal({ created_at }).id).toThrow(
      'Not a post: expected an id in id_str or id; it starts with "{\\"created_at\\"',
    );
    expect(() => minimal({ id: 1 }).format).toThrow('expected created_at or postedTime');
    expect(() => minimal({ id: 1 }).postedAt).toThrow('expected a time');
    expect(() => minimal({ created_at: 'noon' }).postedAt).toThrow('expected a time');
    expect(() => minimal({ postedTime: created_at }).postedAt).toThrow('expected a time');
    expect(() => minimal({ created_at }).text).toThrow('expected text or body');
    expect(() => minimal({ created_at }).author).toThrow('expected user or actor');
    expect(() => minimal({ user: {} }).author).toThrow('expected an author with id and name');
    expect(() => minimal({ created_at, edit_history: {} }).edits).toThrow('expected ids');
    expect(() => minimal({ id: 'none', postedTime: '' }).id).toThrow(DataError);
  });

  it('throws a DataError from every property if the input is not a post', () => {
    const properties = [
      ...(['id', 'postedAt', 'text', 'author', 'verb', 'lang', 'link', 'tags', 'format'] as const),
      ...(['post', 'retweeted', 'quoted', 'edits', 'matchingRules'] as const),
    ];
    for (const document of [
      '',
      ' ',
      '[]',
      '12',
      'null',
      '"x"',
      'GET / HTTP',
      '{"id',
      '{,}',
      '{"a"1}',
    ])
      for (const property of properties)
        expect(() => new Activity(Buffer.from(document))[property]).toThrow(DataError);
  });

  it('prints its identifying properties in a log', () => {
    const activity = minimal({
      created_at: 'Wed Oct 10 20:19:24 +0000 2018',
      id_str: '1050118621198921728',
      text: 'Snow!',
      user: { id_str: '7', screen_name: 'ann', name: 'Ann' },
    });
    expect(inspect(activity)).toBe(
      "Activity {\n  id: '1050118621198921728',\n  postedAt: 2018-10-10T20:19:24.000Z,\n  author: 'ann',\n  text: 'Snow!'\n}",
    );
  });

  it('prints its JSON in a log if it is not a post', () => {
    expect(inspect(minimal({ id: 1 }))).toBe('Activity (not a post) "{\\"id\\":1}"');
  });
});

function commonStart(a: Buffer, b: Buffer): number {
  let length = 0;
  while (length < Math.min(a.length, b.length) && a[length] === b[length]) length++;
  return length;
}

function commonEnd(a: Buffer, b: Buffer): number {
  return commonStart(Buffer.from(a).reverse(), Buffer.from(b).reverse());
}
