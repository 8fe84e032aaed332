import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { parseRule } from '../../../src/rules/language/parse-rule.js';
import { printRule } from '../../../src/rules/language/print-rule.js';
import type { RuleNode } from '../../../src/rules/tree.js';
import { codePoint } from '../../code-point.js';
import { bySuite } from '../../suite.js';
import { arbitraryRule } from '../arbitrary-rule.js';

function treeOf(text: string): RuleNode {
  const { tree, problems } = parseRule(text);
  expect(problems).toEqual([]);
  return tree as RuleNode;
}

function structure(node: RuleNode): string {
  if (node.kind === 'and') return `(${node.nodes.map(structure).join(' & ')})`;
  if (node.kind === 'or') return `(${node.nodes.map(structure).join(' | ')})`;
  return node.kind === 'not' ? `!${structure(node.node)}` : printRule(node);
}

test('every node of a parsed rule has its position in the text', () => {
  const text = ' cat (dog OR -"a b") has:geo';
  const tree = treeOf(text);
  expect(text.slice(tree.start, tree.end)).toBe('cat (dog OR -"a b") has:geo');
  expect(tree).toMatchObject({
    kind: 'and',
    nodes: [
      { kind: 'keyword', text: 'cat', start: 1, end: 4 },
      {
        kind: 'or',
        start: 6,
        end: 19,
        nodes: [
          { kind: 'keyword', text: 'dog', start: 6, end: 9 },
          { kind: 'not', start: 13, end: 19, node: { kind: 'phrase', text: 'a b', start: 14 } },
        ],
      },
      { kind: 'operator', name: 'has', value: 'geo', start: 21, end: 28 },
    ],
  });
});

test.each([
  ['apple OR iphone ipad', '(apple | (iphone & ipad))'],
  ['ipad iphone OR android', '((ipad & iphone) | android)'],
  ['(apple OR iphone) ipad', '((apple | iphone) & ipad)'],
  ['a b c', '(a & b & c)'],
  ['((a)) (b)', '(a & b)'],
  ['(a (b c))', '(a & (b & c))'],
  ['a -(b OR c) -d', '(a & !(b | c) & !d)'],
  ['a(b)"c"d', '(a & b & "c" & d)'],
  ['a\tb\n\u3000c', '(a & b & c)'],
  ['ORbit or oR OR or', '((ORbit & or & oR) | or)'],
  ['(a)OR(b)', '(a | b)'],
])('parseRule parses %j as %s', (text, meaning) => {
  expect(structure(treeOf(text))).toBe(meaning);
});

test.each([
  ["hello!%&'*+-./;<=>?,#@world", { kind: 'keyword' }],
  ['ëèéê', { kind: 'keyword' }],
  ['東京', { kind: 'keyword' }],
  ['🍕', { kind: 'keyword' }],
  ['👩‍👩‍👧', { kind: 'keyword' }],
  ['❤', { kind: 'keyword', text: '❤' }],
  ['❤️', { kind: 'keyword' }],
  ['☕', { kind: 'keyword' }],
  ['⚽', { kind: 'keyword' }],
  ['#️⃣', { kind: 'keyword', text: '#️⃣' }],
  ['*⃣', { kind: 'keyword', text: '*⃣' }],
  ['contains:✅', { name: 'contains', value: '✅' }],
  ['contains:#️⃣', { name: 'contains', value: '#️⃣' }],
  ['"hello -world!"', { kind: 'phrase', text: 'hello -world!' }],
  ['" Mountain Time(US & Canada) "', { kind: 'phrase', text: ' Mountain Time(US & Canada) ' }],
  ['"Toys \\"R\\" Us"', { kind: 'phrase', text: 'Toys "R" Us' }],
  ['"C:\\dir\\\\"', { kind: 'phrase', text: 'C:\\dir\\' }],
  ['"happy birthday"~3', { kind: 'proximity', text: 'happy birthday', distance: 3 }],
  ['#1989', { kind: 'hashtag', text: '1989' }],
  ['@_user', { kind: 'mention', text: '_user' }],
  ['@12345', { kind: 'mention', text: '12345' }],
  ['$AAPL', { kind: 'cashtag', text: 'AAPL' }],
  ['contains:🍕', { name: 'contains', value: '🍕' }],
  ['contains:"$twtr"', { name: 'contains', value: '$twtr' }],
  ['profile_region:one/two', { name: 'profile_region', value: 'one/two' }],
  ['from:8744', { name: 'from', value: '8744' }],
  ['from:_x', { name: 'from', value: '_x' }],
  ['lang:EN', { name: 'lang', value: 'en' }],
  ['lang:und', { name: 'lang', value: 'und' }],
  ['place_country:us', { name: 'place_country', value: 'US' }],
  ['followers_count:1000', { name: 'followers_count', value: { min: 1000 } }],
  ['statuses_count:1000..10000', { name: 'statuses_count', value: { min: 1000, max: 10000 } }],
  ['retweets_of_status_id:734938587381145604', { value: '734938587381145604' }],
  ['sample:100', { name: 'sample', value: 100 }],
  ['is:Retweet', { name: 'is', value: 'retweet' }],
  ['has:media_link', { name: 'has', value: 'media' }],
  ['has:video_link', { name: 'has', value: 'videos' }],
  ['has:derived_user_geo', { name: 'has', value: 'profile_geo' }],
  ['within_url_title:x', { name: 'url_title' }],
  ['within_url_description:x', { name: 'url_description' }],
  ['user_bio:x', { name: 'bio' }],
  ['user_bio_location:x', { name: 'bio_location' }],
  ['tweets_count:1', { name: 'statuses_count' }],
  ['following_count:1', { name: 'friends_count' }],
  ['user_in_lists_count:1', { name: 'listed_count' }],
  ['retweets_of_user:x', { name: 'retweets_of' }],
  ['retweets_of_tweet_id:1', { name: 'retweets_of_status_id' }],
  ['in_reply_to_tweet_id:1', { name: 'in_reply_to_status_id' }],
  ['geo_bounding_box:[1 2 1.1 2.1]', { name: 'bounding_box' }],
  [
    'profile_bounding_box:[-105.301758 39.964069 -105.178505 40.09455]',
    { value: { west: -105.301758, south: 39.964069, east: -105.178505, north: 40.09455 } },
  ],
  [
    'point_radius:[105.27346517 -40.01924738 10.2km]',
    { value: { longitude: 105.27346517, latitude: -40.01924738, radius: 10.2, unit: 'km' } },
  ],
])('parseRule parses %j as one clause', (text, clause) => {
  expect(treeOf(text)).toMatchObject({ start: 0, end: text.length, ...clause });
});

test('parseRule reports all problems in one pass, in the order of the text', () => {
  const text = "has:vidoes 'x' lang:e (a OR) b) bounding_box:[1 2 3] h:1 \"c";
  const { tree, problems } = parseRule(text);
  expect(tree).toBeUndefined();
  expect(problems.map(({ code, start }) => [code, text.slice(start, start + 3)])).toEqual([
    ['R014', 'vid'],
    ['R003', "'x'"],
    ['R014', 'e ('],
    ['R005', ') b'],
    ['R007', ') b'],
    ['R005', '] h'],
    ['R013', 'h:1'],
    ['R008', ''],
  ]);
});

test('the length limit of a rule counts characters, not UTF-16 units', () => {
  expect(parseRule('🍕'.repeat(2048)).problems).toEqual([]);
  expect(parseRule('🍕'.repeat(2049)).problems.map(({ code }) => code)).toEqual(['R001']);
});

test('parseRule parses any number of groups up to the length limit of a rule', () => {
  const nested = (depth: number) => `${'('.repeat(depth)}a${')'.repeat(depth)}`;
  expect(parseRule(nested(1023)).tree?.kind).toBe('keyword');
  expect(parseRule(nested(1025)).problems.map(({ code }) => code)).toEqual(['R001', 'R002']);
});

describe('the rule parser', () => {
  const numRuns = bySuite(250, 30_000);
  const PIECES = fc.constantFrom(
    ...'( ) " - # @ $ : [ ] ~ \\ OR AND a the 1 ⚽ “ \' has: lang: is: sample: bounding_box:[ \ud83c'
      .split(' ')
      .concat(' ', '\n', '\0'),
  );

  function survives(text: string): void {
    const { tree, problems } = parseRule(text);
    expect(tree === undefined).toBe(problems.length > 0);
    for (const { start, end, suggestion, message } of problems) {
      expect(start >= 0 && start <= end && end <= text.length).toBe(true);
      expect(message).not.toBe('');
      for (const edit of suggestion?.edits ?? [])
        expect(edit.start >= 0 && edit.start <= edit.end && edit.end <= text.length).toBe(true);
    }
  }

  test('never throws for any string', () => {
    fc.assert(
      fc.property(
        fc.oneof(
          fc.string({ unit: codePoint }),
          fc.array(PIECES).map(p => p.join('')),
        ),
        survives,
      ),
      { numRuns },
    );
  });

  test('never throws for any damaged rule', () => {
    const damaged = fc
      .tuple(arbitraryRule(), fc.nat(), fc.nat(8), PIECES)
      .map(([rule, at, length, piece]) => {
        const text = printRule(rule);
        const from = at % (text.length + 1);
        return text.slice(0, from) + piece + text.slice(from + length);
      });
    fc.assert(fc.property(damaged, survives), { numRuns });
  });

  test.each([
    ['parentheses', '('.repeat(100_000)],
    ['negated parentheses', '-('.repeat(100_000)],
    ['closing parentheses', ')'.repeat(1_000_000)],
    ['single quotes', "'".repeat(1_000_000)],
    ['curly quotes', '“'.repeat(1_000_000)],
    ['minus signs', '-'.repeat(1_000_000)],
    ['brackets', '['.repeat(1_000_000)],
    ['open values', 'point_radius:['.repeat(70_000)],
    ['escapes', `"${'\\"'.repeat(500_000)}`],
    ['words', 'a '.repeat(500_000)],
    ['one word', 'a'.repeat(1_000_000)],
    ['alternatives', 'a OR '.repeat(200_000)],
    ['colons', 'a:'.repeat(500_000)],
    ['arguments', `bounding_box:[${'1 '.repeat(500_000)}]`],
    ['deep and wide', `${'(a '.repeat(1000)}${'x '.repeat(400_000)}${')'.repeat(1000)}`],
  ])('reports an error for a megabyte of %s', (_, text) => {
    const { tree, problems } = parseRule(text);
    expect(tree).toBeUndefined();
    expect(problems.length).toBeGreaterThan(0);
    // Parsing stops after a hundred problems.
    expect(problems.length).toBeLessThan(105);
  });
});
