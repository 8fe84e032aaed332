import stringWidth from 'string-width';
import { describe, expect, it } from 'vitest';
import { graphemesOf, textWidth } from '../src/text-width.js';

describe('the width of a text', () => {
  it.each([
    ['', 0],
    ['cat (dog OR has:videos)', 23],
    ['雪の日', 6],
    ['한국어', 6],
    ['e\u0301te\u0301', 3],
    ['\u0646\u0645\u06cc\u200c\u062e', 4],
    ['\u0915\u093f\u0924\u093e\u092c', 3],
    ['a\u200bb\ufeffc\u0007', 3],
    ['🍕', 2],
    ['👍🏽', 2],
    ['👩‍👩‍👧‍👦', 2],
    ['🇩🇪🇫🇷', 4],
    ['☺️ 1️⃣', 5],
  ])('of %j is %i', (text, width) => {
    expect(textWidth(text)).toBe(width);
  });

  it('is that of string-width, but for marks alone, half flags, and symbols that are emoji only with a selector', () => {
    const skipped =
      /\p{Cn}|\p{Cs}|\p{M}|\p{Regional_Indicator}|(?!\p{Emoji_Presentation})\p{Emoji}/u;
    const different: string[] = [];
    for (const [from, to] of [
      [0x20, 0xffff],
      [0x1f000, 0x1ffff],
    ] as const)
      for (let code = from; code <= to; code++) {
        const character = String.fromCodePoint(code);
        if (!skipped.test(character) && textWidth(character) !== stringWidth(character))
          different.push(code.toString(16));
      }
    expect(different).toEqual([]);
  });
});

it('graphemes of a text are what people take for one character', () => {
  const segments = Array.from(graphemesOf('e\u0301👍🏽雪'), ({ segment }) => segment);
  expect(segments).toEqual(['e\u0301', '👍🏽', '雪']);
});
