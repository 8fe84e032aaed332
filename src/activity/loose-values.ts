import type { Person, Position } from './post-fields.js';

// Posts come from files and sockets: their types say what they should be, these what they are.

export function string(value: unknown): string {
  return typeof value === 'string' ? value : '';
}

export function count(value: unknown): number {
  return typeof value === 'number' ? value : 0;
}

/** The elements of an array that are objects. */
export function list<T extends object>(value: readonly T[] | null | undefined): readonly T[] {
  if (!Array.isArray(value)) return [];
  const elements: readonly T[] = value;
  return elements.every(isObject) ? elements : elements.filter(isObject);
}

export function isObject(value: unknown): value is object {
  return typeof value === 'object' && value !== null;
}

/** The digits at the end of an id of either format. */
export function digits(id: unknown): string {
  if (typeof id !== 'string') return '';
  const at = id.lastIndexOf(':');
  return at === -1 ? id : id.slice(at + 1);
}

export function person(id: unknown, handle: unknown): Person {
  return { id: digits(id), handle: string(handle).toLowerCase() };
}

/** A pair of numbers, in the order that they come in. */
export function position(value: unknown): Position | undefined {
  return Array.isArray(value) && typeof value[0] === 'number' && typeof value[1] === 'number'
    ? [value[0], value[1]]
    : undefined;
}

/** The corners of a polygon's outer ring. */
export function corners(coordinates: unknown): readonly Position[] {
  const ring: unknown = Array.isArray(coordinates) ? coordinates[0] : undefined;
  if (!Array.isArray(ring)) return [];
  return ring.map(position).filter(corner => corner !== undefined);
}

/** Text as people read it: the service escapes `&`, `<` and `>`. */
export function unescaped(value: unknown): string {
  const text = string(value);
  if (!text.includes('&')) return text;
  return text.replaceAll('&lt;', '<').replaceAll('&gt;', '>').replaceAll('&amp;', '&');
}

/** What a retweet's cut text starts with. */
export function retweetPrefix(text: unknown): string {
  return /^RT @\w+: /.exec(string(text))?.[0] ?? '';
}
