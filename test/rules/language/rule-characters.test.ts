import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { parseRule } from '../../../src/rules/language/parse-rule.js';
import {
  isKeycap,
  isRuleSpace,
  isWord,
  startsWord,
  wordEnd,
} from '../../../src/rules/language/rule-characters.js';
import { codePoint } from '../../code-point.js';
import { bySuite } from '../../suite.js';

describe('a word in a rule', () => {
  it.each(['snow', '7', 'é', '東京', '🍕', '❤️', '#️⃣', '*⃣', "hello!%&'*+-./;<=>?,#@world", '＄'])(
    'may be %j',
    text => {
      expect(isWord(text)).toBe(true);
    },
  );

  it.each(['', '!', '#snow', '@x', '-a', '"a"', 'a b', 'a:b', 'a(b', 'a]', '\u0301a', '“a', '…'])(
    'may not be %j',
    text => {
      expect(isWord(text)).toBe(false);
    },
  );

  it('is parsed as a keyword', () => {
    fc.assert(
      fc.property(fc.string({ unit: codePoint, minLength: 1, maxLength: 4 }), text => {
        if (!isWord(text) || text === 'OR' || text === 'AND') return;
        expect(parseRule(text).tree).toMatchObject({ kind: 'keyword', text });
      }),
      { numRuns: bySuite(125, 500) },
    );
  });

  it('ends before a space, quote, colon or bracket, or at the end of the rule', () => {
    for (const end of [' ', '\t', '\n', '\u3000', '"', ':', '(', ')', '[', ']', ''])
      expect(wordEnd(`xsnow#-!${end}y`, 1)).toBe(end === '' ? 9 : 8);
  });
});

describe('a keycap emoji', () => {
  it.each(['#️⃣', '#⃣', '*️⃣', '7⃣'])('is recognised in %s', text => {
    expect(isKeycap(text, 0)).toBe(true);
    expect(startsWord(`x${text}`, 1)).toBe(true);
  });

  it.each(['#', '#a', 'a⃣', '#️', ''])('is not recognised in %j', text => {
    expect(isKeycap(text, 0)).toBe(false);
  });
});

it('isRuleSpace accepts exactly the white space characters of JavaScript', () => {
  for (let unit = 0; unit <= 0xffff; unit++)
    if (isRuleSpace(unit) !== /\s/.test(String.fromCharCode(unit)))
      expect.fail(`U+${unit.toString(16)} is a space for one of them`);
});
