import { OptionError } from '../base/errors.js';
import { isRecord } from '../base/record.js';
import { parseExact } from '../json/exact-ids.js';
import { keyNearEnd, type LazyObject, spanNearEnd } from '../json/lazy-object.js';
import { BytesMap } from './bytes/bytes-map.js';

/** A rule that a post matched, as the service lists it in the post. */
export interface MatchingRule {
  readonly tag: string | null;
  /** The id of the rule, as digits. Absent in old posts, from before rules had ids. */
  readonly id: string | undefined;
  /** The text of the rule. Only in old posts, from before rules had ids. */
  readonly value?: string | undefined;
}

/** The matching rules of a post, and their distinct tags in order of first occurrence. */
export interface Matches {
  readonly rules: readonly MatchingRule[];
  readonly tags: readonly string[];
}

export const NO_MATCHES: Matches = { rules: [], tags: [] };

const MEMBER = 'matching_rules';

/**
 * Cached rules, by their JSON, or by the rest of a post after their key. Most posts match one of few
 * combinations.
 */
const known = new BytesMap<Matches>();

/** Parses the value of a `matching_rules` member between two positions of a document. */
export function parseMatches(document: Buffer, start: number, end: number): Matches {
  let matches = known.get(document, start, end);
  if (matches === undefined) {
    matches = matchesOf(parseExact(document.subarray(start, end)));
    known.set(document, start, end, matches);
  }
  return matches;
}

/**
 * Finds the rules of a document close to its end. Returns `undefined` if they may be elsewhere.
 *
 * @param start The start of the document in the bytes.
 * @param end The end of the document.
 */
export function matchesAtEnd(
  bytes: Buffer,
  start = 0,
  end: number = bytes.length,
): Matches | undefined {
  const key = keyNearEnd(bytes, MEMBER, start, end);
  if (key === -1) return undefined;
  // The bytes after the key decide whether it belongs to the document itself.
  const rest = key + MEMBER.length + 2;
  let matches = known.get(bytes, rest, end);
  if (matches !== undefined) return matches;
  const document = bytes.subarray(start, end);
  const span = spanNearEnd(document, MEMBER);
  if (span === undefined) return undefined;
  matches = parseMatches(document, ...span);
  // The rules are cached only if no other members follow, such as the id, because these differ from
  // post to post.
  if (span[1] === document.length - 1) known.set(bytes, rest, end, matches);
  return matches;
}

/**
 * Returns the JSON for the value of a `matching_rules` member.
 *
 * @throws OptionError If the id of a rule is not an integer.
 */
export function printMatchingRules(rules: readonly MatchingRule[]): string {
  return `[${rules.map(printMatchingRule).join(',')}]`;
}

/** The JSON for one rule. */
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
 * The place in a post for a list of rules. The list replaces the bytes between two positions, with ASCII text
 * before and after it.
 */
export interface PlaceOfRules {
  readonly start: number;
  readonly end: number;
  readonly before: string;
  readonly after: string;
  /**
   * Whether `matchingRules` reads the list at this place. False if the post has a repeated member, so that
   * another list is read.
   */
  readonly isRead: boolean;
}

/** The key of the list with its colon. */
export const RULES_KEY = '"matching_rules":';

/** The place of an existing list, by its start and end. */
export function placeOfList(
  [start, end]: readonly [number, number],
  isRead: boolean,
): PlaceOfRules {
  return { start, end, before: '', after: '', isRead };
}

/** The place for a new member at the end of an object. */
export function placeOfMember(
  object: LazyObject,
  { before, after, isRead }: Pick<PlaceOfRules, 'before' | 'after' | 'isRead'>,
): PlaceOfRules {
  const { at, empty } = object.closing;
  return { start: at, end: at, before: empty ? before : `,${before}`, after, isRead };
}

/** Whether the value at a position belongs to the last occurrence of the key in the bytes, in any object. */
export function isLastMember(
  bytes: Buffer,
  key: string,
  [value]: readonly [number, number],
): boolean {
  const quoted = `"${key}"`;
  const at = bytes.lastIndexOf(quoted);
  return at !== -1 && /^\s*:\s*$/.test(bytes.toString('latin1', at + quoted.length, value));
}
