import { describe, expect, it } from 'vitest';
import { OptionError } from '../../src/base/errors.js';
import { type Columns, listColumns } from '../../src/tables/table-options.js';
import * as tables from '../../src/tables/tables.js';
import { pageNamed, tableOf } from '../pages.js';
import { unchecked } from '../unchecked.js';
import { own } from './own-column.js';

describe('the option `columns`', () => {
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
    [[own('string', '', unchecked(Math.max))], 'without control characters, got a function'],
    [[own(unchecked(Math.max), '')], 'such as list<string>, got a function'],
    [[{ name: 'a', type: 'string' }], 'must have a `value` for'],
    [[{ ...own('string', ''), about: 'x' }], 'has an unknown member `about` of "mine"'],
  ])('causes an OptionError if it is %j', (columns, message) => {
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

  it('may contain names, columns and tables, whose order is kept', () => {
    const words = own('int32', 2, 'words');
    const names = (columns: Columns<never>) => listColumns(columns).map(({ name }) => name);
    expect(names(['lang', 'id'])).toEqual(['lang', 'id']);
    expect(names(unchecked([words, tables.counts, 'id']))).toEqual([
      ...['words', 'time_period', 'start', 'count', 'id'],
    ]);
    expect(names(unchecked(tables.usage))).toEqual(Object.keys(tables.usage));
  });

  it('is documented with every column of every table', () => {
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
