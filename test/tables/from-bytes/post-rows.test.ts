import { readdirSync, readFileSync } from 'node:fs';
import path from 'node:path';
import fc from 'fast-check';
import { describe, expect, it, vi } from 'vitest';
import { SecondCorpus } from '../../../bench/second-corpus.js';
import { DataError } from '../../../src/base/errors.js';
import { Activity } from '../../../src/post/activity.js';
import type { WantedMembers } from '../../../src/post/bytes/find-members.js';
import { PostInBytes } from '../../../src/post/bytes/post-in-bytes.js';
import { POST_MEMBERS } from '../../../src/post/bytes/post-members.js';
import { samplePosts } from '../../../src/service/sample/sample-posts.js';
import type { RowValue } from '../../../src/tables/column.js';
import { CsvCells } from '../../../src/tables/csv/csv-encoder.js';
import { csvRow } from '../../../src/tables/csv/csv-row.js';
import {
  itemWriter,
  postRowReader,
  postRowWriter,
} from '../../../src/tables/from-bytes/post-rows.js';
import { BlockCells, RowBlockBuilder } from '../../../src/tables/parquet/row-block.js';
import {
  POST_COLUMNS,
  type PostColumnName,
  PostView,
  posts,
} from '../../../src/tables/post-columns.js';
import { rowReader } from '../../../src/tables/row-reader.js';
import { listColumns } from '../../../src/tables/table-options.js';
import { jsonValue } from '../../post/arbitrary-json.js';
import { type ArbitraryPost, arbitraryPost } from '../../post/arbitrary-post.js';
import { printJson, style } from '../../post/print-json.js';
import { bySuite } from '../../suite.js';

const NAMES = Object.keys(posts) as PostColumnName[];
const parsed = rowReader('csv', listColumns(NAMES), 'error');

function outcomeOf(read: () => unknown): unknown {
  try {
    return read();
  } catch (error) {
    expect(error).toBeInstanceOf(DataError);
    return (error as Error).message;
  }
}

const post = PostInBytes.ofThread() as PostInBytes;
const CSV = [false, true].map(escapesFormulas => {
  const out = new CsvCells(post.strings, escapesFormulas);
  return { escapesFormulas, out, write: postRowWriter('csv', NAMES, 'error', { post, out }) };
});
const types = listColumns(NAMES).map(({ type }) => type);
const block = new RowBlockBuilder(types);
const writeToBlock = postRowWriter('csv', NAMES, 'error', {
  post,
  out: new BlockCells(block, post.strings),
});

/** Returns the CSV of a post. The post is surrounded by other bytes, as in a file. */
function rowIn(bytes: Buffer): unknown {
  const content = Buffer.concat([Buffer.from('}"\n'), bytes, Buffer.from('\n{"id":"')]);
  const [{ out, write }] = CSV as [(typeof CSV)[number]];
  out.clear();
  return outcomeOf(() => {
    write(content, 3, 3 + bytes.length);
    return out.take().toString();
  });
}

function parsedRow(bytes: Buffer): unknown {
  return outcomeOf(() => `${csvRow(parsed(new Activity(bytes)), false)}\n`);
}

/**
 * A row that is written before and after the tested row. If a cell were not cleared, one of these
 * rows would be wrong.
 */
const AROUND = new SecondCorpus(11).line(1.7e12);

function csvOf({ out, write }: (typeof CSV)[number], bytes: Buffer): unknown {
  out.clear();
  return outcomeOf(() => {
    for (const row of [AROUND, bytes, AROUND]) write(row, 0, row.length);
    return out.take().toString();
  });
}

function blockOf(write: (row: Buffer) => void, bytes: Buffer): unknown {
  block.clear();
  return outcomeOf(() => {
    for (const row of [AROUND, bytes, AROUND]) write(row);
    return block.take();
  });
}

function expectSame(bytes: Buffer): void {
  const row = outcomeOf(() => parsed(new Activity(bytes)));
  expect(rowIn(bytes)).toEqual(parsedRow(bytes));
  for (const csv of CSV) {
    const [before, behind] = [AROUND, AROUND].map(line => parsed(new Activity(line)));
    const lines = [before, row, behind].map(
      one => `${csvRow(one as RowValue[], csv.escapesFormulas)}\n`,
    );
    expect(csvOf(csv, bytes)).toEqual(typeof row === 'string' ? row : lines.join(''));
  }
  expect(blockOf(line => writeToBlock(line, 0, line.length), bytes)).toEqual(
    blockOf(line => block.add(parsed(new Activity(line))), bytes),
  );
}

/** Returns whether the whole post was parsed for the row. Arrays are always parsed separately. */
function isParsed(bytes: Buffer): boolean {
  return parsedIn(bytes).some(
    json => json.includes('"created_at"') || json.includes('"postedTime"'),
  );
}

function parsedIn(bytes: Buffer): string[] {
  const parse = vi.spyOn(JSON, 'parse');
  try {
    rowIn(bytes);
    return parse.mock.calls.map(([json]) => json);
  } finally {
    parse.mockRestore();
  }
}

function mentionsOf(count: number) {
  return Array.from({ length: count }, (_, number) => ({
    id: number + 1,
    id_str: String(number + 1),
    screen_name: `user${number}`,
  }));
}

type Members = Record<string, unknown>;
const isRecord = (value: unknown): value is Members =>
  typeof value === 'object' && value !== null && !Array.isArray(value);

function placesIn(value: unknown, found: (Members | unknown[])[] = []): (Members | unknown[])[] {
  if (typeof value !== 'object' || value === null) return found;
  found.push(value as Members);
  for (const nested of Object.values(value)) placesIn(nested, found);
  return found;
}

describe('a table row read from the bytes of a post', () => {
  it('equals that of the parsed post, in both formats', () => {
    fc.assert(
      fc.property(arbitraryPost, ({ bytes }) => expectSame(bytes)),
      { numRuns: bySuite(13, 3_000) },
    );
  });

  it('equals that of the parsed post after any member values are changed', () => {
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
            const places = placesIn(post);
            const object = places[place % places.length] as Members;
            const keys = Object.keys(object);
            if (keys.length > 0) object[keys[member % keys.length] as string] = value;
          }
          expectSame(Buffer.from(printJson(post, look)));
        },
      ),
      { numRuns: bySuite(33, 6_000) },
    );
  });

  it('equals the row of the parsed post if members are missing', () => {
    fc.assert(
      fc.property(
        arbitraryPost,
        fc.array(fc.tuple(fc.nat(), fc.nat()), { minLength: 1 }),
        (one, cuts) => {
          const post = JSON.parse(one.json, (_key, value) => value);
          for (const [place, member] of cuts) {
            const objects = placesIn(post).filter(isRecord);
            const object = objects[place % objects.length] as Members;
            delete object[Object.keys(object)[member % 40] ?? ''];
          }
          expectSame(Buffer.from(JSON.stringify(post)));
        },
      ),
      { numRuns: bySuite(18, 3_000) },
    );
  });

  it('equals that of the parsed post after any bytes are changed, if the result is JSON', () => {
    fc.assert(
      fc.property(
        arbitraryPost,
        fc.array(fc.tuple(fc.nat(), fc.nat(255)), { minLength: 1, maxLength: 3 }),
        fc.option(fc.nat()),
        ({ bytes }, changes, cut) => {
          const changed = Buffer.from(bytes);
          for (const [at, byte] of changes) changed[at % changed.length] = byte;
          const part = cut === null ? changed : changed.subarray(0, cut % changed.length);
          const row = rowIn(part);
          if (isJson(part)) {
            if (!hasTwice(part)) expect(row).toEqual(parsedRow(part));
          } else if (cut !== null) expect(row).not.toMatch(/\r\n$/);
        },
      ),
      { numRuns: bySuite(50, 6_000) },
    );
  });

  it('is read from generated posts and posts of other tools without parsing the post', () => {
    const corpus = new SecondCorpus(3);
    const others = Array.from({ length: bySuite(50, 200) }, (_, index) =>
      corpus.line(1.7e12 + index),
    );
    const from = Date.parse('2022-12-24T18:00Z');
    const made = (['original', 'activity_streams'] as const).flatMap(format =>
      samplePosts(from, { postsPerMinute: bySuite(30, 100), format }).map(({ raw }) => raw),
    );
    for (const bytes of [...others, ...made]) {
      expectSame(bytes);
      expect(isParsed(bytes)).toBe(false);
    }
  });

  it("equals that of the parsed post for any prefix of a retweet's text", () => {
    const corpus = new SecondCorpus(5);
    const texts = [
      ...[
        'RT @ann: one',
        'RT @ann:one',
        'RT @ann one',
        'RT @: one',
        'RT @ann',
        'RT @',
        'RT',
        'R',
        '',
      ],
      ...[
        'one \\u30eb',
        'rt @ann: \\u30eb',
        'RT @ann: \\u30eb',
        'RT @ann \\u30eb: one',
        'é RT @ann: ',
      ],
      ...['\\u30eb RT @ann: one', '\\/RT @ann: one', 'RT \\n@ann: one', 'RT @ann\\"'],
      ...['\\u0052T @ann: one', 'R\\u0054 @ann: one', 'RT\\u0020@ann: one', 'RT \\u0040ann: one'],
      ...['RT @\\u0061nn: one', 'RT @an\\u006e: one', 'RT @ann\\u003a one', 'RT @ann:\\u0020one'],
    ];
    const isRetweet = (bytes: Buffer) => bytes.includes('"retweeted_status":{');
    const lines = Array.from({ length: 60 }, (_, n) => corpus.line(1.7e12 + n));
    const retweet = String(lines.find(isRetweet));
    for (const text of texts) {
      const bytes = Buffer.from(
        retweet.replace(/"text":"(?:[^"\\]|\\.)*"/, () => `"text":"${text}"`),
      );
      expect(bytes.includes(`"text":"${text}"`)).toBe(true);
      expectSame(bytes);
      const extended = Buffer.from(String(bytes).replaceAll('"text":', '"full_text":'));
      expectSame(extended);
      if (text.includes('\\u00')) continue;
      expect(isParsed(extended)).toBe(false);
      // The prefix `RT @handle: ` of a retweet is ASCII. Therefore, a text without escapes of ASCII
      // characters need not be parsed.
      expect(parsedIn(bytes)).not.toContain(`"${text}"`);
    }
  });

  it.each([
    [
      'the list of its extended media is empty',
      { extended_entities: { media: [] }, entities: { media: [{ type: 'photo' }] } },
      { media_types: ['photo'] },
    ],
    [
      'the second of its hashtags is a number',
      { entities: { hashtags: [{ text: 'one' }, { text: 2 }, { text: 'three' }] } },
      { hashtags: ['one', '', 'three'] },
    ],
    [
      'the final address of a link is empty',
      {
        entities: {
          urls: [
            { url: 'https://t.co/a', expanded_url: 'https://a.example/', unwound: { url: '' } },
          ],
        },
      },
      { links: ['https://a.example/'] },
    ],
    [
      'it mentions more people than fit in its memory for mentions',
      { entities: { user_mentions: mentionsOf(70) } },
      {
        mentioned_ids: mentionsOf(70).map(({ id_str }) => id_str),
        mentioned_handles: mentionsOf(70).map(({ screen_name }) => screen_name),
      },
    ],
    [
      'it mentions a user under two handles',
      {
        entities: {
          user_mentions: [
            { id: 5, id_str: '5', screen_name: 'ann' },
            { id: 5, id_str: '5', screen_name: 'bob' },
            { id: 5, id_str: '5', screen_name: 'ann' },
          ],
        },
      },
      { mentioned_ids: ['5', '5'], mentioned_handles: ['ann', 'bob'] },
    ],
    [
      'its author has several locations',
      {
        user: {
          derived: {
            locations: ['US', 'CA', 'MX'].map(country_code => ({ country_code })),
          },
        },
      },
      { author_country_code: 'US' },
    ],
  ])('equals that of the parsed post if %s', (_, members, cells) => {
    const draft = { id: 7, id_str: '7', created_at: 'Wed Oct 10 20:19:24 +0000 2018', user: {} };
    const bytes = Buffer.from(JSON.stringify({ ...draft, ...members }));
    expectSame(bytes);
    const row = parsed(new Activity(bytes));
    for (const [name, value] of Object.entries(cells))
      expect(row[NAMES.indexOf(name as PostColumnName)]).toEqual(value);
  });

  it.each(['12x34', 'x12', '12x', 'x', 'x:', 'x:12', ':12', '12:', '12:34', '-12', ' 12', ''])(
    'equals that of the parsed post if the post that it replies to has the id "%s"',
    id => {
      const original = { id: 7, id_str: '7', created_at: 'Wed Oct 10 20:19:24 +0000 2018' };
      const activity = { id: 'x:7', verb: 'post', postedTime: '2018-10-10T20:19:24.000Z' };
      expectSame(Buffer.from(JSON.stringify({ ...original, in_reply_to_status_id_str: id })));
      expectSame(Buffer.from(JSON.stringify({ ...activity, actor: { id } })));
      expectSame(Buffer.from(JSON.stringify({ ...activity, id })));
    },
  );

  it('contains the http address of media without https, even for the first post of a thread', async () => {
    const post = {
      ...{ id: 7, id_str: '7', created_at: 'Wed Oct 10 20:19:24 +0000 2018', user: {} },
      extended_entities: {
        media: [
          { media_url: 'http://a.example/' },
          { media_url_https: 'https://b.example/' },
          { media_url: 'http://c.example/', media_url_https: 'https://c.example/' },
        ],
      },
    };
    const bytes = Buffer.from(JSON.stringify(post));
    // A new module has no values of an earlier post in its memory.
    vi.resetModules();
    const module = await import('../../../src/post/bytes/post-in-bytes.js');
    const first = module.PostInBytes.ofThread() as PostInBytes;
    const out = new CsvCells(first.strings, false);
    postRowWriter('csv', NAMES, 'error', { post: first, out })(bytes, 0, bytes.length);
    const row = out.take().toString();
    expect(row).toBe(parsedRow(bytes));
    expect(row).toContain('""http://a.example/"",""https://b.example/"",""https://c.example/""');
  });

  it('equals that of the parsed activity if it has more links than fit in its memory for links', () => {
    const numbers = Array.from({ length: 40 }, (_, number) => number);
    const urls = numbers.map(number => ({ url: `https://t.co/${number}` }));
    const targets = numbers.map(number => `https://example.com/${number}`);
    const activity = {
      id: 'tag:search.twitter.com,2005:7',
      objectType: 'activity',
      verb: 'post',
      postedTime: '2018-10-10T20:19:24.000Z',
      actor: {},
      twitter_entities: { urls },
      gnip: { urls: urls.map(({ url }, number) => ({ url, expanded_url: targets[number] })) },
    };
    const bytes = Buffer.from(JSON.stringify(activity));
    expectSame(bytes);
    expect(parsed(new Activity(bytes))[NAMES.indexOf('links')]).toEqual(targets);
  });

  it('equals that of the parsed post with escaped or duplicate keys and for large posts', () => {
    const post = String(new SecondCorpus(5).line(1.7e12));
    for (const text of [
      post.replace('"lang"', '"l\\u0061ng"'),
      post.replace('"lang"', '"lang":"xx","lang"'),
      post.replace('"user":{', '"user":{"id":1},"user":{'),
      post.replace('{', `{"more":"${'x'.repeat(400_000)}",`),
    ])
      expectSame(Buffer.from(text));
  });

  it('needs only members that MemberFinder finds', () => {
    const from = ['2012-06-01T12:00Z', '2017-11-30T18:00Z', '2024-03-05T14:07Z'].map(Date.parse);
    const made = (['original', 'activity_streams'] as const).flatMap(format =>
      from.flatMap(at => samplePosts(at, { postsPerMinute: 60, format })),
    );
    const read = new Set<string>();
    for (const { post } of made) {
      const view = new PostView({ ...NO_MEMBERS, post: recorded(post, '', read) as typeof post });
      for (const name of NAMES) POST_COLUMNS[name].value(view);
    }
    expect(read.size).toBeGreaterThan(100);
    expect([...read].filter(path => !isFound(path))).toEqual([]);
  });

  it.each([2 ** 31 - 1, 2 ** 31, 2 ** 32 - 1, 2 ** 32, 9_999_999_999])(
    'equals that of the parsed post, or its error, for a count of %d',
    count => {
      const members = { id: 7, id_str: '7', created_at: 'Wed Oct 10 20:19:24 +0000 2018' };
      const bytes = Buffer.from(
        JSON.stringify({ ...members, user: {}, favorite_count: count, retweet_count: count }),
      );
      expect(rowIn(bytes)).toEqual(parsedRow(bytes));
    },
  );

  it('contains the tag by which the post is routed', () => {
    const post = new SecondCorpus(5).line(1.7e12);
    const read = postRowReader('csv', ['id', 'tag'], 'error');
    expect(read(post, 0, post.length, 'ski')).toEqual([new Activity(post).id, 'ski']);
    expect(read(post, 0, post.length)).toEqual([new Activity(post).id, null]);
  });

  it('causes an error with the origin of an invalid post', () => {
    const writer = itemWriter('csv', listColumns(['id', 'favorite_count']), 'error', strings => {
      return new CsvCells(strings, false);
    });
    const bad = new Activity(
      Buffer.from('{"id":7,"id_str":"7","created_at":"x","user":{},"favorite_count":1.5}'),
    );
    let error: unknown;
    try {
      writer?.write(bad, 'posts.json.gz');
    } catch (thrown) {
      error = thrown;
    }
    expect(error).toBeInstanceOf(DataError);
    expect((error as DataError).position).toEqual({ origin: 'posts.json.gz' });
    expect(writer?.write({ no: 'post' })).toBe(false);
  });

  it('causes an error for a post without an id, even if no column reads the id', () => {
    const bad = Buffer.from(
      '{"created_at":"Wed Oct 10 20:19:24 +0000 2018","text":"a","user":{"id_str":"2"}}',
    );
    const read = postRowReader('csv', ['text'], 'error');
    const write = postRowWriter('csv', ['text'], 'error', {
      post,
      out: new CsvCells(post.strings, false),
    });
    const expected = outcomeOf(() => read(bad, 0, bad.length));
    expect(expected).toEqual(expect.any(String));
    expect(outcomeOf(() => write(bad, 0, bad.length))).toBe(expected);
  });

  it.each(['error', 'null'] as const)(
    'contains no value of a post if a later value of that post does not fit its column: %s',
    invalid => {
      const columns = ['id', 'text', 'favorite_count'] as const;
      const good = (id: number) =>
        Buffer.from(
          `{"created_at":"Wed Oct 10 20:19:24 +0000 2018","id":${id},"id_str":"${id}","text":"a","user":{"id_str":"2"},"favorite_count":1}`,
        );
      const bad = Buffer.from(String(good(7)).replace(/1\}$/, '1.5}'));
      const read = postRowReader('csv', columns, invalid);
      const types = listColumns(columns).map(({ type }) => type);
      const [rows, expected] = [new RowBlockBuilder(types), new RowBlockBuilder(types)];
      const csv = new CsvCells(post.strings, false);
      for (const out of [csv, new BlockCells(rows, post.strings)]) {
        const write = postRowWriter('csv', columns, invalid, { post, out });
        for (const one of [good(1), bad, good(3)]) {
          const writeOne = () => write(one, 0, one.length);
          if (one === bad && invalid === 'error') expect(writeOne).toThrow(DataError);
          else writeOne();
        }
      }
      let lines = '';
      for (const one of invalid === 'error' ? [good(1), good(3)] : [good(1), bad, good(3)]) {
        const row = read(one, 0, one.length);
        expected.add(row);
        lines += `${csvRow(row, false)}\n`;
      }
      expect(csv.take().toString()).toBe(lines);
      expect(rows.take()).toEqual(expected.take());
    },
  );

  it('contains null for a value that does not fit its column if invalid values become null, and otherwise causes an error', () => {
    const post = Buffer.from(
      '{"id":7,"id_str":"7","created_at":"x","user":{},"favorite_count":1.5}',
    );
    const lenient = postRowReader('csv', ['id', 'favorite_count', 'posted_at'], 'null');
    expect(lenient(post, 0, post.length)).toEqual(['7', null, null]);
    const strict = postRowReader('csv', ['favorite_count'], 'error');
    expect(() => strict(post, 0, post.length)).toThrow(
      'Column "favorite_count" of post 7: expected a whole number of 32 bits, got 1.5',
    );
  });

  const folder = process.env.MILLRACE_REAL_DATA ?? '';
  it.skipIf(folder === '')(
    'equals that of the parsed post for real posts (needs MILLRACE_REAL_DATA)',
    () => {
      for (const file of readdirSync(path.join(folder, 'posts')))
        for (const line of readFileSync(path.join(folder, 'posts', file), 'utf8')
          .trim()
          .split('\n'))
          expectSame(Buffer.from(line));
    },
  );
});

const NO_MEMBERS = {
  id: '1',
  postedAt: new Date(0),
  matchingRules: [],
  tags: [],
  edits: undefined,
};

/** Records the path of each member that is read. A path ends at an array. */
function recorded(object: object, path: string, read: Set<string>): object {
  return new Proxy(object, {
    get(target, key) {
      const value: unknown = Reflect.get(target, key);
      if (typeof key === 'symbol') return value;
      read.add(path + key);
      return isRecord(value) ? recorded(value, `${path}${key}.`, read) : value;
    },
  });
}

/**
 * Matches members of a quoted post that are read but affect no column. Columns contain only the id
 * and the author of a quoted post.
 */
const OF_NO_COLUMN = /quoted_status\.(?:verb|gnip|retweeted_status)\b/;

function isFound(path: string): boolean {
  if (OF_NO_COLUMN.test(path)) return true;
  let members: true | WantedMembers | undefined = POST_MEMBERS;
  for (const key of path.split('.')) {
    if (members === true || members === undefined) return false;
    members = members[key];
  }
  return members !== undefined;
}

function isJson(bytes: Buffer): boolean {
  try {
    JSON.parse(bytes.toString());
    return true;
  } catch {
    return false;
  }
}

/** Returns whether a document may contain a key twice. A changed key can cause this. */
function hasTwice(bytes: Buffer): boolean {
  const text = bytes.toString();
  return JSON.stringify(JSON.parse(text)).length < text.replaceAll(/\s/g, '').length;
}
