import type { Medium, Person, Position } from './post-fields.js';

// Functions for members of posts that come from files and sockets. Any member may have an unexpected type.
// These functions then return an empty value.

export function string(value: unknown): string {
  return typeof value === 'string' ? value : '';
}

export function count(value: unknown): number | undefined {
  return typeof value === 'number' ? value : undefined;
}

export function flag(value: unknown): boolean | undefined {
  return typeof value === 'boolean' ? value : undefined;
}

/** Returns the elements of an array that are objects. The members of these objects may have any type. */
export function list<T extends object = object>(value: unknown): readonly T[] {
  if (!Array.isArray(value)) return [];
  const elements: readonly T[] = value;
  return elements.every(isObject) ? elements : elements.filter(isObject);
}

export function strings(value: unknown): readonly string[] | undefined {
  return Array.isArray(value) ? value.filter(element => typeof element === 'string') : undefined;
}

export function isObject(value: unknown): value is object {
  return typeof value === 'object' && value !== null;
}

/**
 * Returns the part of an id after its last colon, such as `12` for `id:twitter.com:12`. Returns an id without
 * a colon unchanged.
 */
export function digits(id: unknown): string {
  if (typeof id !== 'string') return '';
  const at = id.lastIndexOf(':');
  return at === -1 ? id : id.slice(at + 1);
}

export function person(id: unknown, handle: unknown): Person {
  const writtenHandle = string(handle);
  return { id: digits(id), handle: writtenHandle.toLowerCase(), writtenHandle };
}

/** Returns a pair of numbers, in the order in which the post has them. */
export function position(value: unknown): Position | undefined {
  return Array.isArray(value) && typeof value[0] === 'number' && typeof value[1] === 'number'
    ? [value[0], value[1]]
    : undefined;
}

/** Returns the corners of the outer ring of a polygon. */
export function corners(coordinates: unknown): readonly Position[] {
  const ring: unknown = Array.isArray(coordinates) ? coordinates[0] : undefined;
  if (!Array.isArray(ring)) return [];
  return ring.map(position).filter(corner => corner !== undefined);
}

/** Decodes `&amp;`, `&lt;` and `&gt;`, with which the service escapes the text of posts. */
export function unescaped(value: unknown): string {
  const text = string(value);
  if (!text.includes('&')) return text;
  return text.replaceAll('&lt;', '<').replaceAll('&gt;', '>').replaceAll('&amp;', '&');
}

export function retweetPrefix(text: string): string {
  return /^RT @\w+: /.exec(text)?.[0] ?? '';
}

// Entities have the same members in both formats.

interface Tag {
  readonly text?: unknown;
}

interface Mention {
  readonly id?: unknown;
  readonly id_str?: unknown;
  readonly screen_name?: unknown;
}

interface MediaEntity {
  readonly type?: unknown;
  readonly media_url?: unknown;
  readonly media_url_https?: unknown;
}

export function tagTexts(tags: unknown): readonly string[] {
  return list<Tag>(tags).map(tag => string(tag.text));
}

export function mentionsIn(...lists: readonly unknown[]): readonly Person[] {
  return lists
    .flatMap(mentions => list<Mention>(mentions))
    .map(({ id_str, id, screen_name }) => person(id_str ?? id, screen_name));
}

/**
 * Returns the media from the extended entities. If there are none, returns the media from the plain entities,
 * which call every kind of media a photo.
 */
export function mediaIn(extended: unknown, plain: unknown): readonly Medium[] {
  const extendedMedia = list<MediaEntity>(extended);
  const media = extendedMedia.length > 0 ? extendedMedia : list<MediaEntity>(plain);
  return media.map(({ type, media_url_https, media_url }) => ({
    type: string(type),
    url: string(media_url_https ?? media_url),
  }));
}
