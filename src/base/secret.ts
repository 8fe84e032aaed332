import { inspect } from 'node:util';

const REDACTED = '[redacted]';

/**
 * A secret of at least this many characters is removed wherever it occurs in a message. A shorter secret may
 * also be part of ordinary words, so it is removed only as a whole word.
 */
const MIN_ANYWHERE = 8;
/**
 * A secret shorter than this is removed only as a value, as in `name=a`, because words such as "a" occur in
 * every sentence.
 */
const MIN_WORD = 3;
/**
 * Matches the start of a word. The character before is not a letter or digit, or it is the last
 * character of an escape such as `%3D` or `\n`.
 */
const WORD_START = String.raw`(?:(?<![\p{L}\p{N}])|(?<=%[\da-fA-F]{2}|\\[bfnrt]|\\u[\da-fA-F]{4}))`;
const WORD_END = String.raw`(?![\p{L}\p{N}])`;

/** Matches the first character of an escape, such as `%3D`, `&lt;` or `\u003d`. */
const ESCAPE = /[%&\\]/;

interface Known {
  uses: number;
  /**
   * The pattern that finds the secret in text. It takes milliseconds to create, so it is created for the
   * first text that may contain the secret.
   */
  pattern?: RegExp;
}

const known = new Map<string, Known>();
/**
 * The secrets, longest first. If a short secret were replaced first inside a longer one, the rest of the
 * longer one would stay visible. A change of `known` sets this to `undefined`, and the next use sorts the
 * secrets again.
 */
let byLength: readonly (readonly [string, Known])[] | undefined;

/**
 * After a `Secret` is garbage-collected, calls the function that `protect` returned for it. Errors may then
 * show the value of the secret.
 */
const unused = new FinalizationRegistry<() => void>(release => release());

/**
 * A password or key. It prints as redacted in strings, logs, `util.inspect` and JSON, and no error of this
 * package shows it; only `reveal` returns it.
 *
 * @example
 * const password = new Secret('...');
 * console.log(`${password}`, password.reveal().length); // [redacted] 3
 */
export class Secret {
  readonly #value: string;

  constructor(value: string) {
    this.#value = value;
    unused.register(this, protect(value));
  }

  reveal(): string {
    return this.#value;
  }

  toString(): string {
    return REDACTED;
  }

  toJSON(): string {
    return REDACTED;
  }

  [inspect.custom](): string {
    return REDACTED;
  }
}

/**
 * Removes these secrets from all errors that are created until the returned function is called. A
 * server may echo a request, and an error may quote the response. The secrets are therefore found
 * in every encoding that requests and responses use.
 */
export function protect(...texts: readonly string[]): () => void {
  for (const text of texts) {
    const secret = known.get(text) ?? { uses: 0 };
    secret.uses++;
    known.set(text, secret);
  }
  byLength = undefined;
  return () => {
    for (const text of texts) {
      const secret = known.get(text);
      if (secret !== undefined && --secret.uses === 0) known.delete(text);
    }
    byLength = undefined;
  };
}

/**
 * Forgets all secrets. Only for tests: they share processes, and the password of one test may be a word in a
 * message that another test expects.
 */
export function forgetSecrets(): void {
  known.clear();
  byLength = undefined;
}

/**
 * Removes the secrets of this process from text. Call this before truncating the text. Otherwise a
 * secret that was cut in half is not found.
 */
export function redact(text: string): string {
  byLength ??= [...known]
    .filter(([secret]) => secret !== '')
    .sort(([a], [b]) => b.length - a.length);
  const shown = withoutSource(text);
  const mayContain = secretFilter(shown);
  return byLength.reduce((rest, [secret, entry]) => {
    if (!mayContain(secret)) return rest;
    entry.pattern ??= patternOf(secret);
    return rest.replace(entry.pattern, REDACTED);
  }, shown);
}

/**
 * Returns a cheap test for whether the text may contain a secret. Without it, each text would be
 * searched with the patterns of all secrets.
 */
function secretFilter(text: string): (secret: string) => boolean {
  if (ESCAPE.test(text)) return () => true;
  const plain = withSpaces(text);
  const base64 = text.replaceAll('+', '-').replaceAll('/', '_');
  const hex = text.toLowerCase();
  return secret => {
    const bytes = Buffer.from(secret);
    return (
      plain.includes(withSpaces(secret)) ||
      base64.includes(bytes.toString('base64url')) ||
      hex.includes(bytes.toString('hex'))
    );
  };
}

/** Replaces plus signs with spaces, because forms encode a space as a plus sign. */
const withSpaces = (text: string) => text.replaceAll('+', ' ');

/** Removes secrets from all strings of an error and of its causes, because they may quote a response. */
export function redactCause(cause: unknown, seen = new Set<unknown>()): unknown {
  if (typeof cause === 'string') return redact(cause);
  if (!(cause instanceof Error) || seen.has(cause)) return cause;
  seen.add(cause);
  for (const name of Object.getOwnPropertyNames(cause)) {
    const value: unknown = Reflect.get(cause, name);
    const clean = typeof value === 'string' ? redact(value) : value;
    const enumerable = Object.prototype.propertyIsEnumerable.call(cause, name);
    if (clean !== value)
      Reflect.defineProperty(cause, name, {
        value: clean,
        enumerable,
        writable: true,
        configurable: true,
      });
  }
  redactCause(cause.cause, seen);
  if (cause instanceof AggregateError) for (const one of cause.errors) redactCause(one, seen);
  return cause;
}

/**
 * Removes the source text that errors of `JSON.parse` quote, because the quote may contain part of a secret.
 */
function withoutSource(text: string): string {
  return text.includes('is not valid JSON')
    ? text.replace(
        /, (?:\.\.\."[\s\S]*?"(?:\.\.\.)?|"[\s\S]*?"\.\.\.) (?=is not valid JSON)/g,
        ': it ',
      )
    : text;
}

function patternOf(secret: string): RegExp {
  const characters = [...secret];
  const bytes = Buffer.from(secret);
  const { length } = characters;
  const spellings = characters.map((character, i) => {
    if (length < MIN_WORD || length >= MIN_ANYWHERE) return anySpelling(character);
    return anySpelling(character, {
      before: i === 0 && LETTER_OR_DIGIT.test(character) ? WORD_START : '',
      after: i === length - 1 && LETTER_OR_DIGIT.test(character) ? WORD_END : '',
    });
  });
  const all = [
    spellings.join(''),
    base64Spelling(bytes.toString('base64')),
    bytes.toString('hex').replace(/[a-f]/g, anyCase),
  ].join('|');
  // A secret shorter than `MIN_WORD` is replaced only after a quote, an equals sign, a colon or a similar
  // character, as in `name=a`. An apostrophe within a word does not count as a quote.
  const pattern =
    length < MIN_WORD ? `(?<=["=:;>]|(?<!\\p{L})')(?:${all})(?![\\p{L}\\p{N}_])` : all;
  return new RegExp(pattern, 'gu');
}

const LETTER_OR_DIGIT = /[\p{L}\p{N}]/u;

const NAMED: Readonly<Record<string, string>> = {
  '&': 'amp',
  '<': 'lt',
  '>': 'gt',
  '"': 'quot',
  "'": 'apos',
};

/**
 * Returns a pattern for a character: literal, or encoded as in URLs, forms, JSON and HTML. The
 * lookarounds `before` and `after` apply only to the literal character.
 */
function anySpelling(character: string, { before = '', after = '' } = {}): string {
  const percent = [...Buffer.from(character)].map(byte => `%(?:25)*${anyCaseHex(byte, 2)}`);
  const units = Array.from({ length: character.length }, (_, i) => character.charCodeAt(i));
  const point = character.codePointAt(0) ?? 0;
  const named = NAMED[character];
  return `(?:${[
    // The literal character must be tried last. `%25` starts with a percent sign and `&amp;` with
    // an ampersand, so trying the literal first would leave the rest of these behind.
    percent.join(''),
    units.map(unit => `\\\\{1,3}u${anyCaseHex(unit, 4)}`).join(''),
    `&#(?:0*${point}|[xX]0*${anyCaseHex(point, 1)});`,
    ...(named === undefined ? [] : [`&${named};`]),
    ...(character === ' ' ? ['\\+'] : []),
    // JSON escapes some characters with backslashes, and JSON within JSON also escapes these backslashes.
    character === '\\' ? '\\\\{1,4}' : `${before}\\\\{0,3}${literal(character)}${after}`,
  ].join('|')})`;
}

/** Returns a pattern for standard or URL-safe base64, with or without padding. */
function base64Spelling(base64: string): string {
  const characters = [...base64.replace(/=+$/, '')].map(character => {
    if (character === '+') return `(?:${anySpelling('+')}|-)`;
    return character === '/' ? `(?:${anySpelling('/')}|_)` : character;
  });
  const padding = base64.endsWith('=') ? `${anySpelling('=')}{0,2}` : '';
  return `${characters.join('')}${padding}`;
}

function literal(character: string): string {
  return character.replace(/[\\^$.*+?()[\]{}|/]/, '\\$&');
}

function anyCaseHex(value: number, digits: number): string {
  return value.toString(16).padStart(digits, '0').replace(/[a-f]/g, anyCase);
}

function anyCase(letter: string): string {
  return `[${letter}${letter.toUpperCase()}]`;
}
