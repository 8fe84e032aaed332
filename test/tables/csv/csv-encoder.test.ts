import { describe, expect, it } from 'vitest';
import { SecondCorpus } from '../../../bench/second-corpus.js';
import { Activity } from '../../../src/post/activity.js';
import { CSV_ROWS } from '../../../src/tables/csv/csv-encoder.js';
import { toCsv } from '../../../src/tables/csv/to-csv.js';

const COLUMNS = ['id', 'text', 'author_handle'] as const;
const corpus = new SecondCorpus(17);
const POSTS = Array.from({ length: 4 }, (_, index) => corpus.line(1.7e12 + index));

const encoder = () =>
  CSV_ROWS.create({ columns: COLUMNS, invalidValues: 'error', escapesFormulas: false });

describe('encoded CSV rows', () => {
  it('contain the values of the right posts if two encoders are used in turn', () => {
    const line = toCsv([...COLUMNS]);
    const [first, second] = [encoder(), encoder()];
    const [a, b, c, d] = POSTS as [Buffer, Buffer, Buffer, Buffer];
    let ofSecond: unknown;
    const ofFirst = first(addToFirst => {
      addToFirst(a, 0, a.length, undefined);
      ofSecond = second(addToSecond => {
        addToSecond(b, 0, b.length, undefined);
        addToFirst(c, 0, c.length, undefined);
        addToSecond(d, 0, d.length, undefined);
      });
    });
    const [lineA, lineB, lineC, lineD] = POSTS.map(post => line(new Activity(post)));
    expect(String(ofFirst)).toBe(`${lineA}${lineC}`);
    expect(String(ofSecond)).toBe(`${lineB}${lineD}`);
  });

  it('are complete even if some rows are longer than the buffer', () => {
    const line = toCsv(['id', 'text']);
    const posts = [10, 100_000, 50_000, 140_000, 200_000, 5].map((length, index) =>
      Buffer.from(
        JSON.stringify({
          id: index,
          id_str: `${index}`,
          created_at: 'x',
          text: 'é'.repeat(length / 2),
        }),
      ),
    );
    const encode = CSV_ROWS.create({
      columns: ['id', 'text'],
      invalidValues: 'error',
      escapesFormulas: false,
    });
    const rows = encode(add => {
      for (const post of posts) add(post, 0, post.length, undefined);
    });
    expect(String(rows)).toBe(posts.map(post => line(new Activity(post))).join(''));
  });

  it('are complete even if all rows of numbers and times together are longer than the buffer', () => {
    const columns = ['posted_at', 'favorite_count'] as const;
    const [post] = POSTS as [Buffer];
    const encode = CSV_ROWS.create({ columns, invalidValues: 'error', escapesFormulas: false });
    const line = toCsv([...columns])(new Activity(post));
    const count = Math.ceil((600 * 1024) / line.length);
    const rows = encode(add => {
      for (let row = 0; row < count; row++) add(post, 0, post.length, undefined);
    });
    expect(String(rows) === line.repeat(count)).toBe(true);
  });
});
