import { indexedOperators } from '../../../rules/operators/indexed-operators.js';
import type { RulePost } from '../../../rules/post/rule-post.js';
import type { Tokens } from '../../../rules/post/tokeniser.js';
import {
  ADDRESS,
  DISPLAY,
  FIELD,
  indexOf,
  type Occurrence,
  TEXT,
  TEXT_STRIDE,
  textOf,
} from '../occurrences.js';
import { VARINT_BYTES, type VarintReader, writeVarint } from './varints.js';

/** The occurrences of each word of a post, by term. Words of a field have its prefix. */
export function occurrencesOf(post: RulePost): ReadonlyMap<string, readonly Occurrence[]> {
  const all = new Map<string, Occurrence[]>();
  const add = (kind: number, prefix: string, lists: readonly Tokens[]) => {
    for (const [i, { words }] of lists.entries())
      for (const [index, word] of words.entries()) {
        const occurrence = (4 * i + kind) * TEXT_STRIDE + index;
        const known = all.get(prefix + word);
        if (known === undefined) all.set(prefix + word, [occurrence]);
        else known.push(occurrence);
      }
  };
  add(TEXT, '', post.texts);
  add(ADDRESS, '', distinct(post.addresses));
  add(DISPLAY, '', distinct(post.displays));
  for (const { prefix, texts } of indexedOperators(post.dialect).fields)
    add(FIELD, prefix, distinct(post.field(texts)));
  return all;
}

/** Maximum number of bytes that `writeOccurrences` writes. */
export function occurrenceBytes(count: number): number {
  return 2 * VARINT_BYTES * count;
}

/** The two low bits of each number say whether a text number follows and whether it is the last one. */
export function writeOccurrences(into: Uint8Array, at: number, all: readonly Occurrence[]): number {
  let end = at;
  let before = 0;
  for (let i = 0; i < all.length; i++) {
    const occurrence = all[i] as Occurrence;
    const text = textOf(occurrence);
    const flags = (text === before ? 0 : 2) + (i === all.length - 1 ? 1 : 0);
    end = writeVarint(into, end, indexOf(occurrence) * 4 + flags);
    if (text !== before) end = writeVarint(into, end, text);
    before = text;
  }
  return end;
}

/**
 * Marks a post that has the term as a pair of adjacent characters, not as a word: a pair of regional
 * letters is the same term as a flag.
 */
const NONE = 0x1000_0000;
export const NO_OCCURRENCES: Uint8Array = Buffer.alloc(VARINT_BYTES);
writeVarint(NO_OCCURRENCES, 0, NONE);

/** Reads the occurrences of one post into `into`, or skips them without it. */
export function readOccurrences(from: VarintReader, into?: Occurrence[]): void {
  for (let text = 0, isLast = false; !isLast; ) {
    const value = from.next();
    if (value === NONE) return;
    if ((value & 2) !== 0) text = from.next();
    isLast = (value & 1) !== 0;
    into?.push(text * TEXT_STRIDE + (value >>> 2));
  }
}

/** Removes repeated texts: the URLs of a link are often equal. */
function distinct(texts: readonly Tokens[]): readonly Tokens[] {
  return texts.filter((text, i) => texts.findIndex(({ folded }) => folded === text.folded) === i);
}
