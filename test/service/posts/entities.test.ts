import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { parse } from 'yaml';
import { type Entity, entitiesIn, escapeText } from '../../../src/service/posts/entities.js';
import { codePoint } from '../../code-point.js';

/** A folder with the test vectors of twitter-text. */
const folder = process.env.MILLRACE_REAL_DATA ?? '';

const textsOf = (kind: Entity['kind'], text: string) =>
  entitiesIn(text)
    .filter(entity => entity.kind === kind)
    .map(entity => entity.text);

describe('entitiesIn', () => {
  it.each([
    ['＃東京 is warm', ['＃東京']],
    ['#スター・ウォーズ', ['#スター・ウォーズ']],
    ['#می\u200cخواهم', ['#می\u200cخواهم']],
    ['#️⃣ #⃣ #1 #1a #_ #_a', ['#1a', '#_a']],
    ['\u2764\ufe0f#love', ['#love']],
    ['a#tag &#tag #a#b #a://b', []],
    ['東京#雪 #雪、#氷', ['#雪', '#氷']],
  ])('finds the hashtags and cashtags in %j', (text, tags) => {
    expect(textsOf('hashtag', text)).toEqual(tags);
  });

  it.each([
    ['http://example.com/a日本', ['http://example.com/a']],
    ['(see https://example.com/a_(b))', ['https://example.com/a_(b)']],
    ['https://example.com/a(b', ['https://example.com/a']],
    ['https://example.com/a(b(c)d)', ['https://example.com/a(b(c)d)']],
    ['https://example.com/a(b(c(d)))', ['https://example.com/a']],
    [
      `https://t.co/${'a'.repeat(40)} https://t.co/${'a'.repeat(41)}`,
      [`https://t.co/${'a'.repeat(40)}`],
    ],
    [
      'https://example.com/a?b=c&d=e, http://example.com:80.',
      ['https://example.com/a?b=c&d=e', 'http://example.com:80'],
    ],
    ['https://snow.example/a and http://ice.test.', ['https://snow.example/a', 'http://ice.test']],
    ['snow.example node.js a.b.com@example.com', []],
    ['Https://EXAMPLE.com/A', ['Https://EXAMPLE.com/A']],
  ])('finds the links in %j', (text, links) => {
    expect(textsOf('url', text)).toEqual(links);
  });

  it('finds no tags or mentions within links', () => {
    expect(entitiesIn('https://example.com/#tag/@name').map(({ kind }) => kind)).toEqual(['url']);
  });

  it('finds mentions of lists and of long names in the same way as the real service', () => {
    const long = 'x'.repeat(25);
    expect(textsOf('mention', `＠ann @ann/friends @ann/1 @${long}`)).toEqual([
      '＠ann',
      '@ann',
      `@${long.slice(0, 20)}`,
    ]);
  });

  it('returns parts of the text that do not overlap, in order', () => {
    const piece = fc.constantFrom(
      ...['#', '＃', '@', '$', 'RT', ':', '/', '.', '_', '-', '(', ')', '?', '&', ' ', '\n', '…'],
      ...[
        'http://',
        'https://',
        't.co/',
        'com',
        'co',
        'みんな',
        'a',
        'Ann',
        '1',
        'é',
        '東京',
        '・',
      ],
      ...['\u200c', '\ufe0f', '\u20e3', '😀', '\ud83d', 'xn--'],
    );
    const texts = fc.oneof(
      fc.array(piece, { maxLength: 40 }).map(pieces => pieces.join('')),
      fc.string({ unit: codePoint }),
    );
    fc.assert(
      fc.property(texts, text => {
        const entities = entitiesIn(text);
        const parts = entities.map(({ start, end }) => text.slice(start, end));
        expect(entities.map(entity => entity.text)).toEqual(parts);
        const edges = entities.flatMap(({ start, end }) => [start, end - 1]);
        expect(edges).toEqual(edges.toSorted((a, b) => a - b));
        expect(new Set(entities.map(({ start }) => start)).size).toBe(entities.length);
        expect(parts).not.toContain('');
      }),
    );
  });

  it('escapes ampersands and angle brackets, even in escaped text', () => {
    expect(escapeText('a & b < c > d &amp; "')).toBe('a &amp; b &lt; c &gt; d &amp;amp; "');
  });

  const kinds = { mentions: 'mention', urls: 'url', cashtags: 'symbol' } as const;
  it.runIf(folder !== '').each(Object.keys(kinds) as (keyof typeof kinds)[])(
    'finds the %s of all conformance cases of twitter-text (needs MILLRACE_REAL_DATA)',
    section => {
      const { tests } = parse(readFileSync(join(folder, 'twitter-text-extract.yml'), 'utf8'));
      const found = tests[section].map(({ description, text }: Record<string, string>) => {
        const texts = textsOf(kinds[section], text ?? '');
        return [description, section === 'urls' ? texts : texts.map(name => name.slice(1))];
      });
      expect(found.length).toBeGreaterThan(7);
      expect(found).toEqual(
        tests[section].map(({ description, expected }: Record<string, unknown>) => [
          description,
          expected,
        ]),
      );
    },
  );
});
