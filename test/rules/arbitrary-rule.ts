import fc from 'fast-check';
import { checkRule } from '../../src/rules/language/check-rule.js';
import { countryCodes, languageCodes } from '../../src/rules/language/iso-codes.js';
import { printRule } from '../../src/rules/language/print-rule.js';
import { isWord, isWordStart } from '../../src/rules/language/rule-characters.js';
import { hasValues } from '../../src/rules/operators/flag-operators.js';
import { isAvailable, operators } from '../../src/rules/operators/operators.js';
import type { RuleProduct } from '../../src/rules/post/dialect.js';
import type { Clause, OperatorName, OperatorValues, RuleNode } from '../../src/rules/tree.js';
import { codePoint } from '../code-point.js';

export interface RuleVocabulary {
  /**
   * The words that rules may contain. With fewer words, more rules match. By default, any words.
   */
  readonly words?: readonly string[] | undefined;
  /** The handles and ids of authors. */
  readonly users?: readonly string[] | undefined;
  readonly ids?: readonly string[] | undefined;
  readonly product?: RuleProduct | undefined;
}

/**
 * Generates rule trees in which every position is 0. Printing and parsing a tree changes only the
 * positions.
 */
export function arbitraryRule(vocabulary: RuleVocabulary = {}): fc.Arbitrary<RuleNode> {
  const clause = arbitraryClause(vocabulary);
  const { tree } = fc.letrec<{ tree: RuleNode; joined: RuleNode; negated: RuleNode }>(tie => ({
    tree: fc.oneof(
      { maxDepth: 4, depthIdentifier: 'rule' },
      { arbitrary: clause, weight: 4 },
      { arbitrary: tie('joined'), weight: 4 },
      { arbitrary: tie('negated'), weight: 1 },
    ),
    joined: fc.record({
      kind: fc.constantFrom('and' as const, 'or' as const),
      nodes: fc.array(tie('tree'), { minLength: 2, maxLength: 4, depthIdentifier: 'rule' }),
      ...NOWHERE,
    }),
    negated: fc.record({ kind: fc.constant('not' as const), node: tie('tree'), ...NOWHERE }),
  }));
  return tree.filter(rule => printRule(rule).length <= 2048);
}

/**
 * Generates rules that a product accepts. Each rule is generated as a string and as a tree with the
 * positions in that string.
 */
export function acceptedRule(
  product: RuleProduct,
  vocabulary: RuleVocabulary = {},
): fc.Arbitrary<{ text: string; tree: RuleNode }> {
  const word = arbitraryText(vocabulary).map(text => ({ kind: 'phrase' as const, text, ...AT_0 }));
  return fc
    .tuple(arbitraryRule({ ...vocabulary, product }), word, fc.boolean())
    .map(([rule, phrase, anchored]) => {
      const text = printRule(anchored ? { kind: 'and', nodes: [phrase, rule], ...AT_0 } : rule);
      return { text, tree: checkRule(text, { product }).tree };
    })
    .filter((rule): rule is { text: string; tree: RuleNode } => rule.tree !== undefined);
}

export function arbitraryClause(vocabulary: RuleVocabulary = {}): fc.Arbitrary<Clause> {
  const text = arbitraryText(vocabulary);
  const word = arbitraryWord(vocabulary);
  // The `#` at the start of a keycap emoji does not start a hashtag. Therefore, such words are
  // excluded if a prefix precedes them.
  const name = word.filter(text => isWordStart(text.charCodeAt(0)));
  return fc.oneof(
    { arbitrary: textClause('keyword', word), weight: 6 },
    { arbitrary: textClause('phrase', text), weight: 3 },
    { arbitrary: textClause('hashtag', name), weight: 2 },
    { arbitrary: textClause('mention', oneOf(vocabulary.users) ?? name), weight: 2 },
    { arbitrary: textClause('cashtag', name), weight: 1 },
    {
      arbitrary: fc.record({
        kind: fc.constant('proximity' as const),
        text,
        distance: fc.integer({ min: 1, max: 6 }),
        ...NOWHERE,
      }),
      weight: 1,
    },
    { arbitrary: arbitraryOperator(vocabulary), weight: 6 },
  );
}

/** Sets every position in a tree to 0, so that the trees of different strings can be compared. */
export function withoutPositions(tree: RuleNode): RuleNode {
  switch (tree.kind) {
    case 'and':
    case 'or':
      return { ...tree, nodes: tree.nodes.map(withoutPositions), ...AT_0 };
    case 'not':
      return { ...tree, node: withoutPositions(tree.node), ...AT_0 };
    default:
      return { ...tree, ...AT_0 };
  }
}

const AT_0 = { start: 0, end: 0 };
const NOWHERE = { start: fc.constant(0), end: fc.constant(0) };

function textClause<Kind extends 'keyword' | 'phrase' | 'hashtag' | 'mention' | 'cashtag'>(
  kind: Kind,
  text: fc.Arbitrary<string>,
) {
  return fc.record({ kind: fc.constant(kind), text, ...NOWHERE });
}

function arbitraryOperator(vocabulary: RuleVocabulary): fc.Arbitrary<Clause> {
  const { product } = vocabulary;
  const values = arbitraryValues(vocabulary);
  const names = (Object.keys(operators) as OperatorName[]).filter(
    name => product === undefined || isAvailable(name, product),
  );
  return fc.oneof(
    ...names.map(name =>
      (values[name] as fc.Arbitrary<OperatorValues[OperatorName]>).map(
        value => ({ kind: 'operator', name, value, ...AT_0 }) as Clause,
      ),
    ),
  );
}

function arbitraryValues(vocabulary: RuleVocabulary): {
  [Name in OperatorName]: fc.Arbitrary<OperatorValues[Name]>;
} {
  const text = fc.oneof(arbitraryWord(vocabulary), arbitraryText(vocabulary));
  const user = oneOf(vocabulary.users) ?? fc.stringMatching(/^[A-Za-z0-9_]{1,15}$/);
  const id = oneOf(vocabulary.ids) ?? fc.bigInt({ min: 1n, max: 2n ** 63n }).map(String);
  const count = fc
    .tuple(fc.nat(100_000), fc.option(fc.nat(100_000), { nil: undefined }))
    .map(([min, more]) => (more === undefined ? { min } : { min, max: min + more }));
  const country = fc.constantFrom(...countryCodes);
  return {
    contains: text,
    url: text,
    url_contains: text,
    url_title: text,
    url_description: text,
    bio: text,
    bio_name: text,
    bio_location: text,
    source: text,
    place: text,
    profile_region: text,
    profile_locality: text,
    profile_subregion: text,
    from: user,
    to: user,
    retweets_of: user,
    retweets_of_status_id: id,
    in_reply_to_status_id: id,
    statuses_count: count,
    followers_count: count,
    friends_count: count,
    listed_count: count,
    // Usually generates a language that the test posts have. `id` and `in` name the same language,
    // and so do `he` and `iw`.
    lang: fc.oneof(
      fc.constantFrom('en', 'de', 'id', 'in', 'he', 'iw', 'xx-yy'),
      fc.constantFrom(...languageCodes),
    ),
    place_country: country,
    profile_country: country,
    point_radius: arbitraryRadius(),
    profile_point_radius: arbitraryRadius(),
    bounding_box: arbitraryBox(),
    profile_bounding_box: arbitraryBox(),
    is: fc.constantFrom('nullcast', 'quote', 'reply', 'retweet', 'verified'),
    has: fc.constantFrom(...hasValues),
    sample: fc.integer({ min: 1, max: 100 }),
  };
}

function arbitraryRadius() {
  return fc.record({
    longitude: degrees(180),
    latitude: degrees(90),
    radius: fc.double({ min: 1e-9, max: 24.9, noNaN: true }),
    unit: fc.constantFrom('mi' as const, 'km' as const),
  });
}

/**
 * Generates boxes that are less than 25 miles wide (a degree is at most 69 miles). Some of them
 * cross the 180° meridian.
 */
function arbitraryBox() {
  const side = fc.double({ min: 0.001, max: 0.35, noNaN: true });
  return fc.tuple(degrees(180), degrees(89), side, side).map(([west, south, width, height]) => ({
    west,
    south,
    east: west + width > 180 ? west + width - 360 : west + width,
    north: south + height,
  }));
}

function degrees(most: number) {
  return fc.double({ min: -most, max: most, noNaN: true });
}

function arbitraryWord({ words }: RuleVocabulary): fc.Arbitrary<string> {
  const any = fc.oneof(
    fc.stringMatching(/^[A-Za-z0-9]{1,8}$/),
    fc.constantFrom(
      'snow',
      'naïve',
      '雪',
      'снег',
      '🍕',
      '👩‍🚀',
      '🇩🇪',
      '❤',
      '☕️',
      '#️⃣',
      '*⃣',
      '❤️‍🔥',
      "don't",
      'coca-cola',
      'a.b',
      'the',
    ),
    fc.string({ unit: 'grapheme', minLength: 1, maxLength: 6 }),
  );
  return (oneOf(words) ?? any).filter(word => isWord(word) && word !== 'OR' && word !== 'AND');
}

function arbitraryText(vocabulary: RuleVocabulary): fc.Arbitrary<string> {
  const { words } = vocabulary;
  const some = fc
    .array(arbitraryWord(vocabulary), { minLength: 1, maxLength: 4 })
    .map(parts => parts.join(' '));
  if (words !== undefined) return some;
  const any = fc
    .oneof(
      fc.string({ unit: codePoint, minLength: 1, maxLength: 12 }),
      fc.string({ unit: fc.constantFrom('"', '\\', ' ', 'a', '(', '-', ':'), minLength: 1 }),
    )
    .filter(text => text.trim() !== '');
  return fc.oneof(some, any);
}

function oneOf(values: readonly string[] | undefined): fc.Arbitrary<string> | undefined {
  return values === undefined ? undefined : fc.constantFrom(...values);
}
