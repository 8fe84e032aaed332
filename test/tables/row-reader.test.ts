import { describe, expect, it } from 'vitest';
import { DataError, OptionError } from '../../src/base/errors.js';
import { Activity } from '../../src/post/activity.js';
import { rowReader } from '../../src/tables/row-reader.js';
import * as tables from '../../src/tables/tables.js';
import { unchecked } from '../unchecked.js';
import { own, post, read } from './own-column.js';

describe('rowReader', () => {
  it('throws for a value that the post lacks, or reads the value as null if invalid values become null', () => {
    const row = tables.toRow(['posted_at']);
    const timeless = new Activity(Buffer.from('{"id":7,"created_at":"yesterday"}'));
    expect(() => row(timeless)).toThrow('Column "posted_at" of post 7: Not a post');
    const lenient = rowReader('csv', [tables.posts.posted_at], 'null');
    expect(lenient(timeless)).toEqual([null]);
  });

  it.each(['error', 'null'] as const)(
    'throws for a value that is a promise, with `invalidValues` set to %s',
    async invalid => {
      const value = () => Promise.reject(new Error('no answer'));
      const column = unchecked<tables.Column<Activity>>({ name: 'mood', type: 'string', value });
      const read = rowReader('csv', [column as tables.Column<never>], invalid);
      expect(() => read(post)).toThrow(OptionError);
      expect(() => read(post)).toThrow(
        'csv: `columns` must have values, and that of "mood" is a promise: get what it needs with mapAsync()',
      );
      // If nothing handled the rejection, it would be reported in this turn.
      await new Promise(resolve => setImmediate(resolve));
    },
  );

  it('throws for an item that is not a post, even if invalid values become null', () => {
    const lenient = rowReader('csv', [tables.posts.lang], 'null');
    expect(() => lenient({ count: 1 })).toThrow(
      'The columns of csv() are of posts, but got an object without an id. Put activities() before it, which parses them from bytes, or pass `columns`',
    );
    expect(() => lenient(new Activity(Buffer.from('{"lang":"en"}')))).toThrow('expected an id');
    expect(() => lenient(new Activity(Buffer.from('{"id":1,')))).toThrow(DataError);
    expect(() => rowReader('csv', [tables.counts.count], 'null')(post)).toThrow(
      'are of buckets of counts, but got an activity',
    );
  });

  it('rethrows the error of a column function', () => {
    const broken = {
      ...own('string', ''),
      value: () => {
        throw new TypeError('mine');
      },
    };
    expect(() => read(unchecked(broken), 'null')).toThrow(TypeError);
  });
});
