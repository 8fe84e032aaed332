import { DataError } from '../../../base/errors.js';
import { floorTo, SECOND } from '../../../base/time.js';
import { Activity, type Format } from '../../../post/activity.js';
import { parseInStreamMessage } from '../../../post/in-stream-message.js';
import type { PostFields } from '../../../post/post-fields.js';
import { indexedOperators, postTerms } from '../../../rules/operators/post-terms.js';
import { type RulePost, rulePost } from '../../../rules/post/rule-post.js';
import type { Tokens } from '../../../rules/post/tokeniser.js';
import { getOrMake } from '../../cache.js';
import type { SortKey } from '../archive.js';
import {
  ADDRESS,
  DISPLAY,
  FIELD,
  indexOfText,
  type Occurrence,
  occurrenceAt,
  type PostLocation,
  TEXT,
  type TextKind,
} from '../block.js';
import type { FileLine } from './folder-files.js';

/** A term of a post, with its occurrences if the term is a word. */
export type IndexedTerm = readonly [text: string, ...occurrences: Occurrence[]];

export interface IndexedPost extends SortKey {
  readonly format: Format;
  readonly terms: readonly IndexedTerm[];
  readonly location: Omit<PostLocation, 'document'> | undefined;
  /** The position of the post's line in the file's text. */
  readonly offset: number;
  readonly bytes: number;
}

const ID_LIMIT = 2n ** 64n;
/**
 * The maximum length of an indexed term in UTF-16 units. A query has at most 2048 characters, so no rule can
 * contain a longer term. The added 64 is a margin.
 */
const MAX_TERM_UNITS = 2048 + 64;

/**
 * Reads the post in a line. Returns `undefined` if the line is a message, such as the `info` line at the end of
 * a job file.
 *
 * @throws DataError with file and line if the line is neither a post nor a message.
 */
export function readPost(line: FileLine, path: string): IndexedPost | undefined {
  try {
    if (parseInStreamMessage(line.bytes) !== undefined) return undefined;
    const activity = new Activity(line.bytes);
    const { id } = activity;
    if (BigInt(id) >= ID_LIMIT) throw new DataError(`The id ${id} has more than 64 bits`);
    const post = rulePost(activity, 'search');
    return {
      format: activity.format,
      at: floorTo(SECOND, activity.postedAt.getTime()),
      id,
      terms: indexTerms(post),
      location: locationOf(post.fields),
      offset: line.offset,
      bytes: line.bytes.length,
    };
  } catch (cause) {
    if (!(cause instanceof DataError)) throw cause;
    throw new DataError(`Cannot index the archive: ${cause.message}`, {
      cause,
      position: { origin: path, line: line.number },
    });
  }
}

/** Returns a term as the index stores it. UTF-8 cannot encode a lone surrogate, so such a term is escaped. */
export function indexTerm(term: string): string {
  return term.isWellFormed() ? term : `\0${JSON.stringify(term)}`;
}

function indexTerms(post: RulePost): readonly IndexedTerm[] {
  const occurrences = occurrencesOf(post);
  const kept: IndexedTerm[] = [];
  for (const text of postTerms(post))
    if (text.length <= MAX_TERM_UNITS)
      kept.push([indexTerm(text), ...(occurrences.get(text) ?? [])]);
  return kept;
}

function locationOf({ position, place }: PostFields): Omit<PostLocation, 'document'> | undefined {
  const corners = place?.corners ?? [];
  return position === undefined && corners.length === 0 ? undefined : { position, corners };
}

/**
 * Returns the occurrences of each word in a post, by index term. The term is the word. If the word is in the
 * field of an operator, the term has a prefix, such as `bio:`.
 */
function occurrencesOf(post: RulePost): ReadonlyMap<string, readonly Occurrence[]> {
  const all = new Map<string, Occurrence[]>();
  const add = (kind: TextKind, prefix: string, lists: readonly Tokens[]) => {
    for (const [i, { words }] of lists.entries())
      for (const [index, word] of words.entries()) {
        const occurrence = occurrenceAt(indexOfText(i, kind), index);
        getOrMake(all, prefix + word, () => []).push(occurrence);
      }
  };
  add(TEXT, '', post.texts);
  add(ADDRESS, '', distinct(post.addresses));
  add(DISPLAY, '', distinct(post.displays));
  for (const { prefix, texts } of indexedOperators(post.dialect).fields)
    add(FIELD, prefix, distinct(post.field(texts)));
  return all;
}

/**
 * Keeps only the first of several strings with equal `folded`, because the URLs of a link are often equal.
 */
function distinct(texts: readonly Tokens[]): readonly Tokens[] {
  return texts.filter((text, i) => texts.findIndex(({ folded }) => folded === text.folded) === i);
}
