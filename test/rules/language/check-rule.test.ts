import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { OptionError } from '../../../src/base/errors.js';
import { checkRule } from '../../../src/rules/language/check-rule.js';
import { printRule } from '../../../src/rules/language/print-rule.js';
import { serviceMessage } from '../../../src/rules/language/problem.js';
import type { RuleProduct } from '../../../src/rules/post/dialect.js';
import { bySuite } from '../../suite.js';
import { unchecked } from '../../unchecked.js';
import { acceptedRule, arbitraryRule } from '../arbitrary-rule.js';

function errorsOf(text: string, product: RuleProduct = 'replay'): string[] {
  return checkRule(text, { product })
    .problems.filter(({ severity }) => severity === 'error')
    .map(({ code, start }) => `${code}@${start}`);
}

function messageOf(text: string, product: RuleProduct = 'replay'): string {
  return serviceMessage(checkRule(text, { product }).problems);
}

describe('serviceMessage', () => {
  const UNAVAILABLE =
    'Operator is not available in current product or product packaging. ' +
    'Please refer to complete available operator list at http://t.co/operators.';
  const AMBIGUOUS =
    'Ambiguous use of and as a keyword. Use a space to logically join two clauses, ' +
    'or "and" to find occurrences of and in text';
  const ONLY_NEGATED = (at: number) =>
    `Rules must contain a non-negation term (at position ${at})\n` +
    `Rules must contain at least one positive, non-stopword clause (at position ${at})\n`;

  test.each<[string, string, RuleProduct?]>([
    ['streaming gnip contains:$twtr', "no viable alternative at input '$twtr' (at position 25)\n"],
    ['#qwerty123 ★', "no viable alternative at character '★' (at position 12)\n\n"],
    ['-follow', ONLY_NEGATED(1)],
    ['streaming AND lang:en', `${AMBIGUOUS} (at position 11)\n`],
    ['fish AND bird', `${AMBIGUOUS} (at position 6)\n`],
    [
      'Pizza OR 🍕 OR "🍕" sample:100',
      'The sample operator cannot be used with an OR. To use the sample operator with an OR in the ' +
        'rule, the ORed clauses must be grouped together with parenthesis.  For example, to get 10% ' +
        'of activites that have term1 or term2, the rule should be (excluding the single quotes) ' +
        "'(term1 OR term2) sample:10' (at position 21)\n",
    ],
    ['from:contains:heart', "Cannot parse rule at ':' (position 14)\n"],
    ['((("#quotedhashtag"', "mismatched input 'EOF' expecting ')' (at position 20)\n\n"],
    [
      'bounding_box:[-71.199636,42.230046,-70.979909,42.398619]',
      "Cannot parse rule at '71.199636,42.230046,-70.979909,42.398619' (position 16)\n",
    ],
    ['aaaaa OR', "Cannot parse rule at '<EOF>' (position 9)\n"],
    ['cat dog)', "missing EOF at ')' (at position 8)\n\n"],
    ['[(a OR b) (c OR d)]', "no viable alternative at input '[' (at position 1)\n"],
    [
      "(pepsi OR cola OR 'coca cola')",
      "no viable alternative at character ''' (at position 19)\n\n",
    ],
    ['lang:en', 'is/has/lang cannot be used as a standalone operator (at position 1)\n', 'search'],
    ['h:x', "Reference to invalid field 'h' (at position 1).\n"],
    [
      'cat has:polls',
      "Reference to invalid operator 'has:polls'. Allowed values are geo, hashtags, images, links, " +
        'media, mentions, profile_geo, symbols, videos. (at position 9)\n',
    ],
    [
      'judell profile_point_radius:[-105.27 40.01 10mi]',
      `Reference to invalid operator 'profile_point_radius'. ${UNAVAILABLE} (at position 8)\n`,
      'search',
    ],
    [
      'beyonce has:lang',
      `Reference to invalid operator 'has:lang'. ${UNAVAILABLE} (at position 13)\n`,
    ],
  ])("returns the service's error message for the rule %j", (text, message, product = 'replay') => {
    expect(messageOf(text, product)).toBe(message);
  });

  test('joins the messages of several problems in the order of the rule', () => {
    expect(messageOf("cat 'x h:1 OR -dog")).toBe(
      "no viable alternative at character ''' (at position 5)\n\n" +
        "Reference to invalid field 'h' (at position 8).\n" +
        ONLY_NEGATED(15),
    );
  });

  test('contains two problems for the rule has:polls, which is alone', () => {
    expect(messageOf('has:polls', 'search')).toMatch(
      /^is\/has\/lang cannot be used as a standalone operator \(at position 1\)\nReference to invalid operator 'has:polls'\./,
    );
  });

  test('does not contain warnings', () => {
    const { problems } = checkRule('cat or dog', { product: 'search' });
    expect(problems).not.toEqual([]);
    expect(serviceMessage(problems)).toBe('');
  });
});

test.each([
  'h',
  'hello world',
  'hello? -beautiful world! -foo -bar bla -lol',
  '"hello world?" bla -bla "lol!" bla',
  'the boat',
  '(the boat) (the other boat)',
  '(lol lol ("bla" bla) -lol lol)',
  '"happy birthday"~3',
  '$AAPL lol',
  '-lang:en bla',
  'lang:en has:links from:8744 contains:help url_contains:foo',
  'these OR that OR these',
  '(these that) OR that',
  'these OR -that bla OR these',
  'the boat -(bla bla)',
  '((bla bla))',
  'profile_bounding_box:[-105.301758 39.964069 -105.178505 40.09455]',
  'profile_point_radius:[105.27346517 40.01924738 10.2mi]',
  'bounding_box:[179.9 2 -179.9 2.1]',
  'statuses_count:1000..10000',
  'statuses_count:1000..1000',
  'profile_subregion:"San Francisco County"',
  'ëèéê',
  '雪',
  '#qwerty123 😀',
  '#qwerty123 ⚽',
  '"hello -world!"',
  '" Mountain Time(US & Canada) "',
  '"the"',
  'lang:en',
  '(term1 OR term2) sample:10',
  'a b sample:1',
  '(-lang:und OR lang:en) snow',
  '(cat dog) -(followback OR #follow OR is:retweet OR the OR "$$$") lang:en',
  '(has:links OR is:reply) cat',
])('checkRule accepts the rule %j for jobs and replay', text => {
  expect(errorsOf(text, 'replay')).toEqual([]);
  expect(errorsOf(text, 'historical')).toEqual([]);
  expect(checkRule(text, { product: 'replay' }).tree).toBeDefined();
});

test.each<[string, string[]]>([
  ['', ['R005@0']],
  ['   ', ['R005@3']],
  ['#', ['R003@0']],
  ['@', ['R003@0']],
  ['+', ['R003@0']],
  ['!hello', ['R003@0']],
  ["''hello''", ['R003@0', 'R003@1']],
  ["'x'", ['R003@0']],
  ['hello @ world', ['R003@6']],
  ['hello + world', ['R003@6']],
  ['hello - world', ['R004@6']],
  ['-hello', ['R010@0', 'R011@0']],
  ['-a -b', ['R010@0', 'R011@0']],
  ['-"a" -"b"', ['R010@0', 'R011@0']],
  ['-(bla bla)', ['R010@0', 'R011@0']],
  ['-lang:en -contains:lol', ['R010@0', 'R011@0']],
  ['cat (-dog -bird)', ['R010@5', 'R011@5']],
  ['cat -(-dog)', ['R010@6', 'R011@6']],
  ['the', ['R011@0']],
  ['a an', ['R011@0']],
  ['The -cat', ['R011@0']],
  ['this OR that', ['R011@0']],
  ['that OR this', ['R011@8']],
  ['apple OR -ipad', ['R010@9', 'R011@9']],
  ['these OR -that', ['R010@9', 'R011@9']],
  ['-these OR that', ['R010@0', 'R011@0']],
  ['(hello (world) bla', ['R006@18']],
  ['"hello', ['R008@6']],
  ['lang:', ['R005@5']],
  ['lang: en cat', ['R005@5']],
  ['this OR', ['R005@7', 'R011@0']],
  ['OR bla', ['R005@0']],
  ['(gnip OR)', ['R005@8']],
  ['a OR OR b', ['R005@5', 'R011@0']],
  ['()', ['R005@1']],
  ['""', ['R005@0']],
  ['--cat', ['R004@0']],
  ['cat -', ['R004@4']],
  ['point_radius:[105.27 40.01 10 km]', ['R005@27']],
  ['point_radius:[105.27 40.01 10.2m]', ['R005@27']],
  ['point_radius:[105.2 10.2mi]', ['R005@20']],
  ['point_radius:[105.2 40.1 25mi]', ['R019@25']],
  ['point_radius:[105.2 40.1 40.3km]', ['R019@25']],
  ['point_radius:[105.2 40.1 0mi]', ['R019@25']],
  ['point_radius:[181 -91 1mi]', ['R019@14', 'R019@18']],
  ['point_radius:40', ['R004@13']],
  ['point_radius:[1 2 3mi', ['R005@21']],
  ['bounding_box:[1 2]', ['R005@17']],
  ['bounding_box:[1 2 3]', ['R005@19']],
  ['bounding_box:[1 2 3 4 5]', ['R005@22']],
  ['bounding_box:[1 2 1.1 3]', ['R019@14']],
  ['bounding_box:[1 2 1.5 2.1]', ['R019@14']],
  ['bounding_box:[1.1 2 1 2.1]', ['R019@14']],
  ['bounding_box:[1 2.1 1.1 2]', ['R019@14']],
  ['statuses_count:1000...2000', ['R020@15']],
  ['statuses_count:1000.0', ['R020@15']],
  ['statuses_count:-900', ['R020@15']],
  ['statuses_count:20..10', ['R020@15']],
  ['statuses_count:99999999999999999999', ['R020@15']],
  ['retweets_of_status_id:abc', ['R004@22']],
  ['lang:english', ['R014@5']],
  ['lang:en_gb', ['R014@5']],
  ['lang:e', ['R014@5']],
  ['place_country:USA', ['R014@14']],
  ['place_country:XX', ['R014@14']],
  ['country_code:USA', ['R016@0', 'R014@13']],
  ['cat is:vegan', ['R014@7']],
  ['cat sample:0', ['R018@11']],
  ['cat sample:101', ['R018@11']],
  ['cat sample:1.5', ['R018@11']],
  ['cat -sample:10', ['R018@5']],
  ['cat (dog OR bird sample:10)', ['R017@17']],
  ['sample:10', ['R012@0']],
  ['source:web', ['R012@0']],
  ['has:links OR sample:10', ['R012@13', 'R017@13']],
  ['has:links OR source:web', ['R012@13']],
  ['cat is:nullcast', ['R022@4']],
  ['-is:nullcast', ['R010@0', 'R011@0']],
  ['cat FROM:dog', ['R013@4']],
  ['http://a.b/c', ['R013@0']],
  ['10:30', ['R005@2']],
  ['url:http://a.b', ['R005@8']],
  [':x', ['R005@0']],
  ['from:@cat', ['R004@5']],
  ['contains:[x]', ['R004@9']],
  ['"a b"~', ['R005@5']],
  ['"a b"~x', ['R005@5']],
  ['"a b"~0', ['R021@6']],
  ['"a b"~7', ['R021@6']],
  ['"a":b', ['R005@3']],
  ['#a:b', ['R005@2']],
  ['bio:""', ['R004@4']],
  ['influence_score:10 cat', ['R016@0']],
  ['has:profile_geo_region cat', ['R016@4']],
  ['a\u0000b', ['R003@1']],
])('checkRule for jobs and replay reports the rule %j with code@position %j', (text, errors) => {
  expect(errorsOf(text, 'replay').sort()).toEqual([...errors].sort());
  expect(checkRule(text, { product: 'historical' }).tree).toBeUndefined();
});

test.each<[string, string[]]>([
  ['cat has:geo', []],
  ['cat -is:nullcast', []],
  ['cat is:nullcast', ['R022@4']],
  ['cat (dog -is:nullcast)', ['R022@10']],
  ['-is:nullcast', ['R010@0', 'R011@0']],
  ['lang:en', ['R012@0']],
  ['lang:en is:retweet has:links -cat', ['R012@0']],
  ['contains:x', ['R015@0']],
  ['user_bio:x', ['R015@0']],
  ['cat -(url_contains:x OR sample:10)', ['R015@6', 'R015@24']],
])('checkRule for search reports the rule %j with code@position %j', (text, errors) => {
  expect(errorsOf(text, 'search')).toEqual(errors);
});

test.each<[string, string[]]>([
  ['is:retweet -cat', ['R110@0']],
  ['-cat has:links', ['R110@5']],
  ['cat OR has:links', ['R110@7']],
  ['the has:links', ['R110@4']],
  ['has:links OR is:reply', ['R110@0']],
  ['has:links is:reply', []],
  ['((has:mentions OR has:media) is:verified) -is:retweet', ['R110@2']],
  ['cat -is:nullcast', []],
  ['cat (dog -is:nullcast)', []],
  ['lang:ca OR lang:eu OR lang:hr OR lang:bs', []],
  ['lang:id OR lang:in OR lang:he OR lang:IW', []],
  ['lang:xx', ['R111@5']],
  ['cat -lang:ENG', ['R111@10']],
  ['lang:pt-BR OR lang:sr-latn-rs', ['R111@5', 'R111@19']],
])('checkRule accepts the rule %j for jobs and replay with the warnings %j', (text, warnings) => {
  for (const product of ['historical', 'replay'] as const) {
    const { tree, problems } = checkRule(text, { product });
    expect(tree).toBeDefined();
    expect(problems.map(({ code, start }) => `${code}@${start}`)).toEqual(warnings);
  }
});

test('the tag of a rule may have at most 255 characters', () => {
  const codes = (tag: string | null) =>
    checkRule('cat', { product: 'replay', tag }).problems.map(({ code }) => code);
  expect(codes(null)).toEqual([]);
  expect(codes('x'.repeat(255))).toEqual([]);
  expect(codes('x'.repeat(256))).toEqual(['R023']);
});

test('checkRule returns a tree if and only if the rule has no errors', () => {
  const numRuns = bySuite(63, 10_000);
  for (const product of ['search', 'replay'] as const)
    fc.assert(
      fc.property(arbitraryRule(), tree => {
        const checked = checkRule(printRule(tree), { product });
        const failed = checked.problems.some(({ severity }) => severity === 'error');
        expect(checked.tree === undefined).toBe(failed);
      }),
      { numRuns },
    );
});

test('every rule that is valid for search is valid for jobs', () => {
  fc.assert(
    fc.property(acceptedRule('search'), ({ text }) => {
      expect(errorsOf(text, 'historical')).toEqual([]);
    }),
    { numRuns: bySuite(25, 1_200) },
  );
});

test('checkRule checks deep and wide nesting in linear time', () => {
  const text = `${'-('.repeat(1000)}${'-a '.repeat(100_000)}${')'.repeat(1000)}`;
  expect(errorsOf(text)).toContain('R001@0');
});

test.each(['-(', '-(a', '(-(b', 'a -((', '-("c'])(
  'the problem of an unclosed group does not extend beyond the end of the rule: %s',
  text => {
    const { problems } = checkRule(text);
    expect(problems).not.toEqual([]);
    for (const { start, end } of problems) {
      expect(start).toBeLessThanOrEqual(end);
      expect(end).toBeLessThanOrEqual(text.length);
    }
  },
);

test('checkRule reports at most 100 problems of a hostile rule', () => {
  const text = 'sample:10 OR '.repeat(80_000);
  expect(checkRule(text, { product: 'replay' }).problems).toHaveLength(100);
});

test('checkRule checks a rule for historical jobs if no product is given', () => {
  expect(checkRule('contains:cat').tree).toBeDefined();
  expect(checkRule('contains:cat', { product: 'search' }).tree).toBeUndefined();
});

test.each([42, undefined, null, {}])('checkRule throws an OptionError if the rule is %j', rule => {
  expect(() => checkRule(unchecked(rule))).toThrow(OptionError);
});

test('the note about standalone operators says that a stop word is not a keyword', () => {
  const noteOf = (rule: string) => checkRule(rule, { product: 'search' }).problems[0]?.note;
  const alone = 'in search it needs a keyword or another operator';
  expect(noteOf('has:links lang:en')).toBe(alone);
  expect(noteOf('has:symbols lang:en (day OR the)')).toBe(
    `${alone}; \`the\` is a stop word, which does not count`,
  );
});
