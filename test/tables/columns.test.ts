import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { Activity } from '../../src/activity/activity.js';
import { parseComplianceEvent } from '../../src/activity/compliance-event.js';
import { DataError, OptionError } from '../../src/errors.js';
import { type Columns, listColumns } from '../../src/tables/columns.js';
import { rowReader } from '../../src/tables/row-reader.js';
import * as tables from '../../src/tables/tables.js';
import { pageNamed, tableOf } from '../pages.js';
import { unchecked } from '../unchecked.js';

const post = new Activity(
  Buffer.from('{"id":7,"created_at":"Wed Oct 10 20:19:24 +0000 2018","text":"snow","user":{}}'),
);

const own = (type: string, value: unknown, name = 'mine') =>
  unchecked<tables.Column<unknown>>({ name, type, value: () => value });

function read(column: tables.Column<unknown>, invalid: tables.InvalidValues = 'error') {
  return rowReader('csv', [column as tables.Column<never>], invalid)(post)[0];
}

describe('columns', () => {
  it.each<[unknown, string]>([
    [[], 'must have at least one column'],
    [{}, 'must have at least one column'],
    [['id', 'ID'], 'has no column "ID" of posts; did you mean "id"?'],
    [['posted_ad'], 'has no column "posted_ad" of posts; did you mean "posted_at"?'],
    [['id', 'postedAt'], 'has no column "postedAt" of posts; did you mean "posted_at"?'],
    [['frogs'], 'has no column "frogs" of posts; src/tables/README.md lists them'],
    [['id', 'id'], 'must have each column once, and has "id" twice'],
    [[tables.posts, 'lang'], 'must have each column once, and has "lang" twice'],
    [['id', own('string', '', 'Id')], 'DuckDB takes "id" and "Id" for one'],
    ['id', 'must be a table such as tables.posts'],
    [[7], 'must be a table such as tables.posts'],
    [own('string', ''), 'must be a list, got one column'],
    [[own('text', '')], 'must have a `type` for "mine": string, int32'],
    [[own('list<list<string>>', '')], 'must have a `type` for "mine"'],
    [[own('string', '', '')], 'must have columns with a `name`'],
    [[own('string', '', 'a\nb')], 'must have columns with a `name`'],
    [[{ name: 'a', type: 'string' }], 'must have a `value` for'],
    [[{ ...own('string', ''), about: 'x' }], 'has an unknown member `about` of "mine"'],
  ])('that are %j are refused', (columns, message) => {
    const error = (() => {
      try {
        return tables.toRow(unchecked(columns));
      } catch (thrown) {
        return thrown;
      }
    })();
    expect(error).toBeInstanceOf(OptionError);
    expect(error).toMatchObject({ option: 'columns' });
    expect((error as Error).message).toContain(`tables.toRow: \`columns\` `);
    expect((error as Error).message).toContain(message);
  });

  it('are chosen by name, as columns, as tables, and come in that order', () => {
    const words = own('int32', 2, 'words');
    const names = (columns: Columns<never>) => listColumns(columns).map(({ name }) => name);
    expect(names(['lang', 'id'])).toEqual(['lang', 'id']);
    expect(names(unchecked([words, tables.counts, 'id']))).toEqual([
      ...['words', 'time_period', 'start', 'count', 'id'],
    ]);
    expect(names(unchecked(tables.usage))).toEqual(Object.keys(tables.usage));
  });

  it('of every table are in the documentation, as they are in the code', () => {
    const page = pageNamed('src/tables/README.md');
    const all = { ...tables } as Record<string, unknown>;
    for (const [name, table] of Object.entries(all)) {
      if (typeof table === 'function') continue;
      const rows = Object.values(table as tables.Table<never>).map(column => [
        `\`${column.name}\``,
        `\`${column.type}\``,
        column.meaning,
      ]);
      expect(tableOf(page, `\`tables.${name}\``, 'Column'), name).toEqual(rows);
    }
  });
});

describe('a value', () => {
  it.each<[string, unknown, unknown]>([
    ['string', 'snow 🍕\0', 'snow 🍕\0'],
    ['string', '', ''],
    ['int32', -(2 ** 31), -(2 ** 31)],
    ['int64', '9223372036854775807', 9223372036854775807n],
    ['int64', '-9223372036854775808', -9223372036854775808n],
    ['int64', 12, 12n],
    ['double', 0.1, 0.1],
    ['boolean', false, false],
    ['timestamp', new Date(5), new Date(5)],
    ['list<string>', ['a', ''], ['a', '']],
    ['list<int64>', ['1', 2], [1n, 2n]],
    ['list<boolean>', [], []],
    ['string', null, null],
    ['list<string>', undefined, null],
  ])('of type %s may be %j', (type, value, held) => {
    expect(read(own(type, value))).toEqual(held);
  });

  it.each<[string, unknown, string]>([
    ['string', 7, 'expected a string, got 7'],
    ['int32', 1.5, 'expected a whole number of 32 bits, got 1.5'],
    ['int32', 2 ** 31, 'got 2147483648'],
    ['int32', '7', 'got "7"'],
    ['int64', 2 ** 53, 'got 9007199254740992'],
    [
      'int64',
      '9223372036854775808',
      'a whole number of 64 bits: a bigint, digits or a safe integer',
    ],
    ['int64', '1e3', 'got "1e3"'],
    ['double', Number.NaN, 'expected a finite number, got NaN'],
    ['boolean', 'true', 'expected true or false, got "true"'],
    ['timestamp', new Date('x'), 'expected a valid Date, got an invalid Date'],
    ['timestamp', 5, 'got 5'],
    ['list<string>', 'a', 'expected a list, each element a string, got "a"'],
    ['list<string>', ['a', null], 'expected a list, each element a string'],
  ])(
    'of type %s may not be %j: the error has post and column, or it is null',
    (type, value, message) => {
      const column = own(type, value);
      expect(() => read(column)).toThrow(DataError);
      expect(() => read(column)).toThrow('Column "mine" of post 7: ');
      expect(() => read(column)).toThrow(message);
      expect(read(column, 'null')).toBe(null);
    },
  );

  it('that a post lacks is an error of its column, or null', () => {
    const row = tables.toRow(['posted_at']);
    const timeless = new Activity(Buffer.from('{"id":7,"created_at":"yesterday"}'));
    expect(() => row(timeless)).toThrow('Column "posted_at" of post 7: Not a post');
    const lenient = rowReader('csv', [tables.posts.posted_at], 'null');
    expect(lenient(timeless)).toEqual([null]);
  });

  it.each(['error', 'null'] as const)(
    'that is a promise is refused, with invalidValues %s: one that rejected ended the process',
    async invalid => {
      const value = () => Promise.reject(new Error('no answer'));
      const column = unchecked<tables.Column<Activity>>({ name: 'mood', type: 'string', value });
      const read = rowReader('csv', [column as tables.Column<never>], invalid);
      expect(() => read(post)).toThrow(OptionError);
      expect(() => read(post)).toThrow(
        'csv: `columns` must have values, and that of "mood" is a promise: get what it needs with mapAsync()',
      );
      // An unhandled rejection would be reported now.
      await new Promise(resolve => setImmediate(resolve));
    },
  );

  it('of what is not a post is an error, also where invalid values become null', () => {
    const lenient = rowReader('csv', [tables.posts.lang], 'null');
    expect(() => lenient({ count: 1 })).toThrow(
      'The columns of csv() are of posts, but got an object without an id. Put activities() before it, which makes them of bytes, or pass `columns`',
    );
    expect(() => lenient(new Activity(Buffer.from('{"lang":"en"}')))).toThrow('expected an id');
    expect(() => lenient(new Activity(Buffer.from('{"id":1,')))).toThrow(DataError);
    expect(() => rowReader('csv', [tables.counts.count], 'null')(post)).toThrow(
      'are of buckets of counts, but got an activity',
    );
  });

  it('whose function throws ends the run with what it threw', () => {
    const broken = {
      ...own('string', ''),
      value: () => {
        throw new TypeError('mine');
      },
    };
    expect(() => read(unchecked(broken), 'null')).toThrow(TypeError);
  });

  it('of 64 bits is exact, as bigint and as digits', () => {
    fc.assert(
      fc.property(fc.bigInt({ min: -(2n ** 63n), max: 2n ** 63n - 1n }), value => {
        expect(read(own('int64', value))).toBe(value);
        expect(read(own('int64', String(value)))).toBe(value);
      }),
    );
  });
});

describe('the row', () => {
  it('of a bucket', () => {
    const start = new Date('2024-03-05T14:00Z');
    expect(tables.toRow(tables.counts)({ timePeriod: '202403051400', start, count: 12 })).toEqual({
      time_period: '202403051400',
      start,
      count: 12n,
    });
  });

  it('of a usage row', () => {
    const row = tables.toRow(tables.usage)({
      publisher: 'Twitter',
      product: null,
      period: '2024-05',
      fromDate: '202405010000',
      toDate: '202406010000',
      activities: 3_000_000_000,
      requests: null,
      projected: 7,
      threshold: 10,
      thresholdOf: 'activities',
      alert: null,
    });
    expect(row).toEqual({
      publisher: 'Twitter',
      product: null,
      period: '2024-05',
      from_date: new Date('2024-05-01'),
      to_date: new Date('2024-06-01'),
      activities: 3_000_000_000n,
      requests: null,
      projected: 7n,
      threshold: 10n,
      threshold_of: 'activities',
      alert: null,
    });
  });

  it.each([
    [
      '{"delete":{"status":{"id":1,"id_str":"9223372036854775807","user_id_str":"2"},"timestamp_ms":"5"}}',
      { kind: 'delete', post_id: '9223372036854775807', user_id: '2', at: new Date(5) },
    ],
    [
      '{"status_withheld":{"status":{"id_str":"1","user_id_str":"2"},"withheld_in_countries":["de"]}}',
      { kind: 'status_withheld', post_id: '1', user_id: '2', countries: ['DE'] },
    ],
    [
      '{"tweet_edit":{"id_str":"3","initial_tweet_id":"1","edit_tweet_ids":["1","3"]}}',
      { kind: 'tweet_edit', post_id: '3', edit_initial_id: '1', edit_ids: ['1', '3'] },
    ],
    [
      '{"scrub_geo":{"user_id_str":"2","up_to_status_id_str":"9"}}',
      { kind: 'scrub_geo', user_id: '2', up_to_id: '9' },
    ],
    ['{"user_protect":{"id_str":"2"}}', { kind: 'user_protect', user_id: '2' }],
    ['{"frogs":{}}', { kind: 'unknown', name: 'frogs' }],
  ])('of the event %s', (json, values) => {
    const nulls = Object.fromEntries(
      Object.keys(tables.complianceEvents).map(name => [name, null]),
    );
    const event = parseComplianceEvent(Buffer.from(json));
    expect(tables.toRow(tables.complianceEvents)(event)).toEqual({ ...nulls, ...values });
  });

  it.each([
    [{ favorites: '9007199254740993', replies: '2' }, [9007199254740993n, null, 2n]],
    [{ favorites: 3, retweets: 1 }, [3n, 1n, null]],
    [undefined, [null, null, null]],
  ])('of the engagement totals %j', (totals, [favorites, retweets, replies]) => {
    const row = tables.toRow(tables.engagement)({ activity: post, totals, errors: ['gone'] });
    expect(row).toEqual({ id: '7', favorites, retweets, replies, errors: ['gone'] });
  });
});
