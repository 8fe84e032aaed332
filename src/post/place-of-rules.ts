import type { JsonObject } from '../json/json-object.js';

/** Where a list of rules is put into a post: in place of what is between two positions, with ASCII text around it. */
export interface PlaceOfRules {
  readonly start: number;
  readonly end: number;
  readonly before: string;
  readonly after: string;
  /** Whether `matchingRules` reads that list: a post with a member that comes twice may have another one. */
  readonly isRead: boolean;
}

/** The key of the list, with its colon. */
export const RULES_KEY = '"matching_rules":';

/** The place of a list that the post has, by its start and end. */
export function placeOfList(
  [start, end]: readonly [number, number],
  isRead: boolean,
): PlaceOfRules {
  return { start, end, before: '', after: '', isRead };
}

/** The place of a new member, at the end of an object. */
export function placeOfMember(
  object: JsonObject,
  { before, after, isRead }: Pick<PlaceOfRules, 'before' | 'after' | 'isRead'>,
): PlaceOfRules {
  const { at, empty } = object.closing;
  return { start: at, end: at, before: empty ? before : `,${before}`, after, isRead };
}

/** Whether the value at a position is that of the last such key, in whatever object. */
export function isLastMember(
  bytes: Buffer,
  key: string,
  [value]: readonly [number, number],
): boolean {
  const quoted = `"${key}"`;
  const at = bytes.lastIndexOf(quoted);
  return at !== -1 && /^\s*:\s*$/.test(bytes.toString('latin1', at + quoted.length, value));
}
