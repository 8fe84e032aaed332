import fc from 'fast-check';
import { expect, test } from 'vitest';
import { applySuggestions } from '../../../src/rules/language/apply-suggestions.js';
import { checkRule } from '../../../src/rules/language/check-rule.js';
import { printRule } from '../../../src/rules/language/print-rule.js';
import type { Problem } from '../../../src/rules/language/problem.js';
import { bySuite } from '../../suite.js';
import { arbitraryRule } from '../arbitrary-rule.js';

const product = 'replay';

test.each([
  ['cat (dog OR has:vidoes)', 'cat (dog OR has:videos)'],
  ['cat is:retwet', 'cat is:retweet'],
  ['langs:en', 'lang:en'],
  ['From:cat', 'from:cat'],
  ['has_links:x', '"has_links:x"'],
  ['http://a.b/c', 'url:"a.b/c"'],
  ['https://a.b/c, cat', 'url:"a.b/c" cat'],
  ['(cat OR https://a.b/?q=x#y.)', '(cat OR url:"a.b/?q=x#y")'],
  ['url:http://a.b', 'url:"http://a.b"'],
  ['url:http://a.b, cat', 'url:"http://a.b" cat'],
  ['10:30, cat', '"10:30" cat'],
  ['10:30 cat', '"10:30" cat'],
  ['contains:$twtr', 'contains:"$twtr"'],
  ['from:@cat', 'from:cat'],
  ['cat AND dog', 'cat dog'],
  ["(cat OR 'big dog')", '(cat OR "big dog")'],
  ['★ cat', '"★" cat'],
  ['(cat (dog', '(cat (dog))'],
  ['coffee -(tea OR milk', 'coffee -(tea OR milk)'],
  ['cat *dog', 'cat dog'],
  ['cat **dog', 'cat dog'],
  ['contains:*dog', 'contains:dog'],
  ['cat)', 'cat'],
  ['cat "dog', 'cat "dog"'],
  ['cat - dog', 'cat  dog'],
  ['lang:en-gb', 'lang:en'],
  ['lang:en_gb', 'lang:en'],
  ['lang:eng', 'lang:en'],
  ['place_country:uk', 'place_country:GB'],
  ['statuses_count:10-20', 'statuses_count:10..20'],
  ['statuses_count:20..10', 'statuses_count:10..20'],
  ['bounding_box:[-71.19,42.23,-70.97,42.39]', 'bounding_box:[-71.19 42.23 -70.97 42.39]'],
  ['retweets_of_status_id:"https://x.com/a/status/123"', 'retweets_of_status_id:123'],
  ['cat OR dog sample:10', '(cat OR dog) sample:10'],
  ['"cat dog"~9', '"cat dog"~6'],
  // These operators have other names in version 1.0.
  ['platform_lang:en', 'lang:en'],
  ['twitter_lang:en', 'lang:en'],
  ['cat has:lang', 'cat -lang:und'],
  ['cat -has:lang', 'cat lang:und'],
  ['country_code:us', 'place_country:us'],
  ['profile_country_code:us', 'profile_country:us'],
  ['bio_location_contains:"new york"', 'bio_location:"new york"'],
  ['place_contains:paris', 'place:paris'],
  ['profile_region_contains:co', 'profile_region:co'],
  ['profile_locality_contains:co', 'profile_locality:co'],
  ['profile_subregion_contains:co', 'profile_subregion:co'],
  ['bio_name_contains:cat', 'bio_name:cat'],
  ['bio_contains:cat', 'bio:cat'],
])('applySuggestions corrects the rule %j to %j', (text, mended) => {
  const { problems } = checkRule(text, { product });
  expect(problems.length).toBeGreaterThan(0);
  expect(applySuggestions(text, problems)).toBe(mended);
  const left = checkRule(mended, { product }).problems.filter(p => p.severity === 'error');
  expect(left).toEqual([]);
});

test('an operator that was removed without a successor has no suggestion', () => {
  for (const text of [
    'influence_score:10',
    'influence_topic:"a b"',
    'influence_topic_contains:a',
    'influence_topic_id:1',
    'klout_score:10',
    'bio_lang:en',
    'has:profile_geo_region',
    'has:profile_geo_subregion',
    'has:profile_geo_locality',
  ]) {
    const { problems } = checkRule(`cat ${text}`, { product });
    expect(problems.map(({ code, suggestion }) => [code, suggestion])).toEqual([
      ['R016', undefined],
    ]);
  }
});

test.each([
  ['country_code:us has:vidoes', 'place_country:us has:vidoes'],
  ['cat -(dog OR from:bird) or', 'cat -dog -from:bird or'],
  ['cat OR dog lang:en', 'cat OR (dog lang:en)'],
  ['cat OR dog sample:10', '(cat OR dog) sample:10'],
  ["cat 'big dog'", 'cat "big dog"'],
  ['cat is:retwet', 'cat is:retwet'],
  ['cat or dog', 'cat or dog'],
  ['cat, dog', 'cat, dog'],
])('applySuggestions limited to certain suggestions changes %j to %j', (text, mended) => {
  const { problems } = checkRule(text, { product });
  const certain = problems.filter(({ suggestion }) => suggestion?.certain);
  expect(applySuggestions(text, certain)).toBe(mended);
});

const problem = (...edits: [number, number, string][]): Problem => ({
  code: 'R004',
  severity: 'error',
  message: '',
  explanation: '',
  start: 0,
  end: 0,
  suggestion: {
    label: '',
    certain: true,
    edits: edits.map(([start, end, text]) => ({ start, end, text })),
  },
});

test('applySuggestions applies only the first of two overlapping suggestions', () => {
  const first = problem([1, 3, 'X']);
  expect(applySuggestions('abcdef', [first, problem([2, 4, 'Y'], [5, 6, 'Z'])])).toBe('aXdef');
  expect(applySuggestions('abcdef', [first, problem([3, 4, 'Y'], [0, 1, 'Z'])])).toBe('ZXYef');
  expect(applySuggestions('abc', [problem([1, 1, 'X']), problem([1, 1, 'Y'])])).toBe('aXbc');
  expect(applySuggestions('abc', [problem([1, 1, 'X']), problem([0, 2, 'Y'])])).toBe('aXbc');
  expect(applySuggestions('abc', [problem([0, 2, 'Y']), problem([1, 1, 'X'])])).toBe('Yc');
});

test('applySuggestions treats an insertion that touches another edit as overlapping', () => {
  expect(applySuggestions('abc', [problem([0, 2, 'Y']), problem([2, 2, 'X'])])).toBe('Yc');
  expect(applySuggestions('abc', [problem([1, 1, 'X']), problem([1, 2, 'Y'])])).toBe('aXbc');
  expect(applySuggestions('abc', [problem([1, 2, 'Y']), problem([1, 1, 'X'])])).toBe('aYc');
  expect(applySuggestions('abc', [problem([0, 1, 'Y']), problem([1, 2, 'X'])])).toBe('YXc');
});

test('a valid rule stays valid when the suggestions of its warnings are applied', () => {
  fc.assert(
    fc.property(arbitraryRule({ words: ['cat', 'or', 'and', 'not', 'dog', 'a-b'] }), tree => {
      const text = printRule(tree);
      const { problems, tree: accepted } = checkRule(text, { product });
      const certain = problems.filter(({ suggestion }) => suggestion?.certain);
      if (accepted === undefined || certain.length === 0) return;
      const mended = applySuggestions(text, certain);
      if (mended.length <= 2048) expect(checkRule(mended, { product }).tree, mended).toBeDefined();
    }),
    { numRuns: bySuite(88, 4_000) },
  );
});

test.each(['has:lang', '(()(', 'cat has:vidoes lang:q'])(
  'the rule %j has no suggestions, because no suggestion would make it valid',
  text => {
    const { problems } = checkRule(text, { product });
    expect(problems.some(({ severity }) => severity === 'error')).toBe(true);
    expect(problems.filter(({ suggestion }) => suggestion !== undefined)).toEqual([]);
  },
);

test('the note of a problem can name a fix that is not offered as a suggestion', () => {
  const { problems } = checkRule('has:lang', { product });
  expect(problems.find(({ code }) => code === 'R016')?.note).toContain('-lang:und');
});

const part = fc.constantFrom(
  ...['cat', ' ', ' OR ', '(', ')', '-', '"', 'has:lang', 'has:vidoes', 'lang:en_us', 'AND', 'or'],
  ...[
    '“',
    '”',
    "'",
    ':',
    '[',
    '#',
    '@a.b',
    'the',
    'sample:5',
    'is:nullcast',
    '"a b"~9',
    '★',
    'x:y',
  ],
  ...['country_code:us', 'not ', 'a-b', '10...20', 'followers_count:', 'from:@', '*', 'the*'],
);

test('applySuggestions never adds errors, and changes nothing without suggestions', () => {
  const errors = (problems: readonly Problem[]) =>
    problems.filter(({ severity }) => severity === 'error').length;
  const text = fc.oneof(
    fc.array(part, { maxLength: 10 }).map(parts => parts.join('')),
    arbitraryRule({ words: ['cat', 'or', 'and', 'not', 'dog', 'a-b', 'cat*'] }).chain(tree => {
      const printed = printRule(tree);
      return fc.nat(printed.length).map(length => printed.slice(0, length));
    }),
  );
  fc.assert(
    fc.property(text, fc.constantFrom('search' as const, 'replay' as const), (rule, product) => {
      const { problems } = checkRule(rule, { product });
      const mended = applySuggestions(rule, problems);
      if (problems.every(({ suggestion }) => suggestion === undefined)) expect(mended).toBe(rule);
      const left = errors(checkRule(mended, { product }).problems);
      expect(left, mended).toBeLessThanOrEqual(errors(problems));
    }),
    { numRuns: bySuite(375, 20_000) },
  );
});

test('a rule is valid after its suggestions are applied until none is left', () => {
  fc.assert(
    fc.property(
      fc.array(part, { maxLength: 8 }).map(parts => parts.join('')),
      fc.constantFrom('search' as const, 'replay' as const),
      (text, product) => {
        let rule = text;
        let { problems } = checkRule(rule, { product });
        if (problems.every(({ suggestion }) => suggestion === undefined)) return;
        for (let round = 0; round < 8; round++) {
          rule = applySuggestions(rule, problems);
          ({ problems } = checkRule(rule, { product }));
        }
        expect(problems.filter(({ severity }) => severity === 'error')).toEqual([]);
      },
    ),
    { numRuns: bySuite(413, 20_000) },
  );
});
