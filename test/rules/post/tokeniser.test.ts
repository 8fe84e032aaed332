import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { fold, Scanner, tokenise } from '../../../src/rules/post/tokeniser.js';
import { codePoint } from '../../code-point.js';
import { bySuite } from '../../suite.js';

const text = fc.oneof(
  fc.string({ unit: codePoint }),
  fc.string({ unit: 'grapheme' }),
  fc
    .array(
      fc.constantFrom(
        ...[
          'snow',
          'Ärger',
          'e\u0301',
          'が',
          'か\u3099',
          '東京',
          '👍🏽',
          '🇩🇪',
          '🇸',
          '\u200d',
          '\ufe0f',
        ],
        ...[
          '-',
          ' ',
          '\n',
          '\u00a0',
          '\ud83d',
          'ß',
          'İ',
          'Σ',
          '\u0301',
          '1️⃣',
          '👩‍🚀',
          'ห้า',
          '한글',
          '한글',
        ],
        '\u{e0067}',
        'ড়',
        'Å',
        '豈',
        '각',
      ),
      { maxLength: 12 },
    )
    .map(parts => parts.join('')),
);

describe('the words that tokenise finds', () => {
  it.each([
    ['I like coca-cola 🍕', ['i', 'like', 'coca', 'cola', '🍕']],
    ["gnip's #gniprocks @a_b", ['gnip', 's', 'gniprocks', 'a', 'b']],
    ['CUMPLEAÑOS', ['cumpleaños']],
    ['cafe\u0301', ['café']],
    ['ΣΑΣ Σας', ['σασ', 'σασ']],
    ['İstanbul', ['istanbul']],
    ['東京タワー', ['東', '京', 'タ', 'ワ', 'ー']],
    ['か\u3099', ['が']],
    ['สวัสดี', ['ส', 'วั', 'ส', 'ดี']],
    ['👍🏽👨‍👩‍👧', ['👍', '🏽', '👨', '👩', '👧']],
    ['🇩🇪🇪🇸🇸', ['🇩🇪', '🇪🇸', '🇸']],
    ['❤️ ❤', ['❤', '❤']],
    ['1️⃣2', ['1⃣', '2']],
    ['a12️⃣3️⃣b', ['a1', '2⃣', '3⃣', 'b']],
    ['#️⃣*⃣ *#', ['#⃣', '*⃣']],
    ['1️⃣ 2', ['1⃣', '2']],
    ['👩‍❤️‍👨❤‍🔥', ['👩', '❤', '👨', '❤', '🔥']],
    ['नमस्ते क्‍ष', ['नमस्ते', 'क्ष']],
    ['a\u00adb', ['ab']],
    ['€100 → x', ['100', 'x']],
    ['𐐀bc', ['𐐨bc']],
    ['\ud83d x \ude00', ['x']],
    ['', []],
    ['...', []],
  ])('in %j are %j', (input, words) => {
    expect(tokenise(input, 'kept').words).toEqual(words);
  });

  it('have no Latin or Greek accents in search', () => {
    const words = tokenise('Ñandú cafe\u0301 ὰγάπη й が', 'stripped').words;
    expect(words).toEqual(['nandu', 'cafe', 'αγαπη', 'й', 'が']);
  });

  it.each(['kept', 'stripped'] as const)(
    'have no zero-width joiner between letters, with accents %s',
    accents => {
      const forms = ['क्\u200dष', 'a\u200db', '👩\u200d🚀', '- \u200d -', '東\u200d京'];
      expect(forms.map(form => fold(form, accents))).toEqual([
        ...['क्ष', 'ab', '👩\u200d🚀', '- \u200d -', '東\u200d京'],
      ]);
    },
  );

  it.each(['kept', 'stripped'] as const)(
    'have positions that refer to the normalized string, with accents %s',
    accents => {
      fc.assert(
        fc.property(text, input => {
          const { words, starts, folded } = tokenise(input, accents);
          let end = 0;
          words.forEach((word, i) => {
            const start = starts[i] as number;
            expect(start).toBeGreaterThanOrEqual(end);
            expect(folded.slice(start, start + word.length)).toBe(word);
            expect(word).not.toBe('');
            end = start + word.length;
          });
          expect(folded).not.toMatch(/\s\s|[^\S ]/);
          expect(fold(input, accents)).toBe(folded);
        }),
        { numRuns: bySuite(88, 4_000) },
      );
    },
  );

  it.each(['kept', 'stripped'] as const)(
    'are equal for any letter case and Unicode form, with accents %s',
    accents => {
      fc.assert(
        fc.property(text, input => {
          const { words } = tokenise(input, accents);
          expect(tokenise(input.normalize('NFD'), accents).words).toEqual(
            tokenise(input.normalize('NFC'), accents).words,
          );
          if (/^[\w \n-]*$/.test(input))
            expect(tokenise(input.toUpperCase(), accents).words).toEqual(words);
        }),
        { numRuns: bySuite(88, 4_000) },
      );
    },
  );

  it('in two joined strings do not extend over the space between the strings', () => {
    fc.assert(
      fc.property(text, text, (a, b) => {
        const joined = tokenise(`${a} ${b}`, 'kept').words;
        expect(joined).toEqual([...tokenise(a, 'kept').words, ...tokenise(b, 'kept').words]);
      }),
      { numRuns: bySuite(38, 2_000) },
    );
  });
});

describe('the token scanner', () => {
  it('returns the same hash for the same word, whatever it scanned before', () => {
    const scanner = new Scanner('kept');
    scanner.read('snow');
    const [hash] = scanner.hashes;
    scanner.read('a very long text with many words, so that all buffers are in use: '.repeat(99));
    scanner.read('the SNOW!');
    expect(scanner.count).toBe(2);
    expect(scanner.hashes[1]).toBe(hash);
    expect(scanner.text(0, scanner.length)).toBe('the snow!');
  });

  it('scans strings of any length', () => {
    const words = Array.from({ length: 50_000 }, (_, i) => `w${i}`);
    expect(tokenise(words.join(' '), 'kept').words).toEqual(words);
    const one = 'é'.repeat(100_000);
    expect(tokenise(one, 'kept').words).toEqual([one]);
  });
});
