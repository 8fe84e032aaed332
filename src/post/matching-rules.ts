import { OptionError } from '../base/errors.js';
import { isRecord } from '../base/record.js';
import { parseExact } from '../json/exact-ids.js';
import {
  keyNearEnd,
  type LazyObject,
  spanInObjectNearEnd,
  spanNearEnd,
} from '../json/lazy-object.js';
import { BytesMap } from './bytes/bytes-map.js';

/** A rule that a post matched, as the post lists it. */
export interface MatchingRule {
  readonly tag: string | null;
  /** The id of the rule, as digits. Absent in posts from before rules had ids. */
  readonly id: string | undefined;
  /** The text of the rule. Only in posts from before rules had ids. */
  readonly value?: string | undefined;
}

/** `tags` has each distinct tag once, in the order in which the tags first occur. */
export interface Matches {
  readonly rules: readonly MatchingRule[];
  readonly tags: readonly string[];
}

export const NO_MATCHES: Matches = { rules: [], tags: [] };

const MEMBER = 'matching_rules';

/**
 * A cache of parsed lists of rules. It helps because most posts have one of a few lists. The key of an entry
 * is either the JSON of the list, or all bytes of a post after the name `matching_rules`.
 */
const known = new BytesMap<Matches>();

export function parseMatches(document: Buffer, start: number, end: number): Matches {
  let matches = known.get(document, start, end);
  if (matches === undefined) {
    matches = matchesOf(parseExact(document.subarray(start, end)));
    known.set(document, start, end, matches);
  }
  return matches;
}

/**
 * Finds the rules of a document near its end. Returns `undefined` if the rules may be elsewhere in the
 * document.
 *
 * @param start The start of the document in `bytes`.
 * @param end The end of the document in `bytes`.
 */
export function matchesAtEnd(
  bytes: Buffer,
  start = 0,
  end: number = bytes.length,
): Matches | undefined {
  const key = keyNearEnd(bytes, MEMBER, start, end);
  if (key === -1) return undefined;
  // The cache is looked up by the bytes that follow the name of the member. These bytes determine the rules,
  // and whether the rules belong to the document itself or to an object inside it.
  const rest = key + MEMBER.length + 2;
  let matches = known.get(bytes, rest, end);
  if (matches !== undefined) return matches;
  const span = spanNearEnd(bytes, MEMBER, start, end);
  if (span === undefined) return undefined;
  matches = parseMatches(bytes, ...span);
  // If another member follows the rules, such as the id, the key differs for each post, so the rules are not
  // cached.
  if (span[1] === end - 1) known.set(bytes, rest, end, matches);
  return matches;
}

/**
 * Finds the matching rules of a post in the format `activity_streams`, which has them in the member `gnip`.
 * Returns `undefined` if `gnip` is not near the end of the post, or has no rules.
 */
export function matchesInGnipAtEnd(
  bytes: Buffer,
  start = 0,
  end: number = bytes.length,
): Matches | undefined {
  const span = spanInObjectNearEnd(bytes, ['gnip', MEMBER], start, end);
  return span && parseMatches(bytes, ...span);
}

/** @throws OptionError If the id of a rule is not an integer. */
export function printMatchingRules(rules: readonly MatchingRule[]): string {
  return `[${rules.map(printMatchingRule).join(',')}]`;
}

export function printMatchingRule({ value, tag, id }: MatchingRule): string {
  if (id !== undefined && !/^\d+$/.test(id))
    throw new OptionError(
      'rules',
      `Expected the id of a rule to be digits, got ${JSON.stringify(id)}`,
    );
  const text = value === undefined ? '' : `"value":${JSON.stringify(value)},`;
  const ids = id === undefined ? '' : `,"id":${id},"id_str":"${id}"`;
  return `{${text}"tag":${JSON.stringify(tag)}${ids}}`;
}

function matchesOf(value: unknown): Matches {
  if (!Array.isArray(value)) return NO_MATCHES;
  const rules = value.filter(isRecord).map(ruleOf);
  const tags = new Set(rules.map(rule => rule.tag).filter(tag => tag !== null));
  return Object.freeze({ rules: Object.freeze(rules), tags: Object.freeze([...tags]) });
}

function ruleOf({ tag, id, id_str: twin, value }: Record<string, unknown>): MatchingRule {
  const exact = twin ?? id;
  return Object.freeze({
    tag: typeof tag === 'string' ? tag : null,
    id: typeof exact === 'string' ? exact : undefined,
    ...(typeof value === 'string' ? { value } : {}),
  });
}

/**
 * The place in a post at which a list of rules is written. The list replaces the bytes from `start` to `end`.
 * `before` and `after` are ASCII text to write around the list.
 */
export interface PlaceOfRules {
  readonly start: number;
  readonly end: number;
  readonly before: string;
  readonly after: string;
  /**
   * Whether `matchingRules` would return the list that is written here. False if it would read another list
   * in the post, for example because the post has `matching_rules` twice.
   */
  readonly isRead: boolean;
}

export const RULES_KEY = '"matching_rules":';

export function placeOfList(
  [start, end]: readonly [number, number],
  isRead: boolean,
): PlaceOfRules {
  return { start, end, before: '', after: '', isRead };
}

export function placeOfMember(
  object: LazyObject,
  { before, after, isRead }: Pick<PlaceOfRules, 'before' | 'after' | 'isRead'>,
): PlaceOfRules {
  const { at, empty } = object.closing;
  return { start: at, end: at, before: empty ? before : `,${before}`, after, isRead };
}

/**
 * Whether the value at a position belongs to the last occurrence of the key in the bytes. The key may occur
 * in any object.
 */
export function isLastMember(
  bytes: Buffer,
  key: string,
  [value]: readonly [number, number],
): boolean {
  const quoted = `"${key}"`;
  const at = bytes.lastIndexOf(quoted);
  return at !== -1 && /^\s*:\s*$/.test(bytes.toString('latin1', at + quoted.length, value));
}
