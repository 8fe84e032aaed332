import { describe, expect, it } from 'vitest';
import { tables } from '../../src/index.js';
import { errorsOf } from './errors-of-calls.js';

const CALLS = {
  misspelt: `pipeline(posts, csv({ path: 'a', columns: ['id', 'postedAt'] }))`,
  unknown: `pipeline(posts, csv({ path: 'a', columns: ['id', 'frogs', tables.posts.text] }))`,
  withOthers: `pipeline(posts, parquet({ path: 'a', columns: [tables.posts.id, 'authorId', words] }))`,
  lines: `tables.toCsv(['id', 'postedAt'])`,
  rows: `tables.toRow(['id', 'postedAt'])`,
  ofWrongType: `pipeline(posts, csv({
    path: 'a',
    columns: ['id', { name: 'words', type: 'int32', value: post => post.text }],
  }))`,
  right: `pipeline(posts, csv({
    path: 'a',
    columns: ['id', { name: 'words', type: 'int32', value: post => post.text.length }],
  }))`,
};

const BEFORE = `import { type Activity, csv, type Flow, parquet, pipeline, tables } from 'millrace';
declare const posts: Flow<Activity>;
declare const words: tables.Column<Activity>;`;

describe('the option `columns`', () => {
  const errors = errorsOf(BEFORE, CALLS);

  it('causes one compile error of one line at a misspelt column name, and suggests the correct name', () => {
    const [error, ...others] = errors.get('misspelt') ?? [];
    expect(others).toEqual([]);
    expect(error?.marked).toBe(`'postedAt'`);
    const [, names = ''] =
      /^Type '"postedAt"' is not assignable to type '(.*)'\. Did you mean '"posted_at"'\?$/.exec(
        error?.says ?? '',
      ) ?? [];
    // The compiler lists only some of the names. Their order depends on the files that the compiler
    // has read before.
    const shown = [...names.matchAll(/"(\w+)"/g)].map(([, name]) => name as string);
    expect(shown.length).toBeGreaterThan(5);
    expect(shown.filter(name => !Object.hasOwn(tables.posts, name))).toEqual([]);
  });

  it('causes one compile error that lists names if no name is similar to a wrong column name', () => {
    const [error, ...others] = errors.get('unknown') ?? [];
    expect(others).toEqual([]);
    expect(error?.marked).toBe(`'frogs'`);
    expect(error?.says).toMatch(/^Type '"frogs"' is not assignable to type '.*"author_id".*'\.$/);
  });

  it('causes one compile error if a misspelt column name is among columns of other kinds', () => {
    const found = errors.get('withOthers') ?? [];
    expect(found.map(({ marked }) => marked)).toEqual([`'authorId'`]);
    expect(found[0]?.says).toContain(`Did you mean '"author_id"'?`);
  });

  it('causes one compile error at a misspelt column name in tables.toCsv and tables.toRow', () => {
    const lines = errors.get('lines') ?? [];
    expect(lines.map(({ marked }) => marked)).toEqual([`'postedAt'`]);
    const rows = errors.get('rows') ?? [];
    expect(rows.length).toBe(1);
    expect(rows[0]?.says).toMatch(
      /'"postedAt"' is not assignable .* Did you mean '"posted_at"'\?$/,
    );
  });

  it('causes one compile error at a value that has the wrong type for its column', () => {
    const found = errors.get('ofWrongType') ?? [];
    expect(found.map(({ marked }) => marked)).toEqual(['post.text']);
    expect(found[0]?.says).toBe(`Type 'string' is not assignable to type 'GivenValue<"int32">'.`);
  });

  it('compiles if column names and values are correct', () => {
    expect(errors.get('right')).toEqual([]);
  });
});
