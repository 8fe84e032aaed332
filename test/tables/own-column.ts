import { Activity } from '../../src/post/activity.js';
import { rowReader } from '../../src/tables/row-reader.js';
import type * as tables from '../../src/tables/tables.js';
import { unchecked } from '../unchecked.js';

export const post = new Activity(
  Buffer.from('{"id":7,"created_at":"Wed Oct 10 20:19:24 +0000 2018","text":"snow","user":{}}'),
);

export const own = (type: string, value: unknown, name = 'mine') =>
  unchecked<tables.Column<unknown>>({ name, type, value: () => value });

export function read(column: tables.Column<unknown>, invalid: tables.InvalidValues = 'error') {
  return rowReader('csv', [column as tables.Column<never>], invalid)(post)[0];
}
