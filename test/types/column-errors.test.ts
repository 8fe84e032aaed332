import path from 'node:path';
import ts from 'typescript';
import { describe, expect, it } from 'vitest';
import { root } from '../pages.js';
import { compilerOptions } from '../public-api.js';

const FILE = path.join(root, 'test/types/wrong-columns.ts');

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

/** The errors of each call: what they mark, and what they say. */
function errorsOf(calls: typeof CALLS): Map<string, { marked: string; says: string }[]> {
  const lines = Object.entries(calls).map(
    ([name, call]) => `export const ${name} = () => ${call};`,
  );
  const source = `import { type Activity, csv, type Flow, parquet, pipeline, tables } from 'millrace';
declare const posts: Flow<Activity>;
declare const words: tables.Column<Activity>;
${lines.join('\n')}`;
  const host = ts.createCompilerHost(compilerOptions);
  const { getSourceFile, fileExists } = host;
  host.fileExists = name => name === FILE || fileExists(name);
  host.getSourceFile = (name, ...rest) =>
    name === FILE
      ? ts.createSourceFile(name, source, ts.ScriptTarget.ESNext)
      : getSourceFile.call(host, name, ...rest);
  const program = ts.createProgram([FILE], compilerOptions, host);
  const found = program.getSemanticDiagnostics(program.getSourceFile(FILE));
  const starts = lines.map(line => source.indexOf(line));
  return new Map(
    Object.keys(calls).map((name, index) => [
      name,
      found
        .filter(
          ({ start = 0 }) => start >= starts[index]! && start < (starts[index + 1] ?? Infinity),
        )
        .map(({ start = 0, length = 0, messageText }) => ({
          marked: source.slice(start, start + length),
          says: ts.flattenDiagnosticMessageText(messageText, '\n'),
        })),
    ]),
  );
}

describe('a wrong column', () => {
  const errors = errorsOf(CALLS);

  it('is one error of one line, at its name, with the name that is meant', () => {
    const [error, ...others] = errors.get('misspelt') ?? [];
    expect(others).toEqual([]);
    expect(error?.marked).toBe(`'postedAt'`);
    expect(error?.says).toMatch(
      /^Type '"postedAt"' is not assignable to type '.*"author_id".*'\. Did you mean '"posted_at"'\?$/,
    );
  });

  it('is one error with names of columns where none is near', () => {
    const [error, ...others] = errors.get('unknown') ?? [];
    expect(others).toEqual([]);
    expect(error?.marked).toBe(`'frogs'`);
    expect(error?.says).toMatch(/^Type '"frogs"' is not assignable to type '.*"author_id".*'\.$/);
  });

  it('is one error among columns of other kinds', () => {
    const found = errors.get('withOthers') ?? [];
    expect(found.map(({ marked }) => marked)).toEqual([`'authorId'`]);
    expect(found[0]?.says).toContain(`Did you mean '"author_id"'?`);
  });

  it('is one error of tables.toCsv and of tables.toRow', () => {
    const lines = errors.get('lines') ?? [];
    expect(lines.map(({ marked }) => marked)).toEqual([`'postedAt'`]);
    const rows = errors.get('rows') ?? [];
    expect(rows.length).toBe(1);
    expect(rows[0]?.says).toMatch(
      /'"postedAt"' is not assignable .* Did you mean '"posted_at"'\?$/,
    );
  });

  it('with a value of another type is one error, at the value', () => {
    const found = errors.get('ofWrongType') ?? [];
    expect(found.map(({ marked }) => marked)).toEqual(['post.text']);
    expect(found[0]?.says).toBe(`Type 'string' is not assignable to type 'GivenValue<"int32">'.`);
  });

  it('is none where all columns are right', () => {
    expect(errors.get('right')).toEqual([]);
  });
});
