import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { Activity } from '../../../src/post/activity.js';
import { compileRules, type Rule } from '../../../src/rules/index/compile-rules.js';
import { anchorsNow, IS_REVIEWED, REVIEW_AFTER } from '../../../src/rules/index/shared-anchors.js';
import { SharedMatcher, type SharedRules } from '../../../src/rules/index/shared-rules.js';
import { parseRule } from '../../../src/rules/language/parse-rule.js';
import { compileRule } from '../../../src/rules/match/compile-rule.js';
import { bySuite } from '../../suite.js';
import { acceptedRule } from '../arbitrary-rule.js';
import {
  arbitraryDraft,
  original,
  PRODUCTS,
  postOf,
  streams,
  VOCABULARY,
} from '../match/arbitrary-matching-post.js';

function match(matcher: SharedMatcher, post: Activity): readonly number[] {
  return matcher.matchBytes(post.raw, 0, post.raw.length) ?? matcher.matchParsed(post);
}

function withRules(matcher: SharedMatcher, { raw }: Activity, rules: readonly number[]): Activity {
  const bytes = Buffer.alloc(matcher.lengthWith(raw.length, rules));
  matcher.write(raw, 0, raw.length, rules, bytes, 0);
  return new Activity(bytes);
}

function matchAll(rules: SharedRules, posts: readonly Activity[]): (readonly number[])[] {
  const matcher = SharedMatcher.of(rules);
  return matcher.run(() => posts.map(post => match(matcher, post)));
}

describe('rules shared between threads', () => {
  it.each(PRODUCTS)(
    'match the same posts as separate rules, by whatever terms they are indexed, for %s',
    product => {
      let matched = 0;
      fc.assert(
        fc.property(
          fc.array(acceptedRule(product, VOCABULARY), { minLength: 1, maxLength: 30 }),
          fc.array(arbitraryDraft(), { minLength: 1, maxLength: 5 }),
          fc.infiniteStream(fc.double({ min: 0, max: 1, noNaN: true })),
          (accepted, drafts, guesses) => {
            const rules = accepted.map(({ text }, n) => ({ value: text, id: `${n + 1}` }));
            const frequency = () => guesses.next().value as number;
            const shared = compileRules(rules, { product, frequency }).share();
            const alone = rules.map(({ value }) =>
              compileRule(parseRule(value).tree!, { product }),
            );
            const posts = drafts.flatMap(draft => [original(draft), streams(draft)]);
            const expected = posts.map(post => alone.flatMap((does, n) => (does(post) ? [n] : [])));
            matched += expected.flat().length;
            for (let round = 0; round < 3; round++) {
              expect(matchAll(shared, posts)).toEqual(expected);
              makeReviewDue(shared);
            }
          },
        ),
        { numRuns: bySuite(38, 800) },
      );
      expect(matched).toBeGreaterThan(bySuite(38, 150));
    },
  );

  it('use the same memory in every thread, and a separate matcher in each', () => {
    const shared = compileRules([{ value: 'snow "deep snow" contains:eep', tag: 'a' }]).share();
    const copy = structuredClone(shared);
    expect(copy.index.blocks.buffer).not.toBe(shared.index.blocks.buffer);
    shared.index.blocks.fill(7);
    expect(copy.index.blocks).toEqual(shared.index.blocks);
    for (const array of arraysIn(copy)) expect(array.buffer).toBeInstanceOf(SharedArrayBuffer);
    expect(SharedMatcher.of(copy)).not.toBe(SharedMatcher.of(shared));
  });

  it('are re-indexed by rarer terms without affecting a match that is still running', () => {
    // The index expects `zebra` to be rare, but every post contains it.
    const rules = Array.from({ length: 50 }, (_, n) => ({ value: `zebra word${n}` }));
    const frequency = (term: string) => (term === 'zebra' ? 0.001 : 0.5);
    const shared = compileRules(rules, { frequency }).share();
    const post = postOf('zebra word7');
    const posts = Array.from({ length: 1_200 }, () => post);
    const before = anchorsNow(shared.anchoring);
    expect(listLengths(before.lists)).toContain(100);
    expect(matchAll(shared, posts).every(found => found.join() === '7')).toBe(true);
    const after = anchorsNow(shared.anchoring);
    expect(after).not.toBe(before);
    expect(listLengths(after.lists)).not.toContain(100);
    const kept = Int32Array.from(before.postings);
    // This reader never finishes, like a thread that has died. The matcher must not change the
    // memory that the reader uses, and must still match.
    for (let round = 0; round < 4; round++) {
      makeReviewDue(shared);
      expect(matchAll(shared, posts.slice(0, 2))).toEqual([[7], [7]]);
    }
    expect(before.postings).toEqual(kept);
    expect(anchorsNow(shared.anchoring)).toBe(after);
  });

  it('still match if a thread dies while it re-indexes them', () => {
    const shared = compileRules([{ value: 'snow' }]).share();
    shared.anchoring.state[IS_REVIEWED] = 1;
    makeReviewDue(shared);
    const post = postOf('snow');
    for (let round = 0; round < 3; round++) expect(matchAll(shared, [post])).toEqual([[0]]);
  });

  it('are added to a post with the same bytes as `withMatchingRules` writes', () => {
    const text = fc.oneof(
      fc.constantFrom(null, undefined, '', 'a"\\\n', '天気', '\ud800', '\u0000'),
      fc.string({ maxLength: 10 }),
    );
    fc.assert(
      fc.property(
        fc.array(text, { minLength: 1, maxLength: 8 }),
        arbitraryDraft(),
        (tags, draft) => {
          const rules = tags.map(
            (tag, n): Rule => ({
              value: `x${n} OR -y`.slice(0, 2),
              tag,
              id: n % 2 === 0 ? `${n}` : undefined,
            }),
          );
          const words = rules.map(({ value }) => value).join(' ');
          const matcher = compileRules(rules);
          const shared = SharedMatcher.of(matcher.share());
          for (const make of [original, streams]) {
            const post = make({ ...draft, text: words, retweeted: undefined });
            const found = shared.run(() => match(shared, post));
            const expected = post.withMatchingRules(matcher.match(post));
            const changed = withRules(shared, post, found);
            expect(changed.raw.toString()).toBe(expected.raw.toString());
            expect(shared.tagNumbersOf(found).map(number => shared.tag(number))).toEqual(
              expected.tags,
            );
            const { start, end, before, after } = new Activity(post.raw).placeOfRules;
            expect(shared.place).toMatchObject({ start, end, before, after });
            expect(shared.lengthWith(post.raw.length, found)).toBe(expected.raw.length);
          }
        },
      ),
      { numRuns: bySuite(25, 1_000) },
    );
  });
});

/** Makes the next run decide again under which terms the rules are stored. */
function makeReviewDue({ anchoring }: SharedRules): void {
  anchoring.state[REVIEW_AFTER] = 0;
}

function arraysIn(value: unknown): ArrayBufferView[] {
  if (ArrayBuffer.isView(value)) return [value];
  if (typeof value !== 'object' || value === null) return [];
  return Object.values(value).flatMap(arraysIn);
}

function listLengths(lists: Int32Array): number[] {
  return [...lists].filter((_, at) => at % 2 === 1);
}
