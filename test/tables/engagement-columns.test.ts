import { expect, it } from 'vitest';
import * as tables from '../../src/tables/tables.js';
import { post } from './own-column.js';

it.each([
  [{ favorites: '9007199254740993', replies: '2' }, [9007199254740993n, null, 2n]],
  [{ favorites: 3, retweets: 1 }, [3n, 1n, null]],
  [undefined, [null, null, null]],
])(
  'the row of the engagement totals %j contains their values, and null in other columns',
  (totals, [favorites, retweets, replies]) => {
    const row = tables.toRow(tables.engagement)({ activity: post, totals, errors: ['gone'] });
    expect(row).toEqual({ id: '7', favorites, retweets, replies, errors: ['gone'] });
  },
);
