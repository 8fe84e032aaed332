import path from 'node:path';
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { MIN_NAME_BYTES, safeName } from '../../../src/sinks/write/safe-name.js';
import { codePoint } from '../../code-point.js';
import { bySuite } from '../../suite.js';

const anyText = fc.oneof(
  fc.string({ unit: codePoint }),
  fc.string({
    unit: fc.constantFrom('.', '/', '\\', '\0', '%', 'a', '~', ' ', '\ud800', 'é', 'e\u0301'),
  }),
  fc.constantFrom('con', 'CON.txt', 'nul', 'com1.x', '..', '.', '', 'x.part', 'X.PART', '.part'),
);

describe('safeName', () => {
  it.each([
    ['snow', 'snow'],
    ['Schnee & Eis', 'Schnee & Eis'],
    ['雪', '雪'],
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
    ['CON.jsonl', '%43ON.jsonl'],
    ['nul .x', '%6Eul .x'],
    ['conin$', '%63onin$'],
    ['console', 'console'],
    ['x.part', 'x%2Epart'],
    ['\ud800', '%ED%A0%80'],
    ['e\u0301', 'e%CC%81'],
  ])('turns %j into %j', (text, name) => expect(safeName(text)).toBe(name));

  it('returns a single path segment for any string', () => {
    fc.assert(
      fc.property(anyText, text => {
        const name = safeName(text);
        expect(name).not.toMatch(/[\0-\x1f/\\]/);
        expect(path.dirname(path.join('/base', name))).toBe('/base');
        expect(name).not.toMatch(/^\.|\.$|\.part$/i);
        expect(Buffer.from(name).toString()).toBe(name);
      }),
      { numRuns: bySuite(88, 4_000) },
    );
  });

  it('returns different names for different strings, even after Unicode normalization', () => {
    fc.assert(
      fc.property(anyText, anyText, (a, b) => {
        if (a !== b) expect(safeName(a).normalize('NFD')).not.toBe(safeName(b).normalize('NFD'));
      }),
      { numRuns: bySuite(88, 4_000) },
    );
  });

  it('truncates a long name to the allowed bytes, and keeps similar names different', () => {
    fc.assert(
      fc.property(
        fc.string({ unit: codePoint, minLength: 30, maxLength: 80 }),
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

  it('truncates a long name between characters, and never within the escapes of a character', () => {
    const long = 'e\u0301\u{1f600}'.repeat(20);
    for (let maxBytes = MIN_NAME_BYTES; maxBytes < MIN_NAME_BYTES + 40; maxBytes++) {
      const [kept = ''] = safeName(long, maxBytes).split('%~');
      expect(long.startsWith(decodeURIComponent(kept)), kept).toBe(true);
    }
  });

  it('never returns the same name for a short string as for a long string that it truncated', () => {
    const long = 'x'.repeat(300);
    const cut = safeName(long);
    expect(cut).toMatch(/^x+%~[0-9a-f]{32}$/);
    expect(safeName(cut)).not.toBe(cut);
  });
});
