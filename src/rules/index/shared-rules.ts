import { CLOSE_ARRAY, COMMA, OPEN_ARRAY } from '../../json/byte-codes.js';
import type { Activity } from '../../post/activity.js';
import { PostInBytes } from '../../post/bytes/post-in-bytes.js';
import {
  type MatchingRule,
  type PlaceOfRules,
  printMatchingRule,
} from '../../post/matching-rules.js';
import type { PostFields } from '../../post/post-fields.js';
import { fieldsOf } from '../../post/read-fields.js';
import { dialectOf, type RuleProduct } from '../post/dialect.js';
import { type IndexedRules, MatchFinder } from './find-matches.js';
import { sharedInts } from './int-arrays.js';
import { Lexicon } from './lexicon.js';
import type { SharedIndex } from './rule-index.js';
import {
  type Anchoring,
  anchoringOf,
  anchorsNow,
  countPosts,
  releaseAnchors,
  reviewAnchors,
} from './shared-anchors.js';

/**
 * Rules in shared memory. They never change. All threads match posts against the same copy, which can be sent
 * to a thread without conversion.
 */
export interface SharedRules {
  readonly product: RuleProduct;
  readonly index: SharedIndex;
  readonly anchoring: Anchoring;
  /** The JSON of each rule's entry in the `matching_rules` of a post, indexed by the rule's number. */
  readonly entries: SharedTexts;
  /** For each rule, the index of its tag in `tags`, or -1 if it has no tag. */
  readonly tagOfRule: Int32Array;
  /** The JSON of each distinct tag. */
  readonly tags: SharedTexts;
}

/**
 * Strings as UTF-8, one after the other. `starts` contains the start of each string, followed by the end of
 * the last string.
 */
interface SharedTexts {
  readonly bytes: Uint8Array;
  readonly starts: Int32Array;
}

/**
 * Puts rules into shared memory, so that all threads can use them.
 *
 * @param rules For each rule, its entry in the `matching_rules` of a post. The index is the number that the
 * rule has in `index`. `undefined` for a number without a rule.
 */
export function shareRules(
  product: RuleProduct,
  index: SharedIndex,
  rules: readonly (MatchingRule | undefined)[],
): SharedRules {
  const numbers = new Map<string, number>();
  const tagOfRule = sharedInts(rules.length);
  const entries = rules.map((rule, number) => {
    const tag = rule?.tag ?? undefined;
    if (tag !== undefined && !numbers.has(tag)) numbers.set(tag, numbers.size);
    tagOfRule[number] = tag === undefined ? -1 : numbers.get(tag)!;
    return rule === undefined ? '' : printMatchingRule(rule);
  });
  return {
    product,
    index,
    anchoring: anchoringOf(index),
    entries: shareTexts(entries),
    tagOfRule,
    tags: shareTexts(Array.from(numbers.keys(), tag => JSON.stringify(tag))),
  };
}

function shareTexts(texts: readonly string[]): SharedTexts {
  const starts = sharedInts(texts.length + 1);
  for (const [number, text] of texts.entries())
    starts[number + 1] = starts[number]! + Buffer.byteLength(text);
  const bytes = Buffer.from(new SharedArrayBuffer(starts[texts.length]!));
  for (const [number, text] of texts.entries()) bytes.write(text, starts[number]!);
  return { bytes, starts };
}

const matchers = new WeakMap<SharedRules, SharedMatcher>();

export class SharedMatcher {
  readonly #rules: SharedRules;
  readonly #finder: MatchFinder;
  /**
   * The rules to search, with the copy of the index that `run` has acquired. `undefined` outside of `run`.
   */
  #indexed: IndexedRules | undefined;
  #counted = 0;
  /**
   * The position of `matching_rules` in the last matched post. For a parsed post, it is computed from
   * `#parsed` when it is needed.
   */
  #place: PlaceOfRules | undefined;
  #parsed: Activity | undefined;
  /** The loops that prefetch memory write to this field. V8 would remove loops without an effect. */
  prefetched = 0;
  readonly #tags: string[] = [];
  /**
   * For each tag, the value of `#tagStamp` when the tag was last found, so that a post gets each tag only
   * once.
   */
  readonly #tagStamps: Int32Array;
  #tagStamp = 0;

  private constructor(rules: SharedRules) {
    const { index, product, tags } = rules;
    this.#rules = rules;
    this.#finder = new MatchFinder(Lexicon.of(index.terms), dialectOf(product));
    this.#tagStamps = new Int32Array(tags.starts.length - 1);
  }

  static of(rules: SharedRules): SharedMatcher {
    let matcher = matchers.get(rules);
    if (matcher === undefined) {
      matcher = new SharedMatcher(rules);
      matchers.set(rules, matcher);
    }
    return matcher;
  }

  /**
   * Calls `use`, and returns its result. The rules are available to `matchBytes` and `matchParsed` only
   * during this call.
   *
   * @param use Calls `matchBytes` or `matchParsed` for one post after the other.
   */
  run<T>(use: () => T): T {
    const { index, anchoring } = this.#rules;
    const { blocks, unanchored } = index;
    const anchors = anchorsNow(anchoring);
    this.#indexed = { blocks, unanchored, ...anchors };
    try {
      return use();
    } finally {
      this.#indexed = undefined;
      releaseAnchors(anchoring, anchors);
      countPosts(anchoring, this.#counted);
      this.#counted = 0;
      reviewAnchors(anchoring, index);
    }
  }

  /**
   * Returns the numbers of all rules that match the post in `content` from `start` to `end`, in ascending
   * order. Call it only within `run`. JSON members that no rule reads are not checked. Returns `undefined` if
   * the post has to be parsed; then call `matchParsed`.
   */
  matchBytes(content: Buffer, start: number, end: number): readonly number[] | undefined {
    try {
      return PostInBytes.ofThread()?.read(content, start, end, this.#matchPost);
    } catch {
      // The caller then parses the post, which either succeeds or throws the exact error.
      return undefined;
    }
  }

  readonly #matchPost = (post: PostInBytes): readonly number[] => {
    const found = this.#find(fieldsOf(post));
    this.#place = post.placeOfRules;
    return found;
  };

  matchParsed(activity: Activity): readonly number[] {
    this.#place = undefined;
    this.#parsed = activity;
    return this.#find(fieldsOf(activity));
  }

  get place(): PlaceOfRules {
    this.#place ??= this.#parsed!.placeOfRules;
    return this.#place;
  }

  #find(fields: PostFields): readonly number[] {
    const found = this.#finder.match(fields, this.#indexed as IndexedRules);
    if (this.#counted++ % POSTS_PER_COUNT === 0) this.#count();
    return found;
  }

  /** Returns the distinct tags of these rules, as indices in `tags`, in order of first occurrence. */
  tagNumbersOf(rules: readonly number[]): number[] {
    const { tagOfRule } = this.#rules;
    const numbers: number[] = [];
    this.#tagStamp++;
    for (const rule of rules) {
      const tag = tagOfRule[rule]!;
      if (tag === -1 || this.#tagStamps[tag] === this.#tagStamp) continue;
      this.#tagStamps[tag] = this.#tagStamp;
      numbers.push(tag);
    }
    return numbers;
  }

  tag(number: number): string {
    const { bytes, starts } = this.#rules.tags;
    const json = () => Buffer.from(bytes.subarray(starts[number], starts[number + 1])).toString();
    this.#tags[number] ??= String(JSON.parse(json()));
    return this.#tags[number];
  }

  /**
   * Returns the length in bytes that the last matched post would have with these matching rules.
   *
   * @param bytes The current length of the post.
   */
  lengthWith(bytes: number, rules: readonly number[]): number {
    const { start, end, before, after } = this.place;
    const { bytes: entries, starts } = this.#rules.entries;
    let length = bytes - (end - start) + before.length + after.length;
    length += 2 + Math.max(0, rules.length - 1);
    let prefetched = 0;
    for (const rule of rules) {
      const from = starts[rule]!;
      length += starts[rule + 1]! - from;
      // Reads one byte of each entry, so that the processor fetches the entries in parallel. `write` later
      // copies them one by one.
      prefetched |= entries[from]!;
    }
    this.prefetched = prefetched;
    return length;
  }

  /**
   * Writes the last matched post into `target`, with the given rules as its matching rules. Returns the
   * position after the last written byte.
   */
  write(
    content: Buffer,
    from: number,
    to: number,
    rules: readonly number[],
    target: Buffer,
    position: number,
  ): number {
    const { start, end, before, after } = this.place;
    let at = position + content.copy(target, position, from, from + start);
    at += target.write(before, at, 'latin1');
    at = this.#print(rules, target, at);
    at += target.write(after, at, 'latin1');
    return at + content.copy(target, at, from + end, to);
  }

  #print(rules: readonly number[], target: Buffer, position: number): number {
    const { bytes: entries, starts } = this.#rules.entries;
    let at = position;
    target[at++] = OPEN_ARRAY;
    for (const rule of rules) {
      if (at > position + 1) target[at++] = COMMA;
      const end = starts[rule + 1]!;
      for (let from = starts[rule]!; from < end; from++) target[at++] = entries[from]!;
    }
    target[at++] = CLOSE_ARRAY;
    return at;
  }

  /**
   * Counts the terms of the current post. Threads may overwrite each other's counts. This is harmless,
   * because the counts are only estimates and never decide which rules match.
   */
  #count(): void {
    const { seen } = this.#rules.anchoring;
    const { present, count } = this.#finder.post;
    for (let at = 0; at < count; at++) seen[present[at]!]! += POSTS_PER_COUNT;
  }
}

/**
 * One post in this many is counted. Counting every post would be slow, because other threads read the same
 * memory.
 */
const POSTS_PER_COUNT = 4;
