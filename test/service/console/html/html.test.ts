import { spawnSync } from 'node:child_process';
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { html, isolated } from '../../../../src/service/console/html/html.js';
import { durationOf, sizeOf } from '../../../../src/service/console/html/page-parts.js';
import { shellWord } from '../../../../src/service/console/shell-commands.js';
import { callbackTarget } from '../../../../src/service/console/user/user-routes.js';

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
    [400, '0.4 seconds'],
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
