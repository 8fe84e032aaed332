import { StringDecoder } from 'node:string_decoder';
import { DataError } from '../base/errors.js';
import { parseExact } from './exact-ids.js';
import { excerpt } from './excerpt.js';
import type { CheckedLimits, Framer } from './records.js';
import type { Json } from './type-guards.js';

/**
 * A token of `stream-json`. Each key, string or number is one token. The value of a number is a string of its
 * digits.
 */
interface Token {
  readonly name: string;
  readonly value?: unknown;
}

/**
 * A parser or verifier of `stream-json`. It returns an async iterable, although its published types say
 * otherwise.
 */
type Reader<T> = (text: string) => AsyncIterable<T>;

const BRACKETS: Readonly<Record<string, string>> = {
  startObject: '{',
  endObject: '}',
  startArray: '[',
  endArray: ']',
};

/**
 * The document is parsed in slices of this many bytes. All tokens of one slice are in memory at the same
 * time.
 */
const SLICE_BYTES = 16 * 1024;
/** `stream-json` reads at most this many characters beyond a mistake before it reports the mistake. */
const LOOK_AHEAD = 64;
/** How many characters at the start of the document are kept for error messages. */
const START_CHARS = 4096;

/**
 * Parses the elements of one array in a document; see `jsonArray`. Two readers of `stream-json` read each
 * slice, one after the other. The first reader finds the exact position of a mistake, so that the second
 * reader can deliver all elements before it.
 */
export class JsonArrayFramer implements Framer<Json> {
  readonly #path: readonly string[];
  readonly #limits: CheckedLimits;
  readonly #origin: string | undefined;
  readonly #decoder = new StringDecoder();
  #verify: Reader<never> | undefined;
  #parse: Reader<Token> | undefined;
  #start = '';
  /**
   * The last `LOOK_AHEAD` characters that were read. An error may quote them, because a mistake may be found
   * only in later characters. `#chars` and `#bytes` count everything that was read.
   */
  #tail = '';
  #chars = 0;
  #bytes = 0;
  /**
   * The bytes that were read since the last token. `stream-json` holds them in memory until the token, such
   * as a long string, is complete.
   */
  #waitingBytes = 0;
  /** The keys and indexes of the open objects and arrays, with the innermost last. */
  readonly #keys: (string | number)[] = [];
  /**
   * How many levels of the path to the array have been found so far, counting the document as the first
   * level.
   */
  #found = 0;
  #isInArray = false;
  #isComplete = false;
  #elements = 0;
  #element = '';
  #elementBytes = 0;

  /** @param path The keys that lead to the array. Empty if the document itself is the array. */
  constructor(path: readonly string[], limits: CheckedLimits, origin: string | undefined) {
    this.#path = path;
    this.#limits = limits;
    this.#origin = origin;
  }

  async push(block: Buffer, items: Json[]): Promise<void> {
    const sliceBytes = Math.min(SLICE_BYTES, this.#limits.maxBytes);
    for (let from = 0; from < block.length; from += sliceBytes)
      await this.#read(this.#decoder.write(block.subarray(from, from + sliceBytes)), items);
  }

  async end(items: Json[]): Promise<void> {
    await this.#read(this.#decoder.end(), items);
    const length = this.#bytes;
    if (length === 0) throw this.#error('The JSON document is empty', { byteOffset: 0 });
    // The readers may be waiting for more characters before they report a mistake at the end of the document.
    // Spaces end this wait.
    if (!this.#isComplete) await this.#read(' '.repeat(LOOK_AHEAD), items);
    if (!this.#isComplete)
      throw this.#error('The JSON document is cut short', { byteOffset: length });
    if (this.#found <= this.#path.length) throw this.#notFound();
  }

  async #read(text: string, items: Json[]): Promise<void> {
    this.#start += text.slice(0, START_CHARS - this.#start.length);
    const mistake = await this.#mistakeIn(text);
    const tokens = await this.#tokensOf(
      mistake === undefined ? text : text.slice(0, Math.max(0, mistake.at)),
    );
    for (const token of tokens) this.#take(token, items);
    if (mistake !== undefined) throw this.#notJson(text, mistake.at, mistake.cause);
    this.#waitingBytes = tokens.length > 0 ? 0 : this.#waitingBytes + Buffer.byteLength(text);
    if (this.#waitingBytes > this.#limits.maxBytes) throw this.#tooLarge('A value');
    this.#tail = (this.#tail + text).slice(-LOOK_AHEAD);
    this.#chars += text.length;
    this.#bytes += Buffer.byteLength(text);
  }

  /**
   * Returns the first mistake and its position in these characters. The position is negative if the mistake
   * is in earlier characters.
   */
  async #mistakeIn(text: string): Promise<{ at: number; cause: unknown } | undefined> {
    this.#verify ??= (
      await import('stream-json/utils/verifier.js')
    ).default() as unknown as Reader<never>;
    try {
      for await (const _ of this.#verify(text));
      return undefined;
    } catch (cause) {
      const { offset } = cause as { readonly offset?: number };
      if (offset === undefined) throw cause;
      return { at: offset - this.#chars, cause };
    }
  }

  async #tokensOf(text: string): Promise<Token[]> {
    this.#parse ??= (await import('stream-json/parser.js')).default({
      streamValues: false,
    }) as unknown as Reader<Token>;
    const tokens: Token[] = [];
    for await (const token of this.#parse(text)) tokens.push(token);
    return tokens;
  }

  #take(token: Token, items: Json[]): void {
    const { name, value } = token;
    const keys = this.#keys;
    if (name === 'endObject' || name === 'endArray') keys.pop();
    else if (name === 'keyValue') keys[keys.length - 1] = String(value);
    else this.#begin(name);
    if (this.#isInArray && keys.length > this.#path.length) this.#addToElement(token);
    if (name === 'keyValue') return;
    if (name === 'startObject' || name === 'startArray') this.#open(name);
    else this.#endValue(items);
  }

  /** Called when a value begins. Checks the value if it is on the path to the array. */
  #begin(name: string): void {
    const keys = this.#keys;
    const depth = keys.length;
    const index = keys[depth - 1];
    if (typeof index === 'number') keys[depth - 1] = index + 1;
    const isOnPath = !this.#isInArray && keys.every((key, at) => String(key) === this.#path[at]);
    if (!isOnPath) return;
    // `JSON.parse` would use the last value of a repeated key. Here, elements of its first value may already
    // have been delivered, so a repeated key is an error.
    if (this.#found > depth)
      throw this.#error(`There is more than one ${named(this.#path.slice(0, depth))}`);
    this.#found = depth + 1;
    if (depth < this.#path.length) return;
    if (name !== 'startArray') throw this.#notFound();
    this.#isInArray = true;
  }

  #open(name: string): void {
    const { maxDepth } = this.#limits;
    if (this.#keys.length > this.#path.length + maxDepth)
      throw this.#error(`JSON is nested deeper than ${maxDepth} (\`maxDepth\`)`);
    this.#keys.push(name === 'startArray' ? -1 : '');
  }

  #endValue(items: Json[]): void {
    const depth = this.#keys.length - this.#path.length;
    if (this.#isInArray && depth === 1) {
      items.push(parseExact(this.#element) as Json);
      this.#elements++;
      this.#element = '';
      this.#elementBytes = 0;
    } else if (depth === 0) this.#isInArray = false;
    this.#isComplete = this.#keys.length === 0;
  }

  #addToElement(token: Token): void {
    const isFirst = ['{', '[', ':', undefined].includes(this.#element.at(-1));
    const text = isFirst || token.name.startsWith('end') ? textOf(token) : `,${textOf(token)}`;
    this.#element += text;
    this.#elementBytes += Buffer.byteLength(text);
    if (this.#elementBytes > this.#limits.maxBytes)
      throw this.#tooLarge(`Element ${this.#elements} of ${named(this.#path)}`);
  }

  #tooLarge(what: string): DataError {
    return this.#error(`${what} is larger than ${this.#limits.maxBytes} bytes (\`maxBytes\`)`);
  }

  #notFound(): DataError {
    const isArray = this.#start.trimStart().startsWith('[');
    const path = named(this.#path);
    if (this.#path.length === 0)
      return this.#error(`The JSON document is not an array: ${excerpt(this.#start)}`);
    const advice = isArray ? 'jsonArray() without a path reads a document that is an array' : '';
    return this.#error(`The JSON document has no array ${path}: ${excerpt(this.#start)}`, {
      advice,
    });
  }

  #notJson(text: string, at: number, cause: unknown): DataError {
    const near = this.#tail + text;
    const from = this.#tail.length + at;
    const byteOffset =
      this.#bytes + Buffer.byteLength(near.slice(0, from)) - Buffer.byteLength(this.#tail);
    const found = excerpt(near.slice(from).trimEnd());
    return this.#isComplete
      ? this.#error(`The JSON document has bytes after its end: ${found}`, {
          byteOffset,
          cause,
          advice: 'jsonLines() reads objects, one a line',
        })
      : this.#error(`The JSON document is damaged or cut short at ${found}`, { byteOffset, cause });
  }

  #error(
    message: string,
    { byteOffset, ...options }: { byteOffset?: number; advice?: string; cause?: unknown } = {},
  ): DataError {
    return new DataError(message, { ...options, position: { origin: this.#origin, byteOffset } });
  }
}

function named(path: readonly string[]): string {
  return path.length === 0 ? 'the document' : `\`${path.join('.')}\``;
}

function textOf({ name, value }: Token): string {
  if (name === 'keyValue') return `${JSON.stringify(value)}:`;
  if (name === 'numberValue') return String(value);
  return BRACKETS[name] ?? JSON.stringify(value);
}
