import { releaseMemory } from '../gzip/release-memory.js';
import { LF } from '../json/json-bytes.js';
import { Activity } from '../post/activity.js';
import { SharedMatcher, type SharedRules } from '../rules/index/shared-rules.js';
import type { RowFields } from './row-fields.js';

/** Rules that posts are matched against, where they are decoded. */
export interface RowRules {
  readonly rules: SharedRules;
  /** Whether posts that match none will be dropped: they are not kept. */
  readonly dropUnmatched: boolean;
}

/**
 * Matches the posts of a file, and puts the rules of each into it: what `matchRules` does to items.
 *
 * @param content The bytes of the file, whose memory is released.
 * @param withTags Whether the tags of posts are read.
 * @returns The new content, which the fields then describe.
 * @throws DataError for a post that rules cannot be put into, or that is not JSON as far as it is read.
 */
export function matchRows(
  content: Buffer,
  fields: RowFields,
  { rules, dropUnmatched }: RowRules,
  withTags: boolean,
): Buffer {
  const matcher = SharedMatcher.of(rules);
  const posts = new MatchedPosts(content, fields, matcher, withTags);
  matcher.run(() => {
    for (let row = 0; row < fields.count; row++) posts.match(row, dropUnmatched);
  });
  releaseMemory(content);
  return posts.content;
}

/** Most lists of rules are shorter than that part of the posts. */
const EXPECTED_PART = 8;

class MatchedPosts {
  readonly #bytes: Buffer;
  readonly #fields: RowFields;
  readonly #matcher: SharedMatcher;
  readonly #withTags: boolean;
  /** The indexes that the tags of rules have in the fields, by their numbers among the rules. */
  readonly #tagIndexes = new Map<number, number>();
  #noTags: number | undefined;
  #out: Buffer;
  #end = 0;

  constructor(bytes: Buffer, fields: RowFields, matcher: SharedMatcher, withTags: boolean) {
    this.#bytes = bytes;
    this.#fields = fields;
    this.#matcher = matcher;
    this.#withTags = withTags;
    // The system gives memory only for pages that are written. Not from Node's pool: it may be transferred.
    this.#out = Buffer.allocUnsafeSlow(bytes.length + Math.ceil(bytes.length / EXPECTED_PART));
  }

  get content(): Buffer {
    return this.#out.subarray(0, this.#end);
  }

  match(row: number, dropUnmatched: boolean): void {
    const fields = this.#fields;
    const from = fields.starts[row]!;
    const to = from + fields.lengths[row]!;
    const matcher = this.#matcher;
    const found =
      matcher.matchBytes(this.#bytes, from, to) ??
      matcher.matchParsed(new Activity(this.#bytes.subarray(from, to)));
    fields.matches[row] = found.length;
    const isDropped = found.length === 0 && dropUnmatched;
    const start = this.#end;
    const isRead = isDropped || this.#write(from, to, found);
    fields.starts[row] = start;
    fields.lengths[row] = isDropped ? 0 : this.#end - 1 - start;
    if (!this.#withTags) return;
    if (isRead) fields.tags[row] = this.#tagsOf(found);
    else fields.setTags(row, new Activity(this.#out.subarray(start, this.#end - 1)).tags);
  }

  /** Writes the post with its rules, and returns whether these are the rules that are read from it. */
  #write(from: number, to: number, found: readonly number[]): boolean {
    const matcher = this.#matcher;
    this.#reserve(matcher.lengthWith(to - from, found) + 1);
    const end = matcher.write(this.#bytes, from, to, found, this.#out, this.#end);
    this.#out[end] = LF;
    this.#end = end + 1;
    return matcher.place.isRead;
  }

  #tagsOf(found: readonly number[]): number {
    const numbers = this.#matcher.tagNumbersOf(found);
    if (numbers.length === 0) {
      this.#noTags ??= this.#fields.addTags(numbers);
      return this.#noTags;
    }
    return this.#fields.addTags(numbers.map(number => this.#tagIndex(number)));
  }

  #tagIndex(number: number): number {
    let index = this.#tagIndexes.get(number);
    if (index === undefined) {
      index = this.#fields.tagIndex(this.#matcher.tag(number));
      this.#tagIndexes.set(number, index);
    }
    return index;
  }

  #reserve(more: number): void {
    if (this.#end + more <= this.#out.length) return;
    const grown = Buffer.allocUnsafeSlow(Math.ceil(1.5 * (this.#end + more)));
    this.#out.copy(grown, 0, 0, this.#end);
    releaseMemory(this.#out);
    this.#out = grown;
  }
}
