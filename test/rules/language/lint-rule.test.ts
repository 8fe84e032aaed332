import { expect, test } from 'vitest';
import { applySuggestions } from '../../../src/rules/language/apply-suggestions.js';
import { checkRule } from '../../../src/rules/language/check-rule.js';
import type { RuleProduct } from '../../../src/rules/post/dialect.js';

const product = 'replay';

test.each<[string, string, string]>([
  ['cat or dog', 'R101', 'cat OR dog'],
  ['cat and dog', 'R101', 'cat dog'],
  ['cat not dog', 'R101', 'cat -dog'],
  ['cat NOT (dog bird)', 'R101', 'cat -(dog bird)'],
  ['cat dog”', 'R102', 'cat dog'],
  ['cat (dog OR -bird)', 'R103', 'cat (dog OR -bird)'],
  ['coca-cola', 'R104', '"coca-cola"'],
  ['coca-cola, cat', 'R104', '"coca-cola" cat'],
  ['cat, dog', 'R104', 'cat dog'],
  ['algorithm*', 'R112', 'contains:algorithm'],
  ['cat -(dog bird**,)', 'R105 R112', 'cat -(dog contains:bird)'],
  ['#cat*', 'R112', 'contains:"#cat"'],
  ['@cat*', 'R112', 'contains:"@cat"'],
  ['$cat*', 'R112', 'contains:"$cat"'],
  ['url:cat*', 'R112', 'url_contains:cat'],
  ['bio:cat*', 'R112', 'bio:cat'],
  ['contains:cat*', 'R112', 'contains:cat'],
  ['from:cat*', 'R112', 'from:cat*'],
  ['cat -(dog OR from:bird)', 'R105', 'cat -dog -from:bird'],
  ['cat -(dog bird)', 'R105', 'cat -(dog bird)'],
  ['cat OR dog lang:en', 'R106', 'cat OR (dog lang:en)'],
  ['#cats, dog', 'R107', '#cats dog'],
  ['@foo.bar', 'R107', '@foo'],
  ['$5', 'R107', '$5'],
  ['from:"foo bar"', 'R107', 'from:"foo bar"'],
  ['"#cat"', 'R108', '#cat'],
  ['"lang:en" cat', 'R108', 'lang:en cat'],
  ['cat lang:en lang:es', 'R109', 'cat lang:en lang:es'],
  ['cat dog -Cat', 'R109', 'cat dog -Cat'],
  ['cat lang:spa', 'R111', 'cat lang:es'],
  ['cat lang:qqq', 'R111', 'cat lang:qqq'],
])('checkRule accepts %j with the warning %s, which suggests %j', (text, code, mended) => {
  const { tree, problems } = checkRule(text, { product });
  expect(tree).toBeDefined();
  expect(problems.map(problem => problem.code).join(' ')).toBe(code);
  expect(problems.every(({ severity }) => severity === 'warning')).toBe(true);
  expect(applySuggestions(text, problems)).toBe(mended);
});

test('the warning that suggests quotes explains how the product treats punctuation', () => {
  const noteOf = (product: RuleProduct) => checkRule('coca-cola', { product }).problems[0];
  expect(noteOf('replay')?.explanation).toContain('to match it too, quote it');
  expect(noteOf('search')?.explanation).toContain('search ignores it in phrases, too');
  expect(noteOf('search')?.suggestion?.label).toBe(
    'to match its words in order, quote them: `"coca-cola"`',
  );
});

test.each([
  ['algorithm*', 'algorithm'],
  ['#cat* OR @cat*', '#cat OR @cat'],
  ['url:cat*', 'url:cat'],
])('the note of an error in search says that %j has no wildcards', (text, mended) => {
  const { problems } = checkRule(text, { product: 'search' });
  expect(problems[0]?.explanation).toContain('not a wildcard');
  expect(applySuggestions(text, problems)).toBe(mended);
});

test('the error for a leading * says that rules have no wildcards', () => {
  for (const text of ['*cat', 'cat *', 'contains:*cat'])
    expect(checkRule(text, { product }).problems[0]?.note).toContain('no wildcards');
});

test.each([
  'cat dog',
  'or cat',
  '(cat dog) OR (bird fish)',
  '"in quotes, anything: #cat -dog"',
  '#猫 #1989 #naïve_cat',
  '$BRK.A',
  'cat -dog -bird',
  '"coca-cola" url_contains:coca-cola',
  '"cat*" bio:"cat*" 1*⃣',
  '👩‍🚀 🇩🇪 ñandú',
  'lang:en -lang:es cat',
  'lang:he lang:iw cat',
])('checkRule reports no warning for the rule %j', text => {
  expect(checkRule(text, { product }).problems).toEqual([]);
});

test('checkRule reports no warning for text that an error already suggests changing', () => {
  const text = '“cat dog” bird';
  const { problems } = checkRule(text, { product });
  expect(problems.map(({ code }) => code)).toEqual(['R003']);
  expect(applySuggestions(text, problems)).toBe('"cat dog" bird');
});

test.each([
  ['a zero width non-joiner', '#می\u200cخواهم'],
  ['a zero width joiner', '#ක්\u200dෂ'],
  ['geresh and gershayim', '#צה״ל׳'],
  ['maqaf', '#תל־אביב'],
  ['tsheg', '#བོད་ཡིག'],
  ['a wave dash', '#あ〜い'],
  ['an ideographic iteration mark', '#各〃'],
])('checkRule reports no warning for a hashtag with %s', (_, text) => {
  expect(checkRule(text, { product }).problems).toEqual([]);
});
