import { unchecked } from '../../unchecked.js';
import { loadModule } from '../load-library.js';
import { check, expectSame, outcomes, type ParserKind } from './parser.js';
import { seedPost } from './seeds.js';

const RULES = [
  ...[
    'rain',
    '(rain OR snow) -is:retweet lang:en',
    '"new york" has:images',
    '"a b"~5',
    '#tag @ada $AAA',
  ],
  ...[
    'from:ada to:2 retweets_of:x',
    'url:"https://example.com/a b"',
    'contains:a',
    'followers_count:1..5',
  ],
  ...['-(a OR (b -c))', 'bio:"x" place_country:us', 'url_title:x sample:10', 'is:verified has:geo'],
];
const GEO = [
  ...[
    'point_radius:[-105.27346517 40.01924738 10.0mi]',
    'bounding_box:[-105.301758 39.964069 -105.178505 40.09455]',
  ],
  ...[
    'profile_point_radius:[1 2 3km]',
    'profile_bounding_box:[1 2 3 4]',
    'has:geo point_radius:[180 90 25mi]',
  ],
];
const TOKENS = [
  ...[
    '(',
    ')',
    '"',
    '-',
    ' OR ',
    ' or ',
    ' AND ',
    ':',
    '~',
    '..',
    '[',
    ']',
    'has:',
    'is:',
    'from:',
    'lang:',
  ],
  ...[
    'point_radius:[',
    'bounding_box:[',
    'mi]',
    'km]',
    '1e309',
    '-180.0001',
    '"~9',
    '\\',
    '\\"',
    '#',
    '@',
    '$',
  ],
  ...[
    'url:',
    'contains:',
    'followers_count:',
    '\u00a0',
    '\u3000',
    '#\u0130',
    '((((((((',
    '- - -',
    ' OR OR ',
  ],
];

function kind(holds: string, seeds: readonly string[]): ParserKind {
  return {
    holds,
    async open(library) {
      const rules = await loadModule(library, 'rules/rules');
      const { Activity } = await loadModule(library, 'post/activity');
      const errors = await outcomes(library);
      return {
        tokens: TOKENS,
        maxBytes: 4_000,
        seed: random => Buffer.from(`${random.pick(seeds)}${random.pick(['', ' rain', ' OR x'])}`),
        attempt(input, random) {
          const text = input.toString();
          const product = random.pick(['search', 'historical', 'replay'] as const);
          // An invalid rule must not cause any exception, even a typed one.
          const { tree, problems } = rules.parse(text);
          const checked = rules.check(text, { product });
          for (const problem of checked.problems) {
            check(
              problem.start >= 0 && problem.start <= problem.end && problem.end <= text.length,
              `A problem is outside of the rule: ${problem.start} to ${problem.end}`,
            );
            rules.renderProblem(text, problem);
          }
          rules.applySuggestions(text, checked.problems);
          if (tree === undefined) {
            check(problems.length > 0, 'Without a tree, and without a problem');
            return false;
          }
          const printed = rules.print(tree);
          const again = rules.parse(printed).tree;
          check(again !== undefined, `Its print is no rule: ${printed}`);
          expectSame(rules.print(again), printed, 'Its print, parsed and printed again, is');
          if (checked.tree === undefined) return false;
          const post = new Activity(Buffer.from(seedPost(random)));
          const one = errors.of(() => rules.compile(unchecked(checked.tree), { product })(post));
          const many = errors.of(
            () => rules.compileAll([{ value: text }], { product }).match(post).length > 0,
          );
          const reprinted = errors.of(() => rules.compile(again, { product })(post));
          expectSame(many, one, 'Among many rules, it matches');
          expectSame(reprinted, one, 'Printed and parsed again, it matches');
          return true;
        },
      };
    },
  };
}

export const ruleTexts = kind(
  'problems within the text and no exception; printing is exact; one rule and the index agree',
  RULES,
);
export const geoRules = kind('the same for areas and points', GEO);
