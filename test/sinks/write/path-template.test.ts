import path from 'node:path';
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { OptionError } from '../../../src/base/errors.js';
import type { Activity } from '../../../src/post/activity.js';
import { parsePathTemplate } from '../../../src/sinks/write/path-template.js';
import { bySuite } from '../../slow-suite.js';
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
  ])('%s becomes %s', (template, filled) => expect(fill(template, activity, 'snow')).toBe(filled));

  it('uses `und` for a post without a language', () =>
    expect(fill('{lang}', post({ id: '1' }))).toBe('und'));

  it('distinguishes December and January of different years', () => {
    expect(fill('{month}', post({ id: '1', at: Date.UTC(2023, 11, 31, 23, 59) }))).toBe('2023-12');
    expect(fill('{month}', post({ id: '1', at: Date.UTC(2024, 0, 1) }))).toBe('2024-01');
  });

  it('never leaves its folder, for any tag or author', () => {
    const hostile = fc.oneof(
      fc.string({ unit: 'binary' }),
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
      { numRuns: bySuite(150, 2_000) },
    );
  });

  it('keeps names short enough for a file system', () => {
    const filled = fill(
      `out/{tag}-{author}.jsonl`,
      post({ id: '1', author: 'y'.repeat(300) }),
      '雪'.repeat(300),
    );
    expect(Buffer.byteLength(path.basename(filled))).toBeLessThanOrEqual(235);
  });

  it.each([
    ['out/{tags}.jsonl', /author, day, .* got \{tags\}/],
    ['out/{}.jsonl', /got \{\}/],
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
  ])('%j is refused', (template, message) => {
    expect(() => parsePathTemplate('files', template)).toThrow(OptionError);
    expect(() => parsePathTemplate('files', template)).toThrow(message);
  });
});
