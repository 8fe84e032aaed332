import type { Format } from './activity.js';
import { count, digits, flag, list, string, strings, tagTexts, unescaped } from './loose-values.js';
import { parseCreatedAt, parseIsoTime } from './posted-at.js';

/** What a field of each kind is. Its value is empty or `undefined` if the post does not have it, or has another type. */
interface Values {
  readonly string: string;
  /** Without the escapes of `&`, `<` and `>`. */
  readonly text: string;
  readonly lower: string;
  readonly upper: string;
  /** Digits. */
  readonly id: string;
  readonly count: number | undefined;
  readonly flag: boolean | undefined;
  /** Epoch milliseconds. */
  readonly time: number | undefined;
  /** The same, in whole seconds: the `original` format has no more. */
  readonly second: number | undefined;
  readonly strings: readonly string[] | undefined;
  /** The `text` of each element. */
  readonly tags: readonly string[];
  /** As it is; of an object, the bytes of a post tell only that it is there. */
  readonly value: unknown;
  readonly object: unknown;
}

export type FieldKind = keyof Values;
export type FieldValue<Kind extends FieldKind> = Values[Kind];

const CONVERT: {
  readonly [Kind in FieldKind]: (value: unknown, format: Format) => Values[Kind];
} = {
  string,
  text: unescaped,
  lower: value => string(value).toLowerCase(),
  upper: value => string(value).toUpperCase(),
  id: digits,
  count,
  flag,
  time: timeOf,
  second: (value, format) => {
    const ms = timeOf(value, format);
    return ms === undefined ? undefined : Math.floor(ms / 1000) * 1000;
  },
  strings,
  tags: tagTexts,
  value: value => value,
  object: value => value,
};

/** Epoch milliseconds of a time as the format has it. */
function timeOf(value: unknown, format: Format): number | undefined {
  const ms = (format === 'original' ? parseCreatedAt : parseIsoTime)(string(value));
  return Number.isNaN(ms) ? undefined : ms;
}

/** The path of a value in a post. */
export interface Path {
  /** The keys of each place in which it may be, the first that is neither absent nor null. */
  readonly places: readonly (readonly string[])[];
  /** The keys within that place. */
  readonly rest: readonly string[];
}

/**
 * The place of a field in a post of one format, in the syntax of JavaScript: `user.name`; `full_text ?? text`, the first that is neither
 * absent nor null; `(extended_tweet.entities ?? entities).urls`, a member of it; `links[0].href`, of the first object of a list.
 */
export type Where = string | Via;

/** A field that is a part of the value at a path. */
interface Via {
  readonly path: string;
  readonly part: (value: unknown) => unknown;
}

/** The key of the first object of a list. */
export const FIRST = '[0]';

/** A field of a post: how its value is converted, and where it is in either format. One that a format lacks is `undefined` there. */
export class Field<Kind extends FieldKind = FieldKind> {
  readonly kind: Kind;
  readonly paths: Readonly<Record<Format, Path | undefined>>;
  readonly parts: Readonly<Record<Format, Via['part'] | undefined>>;
  readonly #convert: (value: unknown, format: Format) => Values[Kind];
  readonly #original: ReadValue;
  readonly #streams: ReadValue;

  constructor(kind: Kind, original: Where | undefined, streams: Where | undefined) {
    this.kind = kind;
    this.paths = { original: pathOf(original), activity_streams: pathOf(streams) };
    this.parts = { original: partOf(original), activity_streams: partOf(streams) };
    this.#convert = CONVERT[kind];
    this.#original = valueReader(this.paths.original, this.parts.original);
    this.#streams = valueReader(this.paths.activity_streams, this.parts.activity_streams);
  }

  /** The value in a parsed post, or in one whose members are getters. */
  read(post: object, format: Format): Values[Kind] {
    const value = format === 'original' ? this.#original(post) : this.#streams(post);
    return this.#convert(value, format);
  }
}

/** Makes rows of a table of fields: `kind(original, activity_streams)`. */
export function fields<Kind extends FieldKind>(kind: Kind) {
  return (original: Where | undefined, streams: Where | undefined): Field<Kind> =>
    new Field(kind, original, streams);
}

function pathOf(where: Where | undefined): Path | undefined {
  if (where === undefined) return undefined;
  const [, inBrackets, after] = /^\((.*)\)\.(.*)$/.exec(textOf(where)) ?? [];
  return {
    places: (inBrackets ?? textOf(where)).split(' ?? ').map(keysOf),
    rest: after === undefined ? [] : keysOf(after),
  };
}

function textOf(where: Where): string {
  return typeof where === 'string' ? where : where.path;
}

function partOf(where: Where | undefined): Via['part'] | undefined {
  return typeof where === 'object' ? where.part : undefined;
}

function keysOf(path: string): string[] {
  return path.replaceAll(FIRST, `.${FIRST}`).split('.');
}

type ReadValue = (post: unknown) => unknown;

/** Makes a reader of the value at a path: made once, since rules read many fields of each post. */
function valueReader(path: Path | undefined, part: Via['part'] | undefined): ReadValue {
  if (path === undefined) return readNone;
  const read = within(firstOf(path.places.map(readerOf)), path.rest);
  return part === undefined ? read : post => part(read(post));
}

/** The first value that is neither absent nor null. */
function firstOf([first = readNone, second, ...others]: readonly ReadValue[]): ReadValue {
  if (second === undefined) return first;
  const next = firstOf([second, ...others]);
  return post => first(post) ?? next(post);
}

function within(read: ReadValue, keys: readonly string[]): ReadValue {
  if (keys.length === 0) return read;
  const readRest = readerOf(keys);
  return post => readRest(read(post));
}

/** One function for the usual numbers of keys: a loop takes several times as long. Not by `in`: members may be getters. */
function readerOf(keys: readonly string[]): ReadValue {
  const first = keys.indexOf(FIRST);
  if (first !== -1) {
    const readList = readerOf(keys.slice(0, first));
    return within(post => list(readList(post))[0], keys.slice(first + 1));
  }
  const [one = '', two = '', three = '', ...others] = keys;
  if (keys.length === 1) return post => (post as Members)?.[one];
  if (keys.length === 2) return post => (post as Members)?.[one]?.[two];
  return within(post => (post as Members)?.[one]?.[two]?.[three], others);
}

interface Members {
  readonly [key: string]: Members | undefined;
}

function readNone(): undefined {
  return undefined;
}
