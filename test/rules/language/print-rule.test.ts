import fc from 'fast-check';
import { expect, test } from 'vitest';
import { parseRule } from '../../../src/rules/language/parse-rule.js';
import { printRule } from '../../../src/rules/language/print-rule.js';
import { bySuite } from '../../suite.js';
import { arbitraryRule, withoutPositions } from '../arbitrary-rule.js';

const runs = bySuite(250, 20_000);

test('a rule tree is the same after it is printed and parsed', () => {
  fc.assert(
    fc.property(arbitraryRule(), tree => {
      const { tree: again, problems } = parseRule(printRule(tree));
      expect(problems).toEqual([]);
      expect(withoutPositions(again as NonNullable<typeof again>)).toEqual(tree);
    }),
    { numRuns: runs },
  );
});

test.each([
  ['  cat   dog ', 'cat dog'],
  ['((cat  OR dog)) user_bio:"vet"', '(cat OR dog) bio:vet'],
  ['(cat dog) OR (bird)', 'cat dog OR bird'],
  ['(a OR b) OR c', '(a OR b) OR c'],
  ['a (b c)', 'a (b c)'],
  ['a -(-b)', 'a -(-b)'],
  ['"Toys \\"R\\" Us"', '"Toys \\"R\\" Us"'],
  ['lang:EN has:VIDEO_LINK profile_country:us', 'lang:en has:videos profile_country:US'],
  ['url:"http://a.b/c"', 'url:"http://a.b/c"'],
  ['point_radius:[ 0.00000012 -1.50  10.20MI ]', 'point_radius:[0.00000012 -1.5 10.2mi]'],
  ['followers_count:10..20 sample:007', 'followers_count:10..20 sample:7'],
])('printRule prints the tree of %j as %j', (text, printed) => {
  const { tree } = parseRule(text);
  expect(tree && printRule(tree)).toBe(printed);
});

test('printRule quotes a keyword that could not be parsed again otherwise', () => {
  const keyword = { kind: 'keyword', start: 0, end: 0 } as const;
  for (const text of ['two words', 'OR', 'AND', 'a:b', '-a', ''])
    expect(printRule({ ...keyword, text })).toBe(`"${text}"`);
});
