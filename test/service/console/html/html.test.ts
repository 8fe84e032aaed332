import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { html, isolated } from '../../../../src/service/console/html/html.js';

const text = fc.string({ unit: fc.oneof(fc.constantFrom(...'<>&"\'`/= a;#x'), fc.string()) });

describe('HTML markup', () => {
  it('escapes any string, so that it cannot end an attribute or start a tag', () => {
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

  it('does not escape markup inside lists, and omits absent values', () => {
    const list = ['a<', html`<b>${1}</b>`, undefined, null, false as const, [2n, '&']];
    expect(html`${list}`.text).toBe('a&lt;<b>1</b>2&amp;');
  });

  it('isolates characters that change the direction of text', () => {
    expect(isolated('a\u202Eb<').text).toBe('<bdi>a\u202Eb&lt;</bdi>');
  });

  it('replaces all control characters except tabs and line ends', () => {
    expect(html`${'a\0b\x1b[2J\tc\nd\x85'}`.text).toBe('a\uFFFDb\uFFFD[2J\tc\nd\uFFFD');
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
