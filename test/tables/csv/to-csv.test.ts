import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { SecondCorpus } from '../../../bench/second-corpus.js';
import { DataError } from '../../../src/base/errors.js';
import { Activity } from '../../../src/post/activity.js';
import { samplePosts } from '../../../src/service/sample/sample-posts.js';
import { csvRow } from '../../../src/tables/csv/csv-row.js';
import { toCsv } from '../../../src/tables/csv/to-csv.js';
import { posts } from '../../../src/tables/post-columns.js';
import { rowReader } from '../../../src/tables/row-reader.js';
import { listColumns } from '../../../src/tables/table-options.js';
import { arbitraryPost } from '../../post/arbitrary-post.js';
import { unchecked } from '../../unchecked.js';

type Routed = { readonly tag: string; readonly activity: Activity };

const print = toCsv();
const read = rowReader('tables.toCsv', listColumns(posts), 'error');
const corpus = new SecondCorpus(7);
const line = (n: number) => corpus.line(1.7e12 + n * 1000);

function outcomeOf(make: () => string): string {
  try {
    return make();
  } catch (error) {
    expect(error).toBeInstanceOf(DataError);
    return (error as Error).message;
  }
}

describe('tables.toCsv', () => {
  it('prints the same row as for the parsed post, for any post of both formats', () => {
    fc.assert(
      fc.property(arbitraryPost, ({ bytes }) => {
        const parsed = outcomeOf(() => `${csvRow(read(new Activity(bytes)), false)}\n`);
        expect(outcomeOf(() => print(new Activity(bytes)))).toBe(parsed);
      }),
    );
  });

  it('prints each row independently of earlier posts', () => {
    const bytes = Array.from({ length: 50 }, (_, n) => line(n));
    const alone = bytes.map(one => toCsv()(new Activity(one)));
    expect(bytes.map(one => print(new Activity(one)))).toEqual(alone);
  });

  it('quotes a single column in the same way as csvRow', () => {
    const made = toCsv(['text']);
    const tags = toCsv(['hashtags']);
    const reader = rowReader('tables.toCsv', listColumns(['text']), 'error');
    const post = (text: string) =>
      Buffer.from(
        `{"created_at":"Wed Oct 10 20:19:24 +0000 2018","id":1,"id_str":"1","text":"${text}","entities":{"hashtags":[{"text":"${text}"}]}}`,
      );
    for (const text of ['\\\\.', '\\u005c.', 'a\\\\.', '', '.', '\\\\', 'a\\ud800b']) {
      const row = made(new Activity(post(text)));
      const expected = Buffer.from(`${csvRow(reader(new Activity(post(text))), false)}\n`);
      expect(row).toBe(String(expected));
      expect(['\\.\r\n', '\r\n']).not.toContain(row);
    }
    expect(tags(new Activity(post('a\\ud800b')))).toBe('"[""a\ufffdb""]"\r\n');
  });

  it('prints the tag of a routed post', () => {
    const [activity] = samplePosts(Date.UTC(2022, 9, 3), { postsPerMinute: 1 });
    const tagged = toCsv<Routed>(['tag', 'id'])({ tag: 'a "quoted", tag', activity: activity! });
    expect(tagged).toBe(`"a ""quoted"", tag",${activity!.id}\r\n`);
  });

  it('may be called any number of times', () => {
    const made = Array.from({ length: 200 }, () => toCsv());
    const activity = new Activity(line(0));
    expect(new Set(made.map(one => one(activity))).size).toBe(1);
  });

  it('prints a post completely even if it is larger than the memory of the encoder', () => {
    const text = 'ü'.repeat(800_000);
    const post = JSON.stringify({
      created_at: 'Mon Oct 03 12:00:00 +0000 2022',
      id_str: '12',
      text,
      user: { id_str: '7', screen_name: 'ann' },
    });
    expect(toCsv(['text', 'id'])(new Activity(Buffer.from(post)))).toBe(`${text},12\r\n`);
  });

  it('prints custom columns next to columns of posts', () => {
    const length = { name: 'length', type: 'int32', value: (post: Activity) => post.text.length };
    const [activity] = samplePosts(Date.UTC(2022, 9, 3), { postsPerMinute: 1 });
    const row = toCsv<Activity>(['id', { ...length, type: 'int32' }])(activity!);
    expect(row).toBe(`${activity!.id},${activity!.text.length}\r\n`);
  });

  it.each([null, 7, 'text', {}, { activity: {} }, Buffer.from('{}')])(
    'throws for %j, which is not a post',
    item => {
      expect(() => print(unchecked(item))).toThrow(DataError);
    },
  );

  it('prints a post in the same way after it threw for another post', () => {
    const good = new Activity(line(0));
    const expected = print(good);
    expect(() => print(new Activity(Buffer.from('{"id_str":"1","text":')))).toThrow(DataError);
    expect(print(good)).toBe(expected);
  });
});
