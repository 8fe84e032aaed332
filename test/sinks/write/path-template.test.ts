import { mkdirSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import { type DuckDBConnection, DuckDBInstance } from '@duckdb/node-api';
import fc from 'fast-check';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { OptionError } from '../../../src/base/errors.js';
import type { Activity } from '../../../src/post/activity.js';
import { parsePathTemplate } from '../../../src/sinks/write/path-template.js';
import { codePoint } from '../../code-point.js';
import { bySuite } from '../../suite.js';
import { temporaryFolder } from '../../temporary-folder.js';
import { post } from '../posts.js';

function fill(template: string, activity: Activity, tag = ''): string {
  const parsed = parsePathTemplate('files', template);
  return parsed.fill(parsed.keys.map(key => key(activity, tag)));
}

describe('a path template', () => {
  const activity = post({
    id: '9007199254740993',
    at: Date.UTC(2024, 2, 5, 14, 7, 59),
    lang: 'de',
    author: 'Ada_L',
  });

  it.each([
    ['out/all.jsonl', 'out/all.jsonl'],
    ['out/{tag}/{day}.jsonl', 'out/snow/2024-03-05.jsonl'],
    ['{month}/{day}/{hour}', '2024-03/2024-03-05/2024-03-05T14'],
    ['{segment}', '2024-03-05T14-00'],
    ['{minute}', '2024-03-05T14-07'],
    ['a-{author}.{lang}.{id}.{format}.x', 'a-Ada_L.de.9007199254740993.original.x'],
    ['./out//{lang}', 'out/de'],
    ['/abs/{lang}', '/abs/de'],
  ])('expands the path %s to %s for a post', (template, filled) =>
    expect(fill(template, activity, 'snow')).toBe(filled),
  );

  it('uses `und` for a post without a language', () =>
    expect(fill('{lang}', post({ id: '1' }))).toBe('und'));

  it('distinguishes December and January of different years', () => {
    expect(fill('{month}', post({ id: '1', at: Date.UTC(2023, 11, 31, 23, 59) }))).toBe('2023-12');
    expect(fill('{month}', post({ id: '1', at: Date.UTC(2024, 0, 1) }))).toBe('2024-01');
  });

  it('never leads out of its folder, for any tag or author', () => {
    const hostile = fc.oneof(
      fc.string({ unit: codePoint }),
      fc.constantFrom('..', '../..', '/etc/passwd', '..\\..', 'a/../../b', '\0', '.', '', 'C:\\x'),
    );
    fc.assert(
      fc.property(hostile, hostile, (tag, author) => {
        for (const template of [
          'base/{tag}/{author}.jsonl',
          'base/{tag}{author}',
          'base/.{tag}.',
          'base/{tag}/x',
        ]) {
          const filled = fill(template, post({ id: '1', author }), tag);
          const inside = path.relative(path.resolve('base'), path.resolve(filled));
          expect(inside).not.toMatch(/^\.\.(\/|$)/);
          expect(inside).not.toBe('');
          expect(path.isAbsolute(inside)).toBe(false);
          expect(filled.split('/').length).toBe(template.split('/').length);
        }
      }),
      { numRuns: bySuite(38, 2_000) },
    );
  });

  it('shortens names to fit the limits of file systems', () => {
    const filled = fill(
      `out/{tag}-{author}.jsonl`,
      post({ id: '1', author: 'y'.repeat(300) }),
      '雪'.repeat(300),
    );
    expect(Buffer.byteLength(path.basename(filled))).toBeLessThanOrEqual(235);
  });

  it.each([
    ['out/{tags}.jsonl', /unknown field \{tags\}; known are author, day/],
    ['out/{}.jsonl', /unknown field \{\}/],
    ['out/{tag.jsonl', /close every/],
    ['out/tag}.jsonl', /close every/],
    ['', /name a file/],
    ['out/', /name a file/],
    ['..', /name a file/],
    ['out/{tag}/', /not a folder/],
    ['out/{tag}\0', /NUL/],
    ['out/x.part', /\.part/],
    ['out/{tag}.PART', /\.part/],
    ['out/{day}.jsonl.zst', /\.zst.* so use \.gz/],
    ['out/{day}.ZSTD', /\.zst/],
    [`out/${'x'.repeat(210)}{tag}`, /shorter/],
  ])('throws for %j', (template, message) => {
    expect(() => parsePathTemplate('files', template)).toThrow(OptionError);
    expect(() => parsePathTemplate('files', template)).toThrow(message);
  });
});

describe('a partition of a path template', () => {
  let duck: DuckDBConnection;

  beforeAll(async () => {
    duck = await (await DuckDBInstance.create()).connect();
  });
  afterAll(() => duck.closeSync());

  async function readBack(tags: readonly string[]): Promise<unknown[]> {
    const folder = await temporaryFolder();
    for (const [index, tag] of tags.entries()) {
      const file = fill(`${folder}/{id}/tag={tag}/x.csv`, post({ id: `${index}` }), tag);
      mkdirSync(path.dirname(file), { recursive: true });
      writeFileSync(file, `line\n${index}\n`);
    }
    const found = await duck.runAndReadAll(
      `SELECT tag FROM read_csv('${folder}/*/*/x.csv', hive_partitioning = true, hive_types = { tag: VARCHAR }) ORDER BY line`,
    );
    return found.getRowsJson().map(([tag]) => tag);
  }

  it.each([
    ['null', '%6Eull'],
    ['NULL', '%4EULL'],
    ['nUll', '%6EUll'],
    ['__HIVE_DEFAULT_PARTITION__', '%5F_HIVE_DEFAULT_PARTITION__'],
    ['__hive_default_partition__', '%5F_hive_default_partition__'],
    ['annulled', 'annulled'],
    ['null.', 'null%2E'],
    ['a=null', 'a%3Dnull'],
    ['100%', '100%25'],
    ['%6Eull', '%256Eull'],
  ])('with the value %s is named %s, which DuckDB reads as the value', async (tag, name) => {
    expect(fill('out/tag={tag}/x.csv', post({ id: '1' }), tag)).toBe(`out/tag=${name}/x.csv`);
    expect(await readBack([tag])).toEqual([tag]);
  });

  it('is read by DuckDB as the original value, for any value', async () => {
    const units = fc.constantFrom('n', 'U', 'l', 'L', '%', '=', '6', '/', '\\', '+', ' ', '.', "'");
    const tag = fc.oneof(
      fc.string({ minLength: 1, maxLength: 6, unit: units }),
      fc.string({ minLength: 1, maxLength: 12, unit: codePoint }),
    );
    await fc.assert(
      fc.asyncProperty(fc.array(tag, { minLength: 20, maxLength: 40 }), async tags => {
        expect(await readBack(tags)).toEqual(tags);
      }),
      { numRuns: bySuite(2, 60) },
    );
  });

  it('has a unique name that DuckDB can read if the value contains half a surrogate pair', async () => {
    const tags = ['a\ud800', 'a\\ud800', 'a\udfff', 'a\ufffd'];
    const names = tags.map(tag => fill('out/tag={tag}/x.csv', post({ id: '1' }), tag));
    expect(new Set(names).size).toBe(tags.length);
    expect(await readBack(tags)).toEqual(['a\\ud800', 'a\\ud800', 'a\\udfff', 'a\ufffd']);
  });

  it.each(['=', '\ud800', '=\udfff雪'])(
    'whose value is 300 times %j has a name that is short enough for a file system',
    unit => {
      const filled = fill('out/tag={tag}.jsonl', post({ id: '1' }), unit.repeat(300));
      expect(Buffer.byteLength(path.basename(filled))).toBeLessThanOrEqual(235);
    },
  );

  it('contains one equals sign, even if its value has several fields', () => {
    const activity = post({ id: '1', lang: 'de' });
    expect(fill('a=b/{tag}/tag={lang}-{tag}/x', activity, '=')).toBe('a=b/=/tag=de-%3D/x');
  });
});
