import path from 'node:path';
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { MIN_NAME_BYTES, safeName } from '../../../src/sinks/output/safe-name.js';

const anyText = fc.oneof(
  fc.string({ unit: 'binary' }),
  fc.string({
    unit: fc.constantFrom(
      '.',
      '/',
      '\\',
      '\0',
      '%',
      'a',
      '~',
      ' ',
      '\ud800',
      'é',
      'e\u0301',
      'A',
      'É',
      'ß',
      'ſ',
      's',
    ),
  }),
  fc.constantFrom('con', 'CON.txt', 'nul', 'com1.x', '..', '.', '', 'x.part', 'X.PART', '.part'),
);

/** What file systems compare. */
function foldings(name: string): string[] {
  const lower = name.toLowerCase();
  return [
    name,
    lower,
    lower.toUpperCase(),
    lower.normalize('NFD'),
    lower.normalize('NFD').toUpperCase(),
  ];
}

describe('safeName', () => {
  it.each([
    ['snow', 'snow'],
    ['schnee & eis', 'schnee & eis'],
    ['Schnee & Eis', '%53chnee & %45is'],
    ['BTC', '%42%54%43'],
    ['雪', '雪'],
    ['köln', 'köln'],
    ['Ärger', '%C3%84rger'],
    ['straße', 'stra%C3%9Fe'],
    ['../etc/passwd', '%2E.%2Fetc%2Fpasswd'],
    ['..', '%2E%2E'],
    ['.', '%2E'],
    ['', '%'],
    ['a\\b', 'a%5Cb'],
    ['a\0b', 'a%00b'],
    ['100%', '100%25'],
    ['a:b', 'a%3Ab'],
    ['trailing.', 'trailing%2E'],
    ['aux', '%61ux'],
    ['con.jsonl', '%63on.jsonl'],
    ['CON.jsonl', '%43%4F%4E.jsonl'],
    ['nul .x', '%6Eul .x'],
    ['conin$', '%63onin$'],
    ['console', 'console'],
    ['x.part', 'x%2Epart'],
    ['\ud800', '%ED%A0%80'],
    ['e\u0301', 'e%CC%81'],
  ])('turns %j into %j', (text, name) => expect(safeName(text)).toBe(name));

  it('is one segment of a path, for any text', () => {
    fc.assert(
      fc.property(anyText, text => {
        const name = safeName(text);
        expect(name).not.toMatch(/[\0-\x1f/\\]/);
        expect(path.dirname(path.join('/base', name))).toBe('/base');
        expect(name).not.toMatch(/^\.|\.$|\.part$/i);
        expect(Buffer.from(name).toString()).toBe(name);
      }),
      { numRuns: 1000 },
    );
  });

  it.each([
    ['Snow', 'snow'],
    ['SNOW', 'sNOW'],
    ['ſnow', 'snow'],
    ['\u212a', 'k'],
    ['İ', 'i\u0307'],
    ['straße', 'strasse'],
    ['ΣΣ', 'σς'],
    ['ﬁ', 'fi'],
  ])('gives %j and %j names that differ on a file system that ignores case', (a, b) => {
    expect(foldings(safeName(a))).not.toEqual(expect.arrayContaining(foldings(safeName(b))));
  });

  it('gives different texts different names, whatever case and Unicode form a file system folds', () => {
    fc.assert(
      fc.property(anyText, anyText, (a, b) => {
        if (a === b) return;
        const [ofA, ofB] = [safeName(a), safeName(b)].map(foldings) as [string[], string[]];
        for (const [index, folded] of ofA.entries()) expect(folded).not.toBe(ofB[index]);
      }),
      { numRuns: 1000 },
    );
  });

  it('truncates a long name at a whole character and distinguishes similar names', () => {
    fc.assert(
      fc.property(
        fc.string({ unit: 'binary', minLength: 30, maxLength: 80 }),
        fc.integer({ min: MIN_NAME_BYTES, max: 200 }),
        (text, max) => {
          const [a, b] = [safeName(`${text.repeat(4)}a`, max), safeName(`${text.repeat(4)}b`, max)];
          expect(Buffer.byteLength(a)).toBeLessThanOrEqual(max);
          expect(a).not.toBe(b);
          expect(Buffer.from(a).toString()).toBe(a);
        },
      ),
    );
  });

  it('never gives a short text the truncated name of a long one', () => {
    const long = 'x'.repeat(300);
    const cut = safeName(long);
    expect(cut).toMatch(/^x+%~[0-9a-f]{32}$/);
    expect(safeName(cut)).not.toBe(cut);
  });
});
