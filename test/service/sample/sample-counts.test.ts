import fc from 'fast-check';
import { expect, test } from 'vitest';
import { MINUTE } from '../../../src/base/time.js';
import type { Format } from '../../../src/post/activity.js';
import { compileRule } from '../../../src/rules/match/compile-rule.js';
import { dialectOf } from '../../../src/rules/post/dialect.js';
import { rulePost } from '../../../src/rules/post/rule-post.js';
import { tokenise } from '../../../src/rules/post/tokeniser.js';
import type { Clause, RuleNode } from '../../../src/rules/tree.js';
import { openSampleArchive } from '../../../src/service/sample/sample-archive.js';
import { samplePosts } from '../../../src/service/sample/sample-posts.js';
import { arbitraryRule } from '../../rules/arbitrary-rule.js';

const OPTIONS = { seed: 'counts', postsPerMinute: 30 };
const MINUTES = 10;
const STARTS = [2007, 2012, 2017, 2024].map(year => Date.UTC(year, 6, 3, year % 24, 50));
const FORMATS: readonly Format[] = ['original', 'activity_streams'];
const POSTS = new Map(
  FORMATS.map(format => [
    format,
    STARTS.flatMap(start =>
      Array.from({ length: MINUTES }, (_, i) =>
        samplePosts(start + i * MINUTE, { ...OPTIONS, format }),
      ).flat(),
    ),
  ]),
);

test('the counts of generated posts equal the numbers of matching posts', async () => {
  const archives = FORMATS.map(format =>
    openSampleArchive({ ...OPTIONS, format, now: () => Date.UTC(2025, 0) }),
  );
  let most = 0;
  await fc.assert(
    fc.asyncProperty(tree(), arbitraryWindow(), async (rule, window) => {
      const matches = compileRule(rule, { product: 'search' });
      for (const archive of archives) {
        const expected = (POSTS.get(archive.format) ?? []).filter(post => {
          const at = post.postedAt.getTime();
          return at >= window.from && at < window.to && matches(post);
        });
        const { buckets } = await archive.counts({ tree: rule, matches }, window, MINUTE);
        for (const { start, count } of buckets)
          expect(count).toBe(
            expected.filter(({ postedAt }) => {
              const at = postedAt.getTime();
              return at >= start && at < start + MINUTE;
            }).length,
          );
        most = Math.max(most, expected.length);
      }
    }),
    { numRuns: 100 },
  );
  expect(most).toBeGreaterThan(10);
});

test('a search for the posts of an author finds them in generated posts without an index', async () => {
  // Uses a separate seed, because archives with the same seed share their indexes.
  const options = { ...OPTIONS, seed: 'authors' };
  const from = Date.UTC(2024, 6, 3, 8);
  const window = { from, to: from + MINUTE };
  const posts = samplePosts(from, options);
  const archive = openSampleArchive({ ...options, now: () => window.to });
  expect(posts.length).toBeGreaterThan(20);
  for (const { author } of posts)
    for (const name of [author.handle.toLowerCase(), author.id, 'nobody1']) {
      const rule = { tree: operator('from', name), matches: () => false };
      const found = await archive.search(rule, window, { limit: 500 });
      const expected = name === 'nobody1' ? [] : posts.filter(post => post.author.id === author.id);
      expect(found.posts.map(({ id }) => id)).toEqual(expected.map(({ id }) => id).reverse());
    }
});

test('a generated post is found by the first three and by the last six words of its text', async () => {
  const archive = openSampleArchive({ ...OPTIONS, now: () => Date.UTC(2025, 0) });
  const posts = (POSTS.get('original') ?? []).filter(({ postedAt }) => postedAt > PICTURED_QUOTES);
  expect(posts.length).toBeGreaterThan(100);
  for (const post of posts) {
    const { words = [] } = rulePost(post, 'search').texts[0] ?? {};
    for (const part of [words.slice(0, 3), words.slice(-6)]) {
      const phrase = textClause('phrase', part.join(' '));
      const rule = { tree: phrase, matches: () => false };
      const at = post.postedAt.getTime();
      const found = await archive.search(rule, { from: at, to: at + 1_000 }, { limit: 500 });
      expect(
        found.posts.map(({ id }) => id),
        phrase.text,
      ).toContain(post.id);
    }
  }
});

/** Since this day, a post may end in two short links: one to a quoted post, and one to media. */
const PICTURED_QUOTES = new Date('2015-04-07');

function arbitraryWindow() {
  return fc
    .tuple(
      fc.constantFrom(...STARTS),
      fc.integer({ min: 0, max: (MINUTES / 2) * 60 }),
      fc.integer({ min: (MINUTES / 2) * 60 + 1, max: MINUTES * 60 }),
    )
    .map(([start, from, to]) => ({ from: start + from * 1_000, to: start + to * 1_000 }));
}

function tree(): fc.Arbitrary<RuleNode> {
  const clause = arbitraryPost().chain(clauseOf);
  const any = arbitraryRule({ product: 'search' });
  const one = fc.oneof({ arbitrary: clause, weight: 6 }, { arbitrary: any, weight: 1 });
  const not = one.map(node => ({ kind: 'not' as const, node, ...AT_0 }));
  const nodes = fc.array(fc.oneof(one, not), { minLength: 2, maxLength: 3 });
  const kind = fc.constantFrom('and' as const, 'or' as const);
  const joined = fc.record({ kind, nodes }).map(node => ({ ...node, ...AT_0 }));
  return fc.oneof<fc.Arbitrary<RuleNode>[]>(clause, not, joined);
}

function arbitraryPost() {
  return fc.constantFrom(...(POSTS.get('original') ?? []).map(post => rulePost(post, 'search')));
}

function clauseOf(post: ReturnType<typeof rulePost>): fc.Arbitrary<Clause> {
  const { texts, addresses, displays, fields } = post;
  const { place, author, replyTo, retweeted, mentions, hashtags, position } = fields;
  const clauses: fc.Arbitrary<Clause>[] = [
    partOf([...texts, ...addresses, ...displays]).map(text => textClause('phrase', text)),
    partOf(texts).map(text => textClause('keyword', text.replaceAll(' ', '-'))),
    fc
      .tuple(partOf(texts), fc.boolean(), fc.integer({ min: 1, max: 6 }))
      .map(([text, isReversed, distance]) => {
        const words = text.split(' ');
        const near = (isReversed ? words.reverse() : words).join(' ');
        return { kind: 'proximity', text: near, distance, ...AT_0 };
      }),
    fc.constant(operator('from', author.handle)),
    ...addresses.map(address => partOf([address]).map(text => operator('url', text))),
    ...mentions.map(({ handle }) => fc.constant(textClause('mention', handle))),
    ...hashtags.map(tag => fc.constant(textClause('hashtag', tag))),
    ...author.homes.flatMap(home => [
      wordsOf(home.region).map(text => operator('profile_region', text)),
      wordsOf(home.locality).map(text => operator('profile_locality', text)),
    ]),
  ];
  if (replyTo !== undefined) clauses.push(fc.constant(operator('to', replyTo.handle)));
  if (retweeted !== undefined)
    clauses.push(fc.constant(operator('retweets_of', retweeted.author.handle)));
  const near = position ?? place?.corners[0];
  if (place === undefined || near === undefined) return fc.oneof(...clauses);
  const [longitude, latitude] = near;
  return fc.oneof(
    ...[place.name, place.fullName, place.id].map(text =>
      wordsOf(text).map(words => operator('place', words)),
    ),
    fc.double({ min: 0.1, max: 24, noNaN: true }).map(radius => ({
      ...{ kind: 'operator' as const, name: 'point_radius' as const, ...AT_0 },
      value: { longitude, latitude, radius, unit: 'mi' as const },
    })),
    fc.double({ min: 0.001, max: 0.3, noNaN: true }).map(side => ({
      ...{ kind: 'operator' as const, name: 'bounding_box' as const, ...AT_0 },
      value: {
        west: longitude - 0.001,
        south: latitude - 0.001,
        east: longitude + side,
        north: latitude + side,
      },
    })),
  );
}

const AT_0 = { start: 0, end: 0 };

function textClause(kind: 'keyword' | 'phrase' | 'mention' | 'hashtag', text: string) {
  return { kind, text, ...AT_0 } as const;
}

function operator(
  name: 'from' | 'to' | 'retweets_of' | 'url' | 'place' | 'profile_region' | 'profile_locality',
  value: string,
): Clause {
  return { kind: 'operator', name, value, ...AT_0 };
}

function wordsOf(text: string): fc.Arbitrary<string> {
  return partOf([tokenise(text, dialectOf('search').accents)]);
}

function partOf(strings: readonly { readonly words: readonly string[] }[]): fc.Arbitrary<string> {
  return fc
    .tuple(fc.nat(), fc.nat(), fc.integer({ min: 1, max: 4 }))
    .map(([string, start, count]) => {
      const { words = [] } = strings[string % strings.length] ?? {};
      const from = start % Math.max(words.length, 1);
      return words.slice(from, from + count).join(' ');
    });
}
