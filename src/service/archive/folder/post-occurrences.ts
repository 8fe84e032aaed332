import { indexedOperators } from '../../../rules/operators/indexed-operators.js';
import type { RulePost } from '../../../rules/post/rule-post.js';
import type { Tokens } from '../../../rules/post/tokeniser.js';
import {
  ADDRESS,
  DISPLAY,
  FIELD,
  listOf,
  type Occurrence,
  PLACES,
  placeOf,
  TEXT,
} from '../occurrences.js';
import { VARINT_BYTES, type Varints, writeVarint } from './varints.js';

/** Where the words of a post stand, by term; words of a field under its prefix. */
export function occurrencesOf(post: RulePost): ReadonlyMap<string, readonly Occurrence[]> {
  const all = new Map<string, Occurrence[]>();
  const add = (kind: number, prefix: string, lists: readonly Tokens[]) => {
    for (const [i, { words }] of lists.entries())
      for (const [place, word] of words.entries()) {
        const occurrence = (4 * i + kind) * PLACES + place;
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

/** Most bytes that `writeOccurrences` writes. */
export function occurrenceBytes(count: number): number {
  return 2 * VARINT_BYTES * count;
}

/** Two bits beside each place tell whether the list's number follows and whether it is the last. */
export function writeOccurrences(into: Uint8Array, at: number, all: readonly Occurrence[]): number {
  let end = at;
  let before = 0;
  for (let i = 0; i < all.length; i++) {
    const occurrence = all[i] as Occurrence;
    const list = listOf(occurrence);
    const flags = (list === before ? 0 : 2) + (i === all.length - 1 ? 1 : 0);
    end = writeVarint(into, end, placeOf(occurrence) * 4 + flags);
    if (list !== before) end = writeVarint(into, end, list);
    before = list;
  }
  return end;
}

/** Stands for a post that has the term, but not as a word: two flags apart look like the one between. */
const NONE = 0x1000_0000;
export const NO_OCCURRENCES: Uint8Array = Buffer.alloc(VARINT_BYTES);
writeVarint(NO_OCCURRENCES, 0, NONE);

/** Reads the occurrences of one post, or goes past them. */
export function readOccurrences(from: Varints, into?: Occurrence[]): void {
  for (let list = 0, isLast = false; !isLast; ) {
    const value = from.next();
    if (value === NONE) return;
    if ((value & 2) !== 0) list = from.next();
    isLast = (value & 1) !== 0;
    into?.push(list * PLACES + (value >>> 2));
  }
}

/** Links often say the same twice. */
function distinct(lists: readonly Tokens[]): readonly Tokens[] {
  return lists.filter((list, i) => lists.findIndex(({ folded }) => folded === list.folded) === i);
}
