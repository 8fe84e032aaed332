import { spawnSync } from 'node:child_process';
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { html, isolated } from '../../../../src/service/console/html/html.js';
import {
  durationOf,
  exactDurationOf,
  sizeOf,
  windowOf,
} from '../../../../src/service/console/html/units.js';
import { callbackTarget } from '../../../../src/service/console/user-pages.js';
import { shellWord } from '../../../../src/service/environment.js';
import { readable } from '../browse.js';

const text = fc.string({ unit: fc.oneof(fc.constantFrom(...'<>&"\'`/= a;#x'), fc.string()) });

describe('markup', () => {
  it('escapes any text, so that it cannot end an attribute or begin a tag', () => {
    fc.assert(
      fc.property(text, value => {
        const inside = html`<p title="${value}">${value}</p>`.text;
        const [, attribute = '', content = ''] =
          /^<p title="([\s\S]*?)">([\s\S]*)<\/p>$/.exec(inside) ?? [];
        for (const part of [attribute, content]) {
          expect(part).not.toMatch(/[<>"'`]/);
          expect(part.replace(/&(?:amp|lt|gt|quot|#39|#96);/g, '')).not.toContain('&');
          expect(unescaped(part)).toBe(value.replace(CONTROLS, '\uFFFD'));
        }
      }),
    );
  });

  it('keeps markup, joins lists, and leaves out absent values', () => {
    const list = ['a<', html`<b>${1}</b>`, undefined, null, false as const, [2n, '&']];
    expect(html`${list}`.text).toBe('a&lt;<b>1</b>2&amp;');
  });

  it('isolates characters that change the direction of text', () => {
    expect(isolated('a\u202Eb<').text).toBe('<bdi>a\u202Eb&lt;</bdi>');
  });

  it('has no control characters except tabs and line ends', () => {
    expect(html`${'a\0b\x1b[2J\tc\nd\x85'}`.text).toBe('a\uFFFDb\uFFFD[2J\tc\nd\uFFFD');
  });
});

describe('units', () => {
  it.each([
    [0, '0 bytes'],
    [1, '1 byte'],
    [999, '999 bytes'],
    [1000, '1 kB'],
    [12_500, '12.5 kB'],
    [99_960, '100 kB'],
    [999_499, '999 kB'],
    [999_500, '1 MB'],
    [3.21e12, '3.2 TB'],
    [5e15, '5,000 TB'],
  ])('of %d bytes are %s', (bytes, text) => {
    expect(sizeOf(bytes)).toBe(text);
  });

  it.each([
    [400, '400 ms'],
    [20_000, '20 seconds'],
    [60_000, '1 minute'],
    [0.1 * 3_600_000, '6 minutes'],
    [5_400_000, '1.5 hours'],
    [86_400_000, '1 day'],
    [30 * 86_400_000, '30 days'],
  ])('of %d ms are %s', (ms, text) => {
    expect(durationOf(ms)).toBe(text);
  });
});

describe('a duration in its two largest units', () => {
  it.each([
    [1_999, '1 second'],
    [1_439_000, '23 minutes 59 seconds'],
    [3_600_000, '1 hour'],
    [90_061_000, '1 day 1 hour'],
  ])('of %d ms is %s', (ms, text) => {
    expect(exactDurationOf(ms)).toBe(text);
  });
});

describe('a window', () => {
  const from = Date.UTC(2026, 10, 21, 20, 33);

  it('names its day once, and its zone', () => {
    const text = readable(windowOf({ from, to: from + 600_000 }).text);
    expect(text).toBe(' 2026-11-21 20:33 to 20:43 UTC');
  });

  it('names both days where they differ', () => {
    const text = readable(windowOf({ from, to: from + 86_400_000 }).text);
    expect(text).toBe(' 2026-11-21 20:33 to 2026-11-22 20:33 UTC');
  });
});

describe('a word for a shell', () => {
  it('is that word, for any content', () => {
    const words = fc.sample(fc.string({ unit: fc.constantFrom(...'\'"\\$`!#&;|<>* \n\tab') }), 300);
    const script = words.map(word => `printf '%s\\0' ${shellWord(word)}`).join('\n');
    const { stdout } = spawnSync('bash', ['-c', script], { encoding: 'utf8' });
    expect(stdout.split('\0').slice(0, -1)).toEqual(words);
  });
});

describe('the form target of a callback', () => {
  it.each([
    ['http://127.0.0.1:3000/callback?a=b', 'http://127.0.0.1:3000'],
    ['https://App.Example/back', 'https://app.example'],
    ['http://localhost:1/', 'http://localhost:1'],
    ['http://[::1]:3000/', undefined],
    ['http://127.0.0.2:3000/', undefined],
    ['http://a;script-src.example/', undefined],
    ['http://a.example,b.example/', undefined],
    ['javascript:alert(1)', undefined],
    ['oob', undefined],
    ['', undefined],
  ])('of %s is %s', (callback, target) => {
    expect(callbackTarget(callback)).toBe(target);
  });

  it('never adds a source to the policy', () => {
    fc.assert(
      fc.property(text, rest => {
        expect(callbackTarget(`http://a${rest}`) ?? '').not.toMatch(/[\s;,']/);
      }),
    );
  });
});

const CONTROLS = /[\0-\x08\x0b\x0c\x0e-\x1f\x7f-\x9f]/g;

function unescaped(part: string): string {
  return part
    .replace(/&lt;/g, '<')
    .replace(/&gt;/g, '>')
    .replace(/&quot;/g, '"')
    .replace(/&#39;/g, "'")
    .replace(/&#96;/g, '`')
    .replace(/&amp;/g, '&');
}
