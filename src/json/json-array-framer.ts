import { gen, none } from 'stream-chain/core';
import { pick } from 'stream-json/core/filters/pick.js';
import { type parser as Parser, parser } from 'stream-json/core/parser.js';
import { streamArray } from 'stream-json/core/streamers/stream-array.js';
import { DataError } from '../errors.js';
import { isExact } from './exact-json.js';
import type { Framer } from './framer.js';
import type { Json } from './json.js';
import { BACKSLASH, COMMA, isClosing, isOpening, QUOTE } from './json-bytes.js';
import type { CheckedLimits } from './record-limits.js';

/** Bytes that go to the parser in one call: it makes an object of each token. */
const SLICE = 64 * 1024;

/** The parser that `gen` makes of its parts: from some text, or the end, to the elements that end there. */
type Parse = (text: string | typeof none) => AsyncIterable<{ readonly value: Json }>;

/** The parsed elements of one array at the top level of a document; see `jsonArray`. */
export class JsonArrayFramer implements Framer<Json> {
  readonly #key: string;
  readonly #origin: string | undefined;
  readonly #guard: JsonGuard;
  readonly #decoder = new TextDecoder();
  readonly #parse: Parse;
  #found = false;

  constructor(key: string, limits: CheckedLimits, origin: string | undefined) {
    this.#key = key;
    this.#origin = origin;
    this.#guard = new JsonGuard(limits, origin);
    // Not `once`: that stops at the end of the array, and the rest of the document may be cut.
    const isFirst = (path: readonly unknown[]) => {
      if (this.#found || path.length !== 1 || path[0] !== key) return false;
      this.#found = true;
      return true;
    };
    this.#parse = gen(
      parser({ streamValues: false }),
      exactNumbers(),
      pick({ filter: isFirst, maxDepth: limits.maxDepth }),
      streamArray(),
    ) as Parse;
  }

  async push(block: Buffer, items: Json[]): Promise<void> {
    for (let at = 0; at < block.length; at += SLICE) {
      const slice = block.subarray(at, at + SLICE);
      this.#guard.check(slice);
      await this.#take(this.#decoder.decode(slice, { stream: true }), items);
    }
  }

  async end(items: Json[]): Promise<void> {
    await this.#take(this.#decoder.decode(), items);
    await this.#take(none, items);
    if (!this.#found) throw this.#error(`The JSON document has no array \`${this.#key}\``);
  }

  async #take(text: string | typeof none, items: Json[]): Promise<void> {
    try {
      for await (const { value } of this.#parse(text)) items.push(value);
    } catch (cause) {
      const reason = cause instanceof Error ? cause.message : String(cause);
      throw this.#error(`Cannot read the array \`${this.#key}\`: ${reason}`, cause);
    }
  }

  #error(message: string, cause?: unknown): DataError {
    return new DataError(message, { cause, position: { origin: this.#origin } });
  }
}

/** Turns numbers into strings where a double could not hold them, by the rule of `parseExact`. */
function exactNumbers(): (token: Parser.Token) => Parser.Token {
  let key: string | undefined;
  return token => {
    const before = key;
    key = token.name === 'keyValue' ? token.value : undefined;
    // An assignment to it would change what the object is.
    if (key === '__proto__') throw new SyntaxError('it has a member called __proto__');
    const mustBeExact =
      token.name === 'numberValue' && /^-?\d+$/.test(token.value) && isExact(token.value, before);
    return mustBeExact ? { name: 'stringValue', value: token.value } : token;
  };
}

/**
 * Checks the limits for a parser that has none (stream-json): throws when a JSON document, which arrives in
 * blocks, nests too deeply or an element of an array at its top level is too large. Unlike `ValueEnd` it
 * does not match brackets, as the parser does.
 */
class JsonGuard {
  readonly #limits: CheckedLimits;
  readonly #origin: string | undefined;
  #depth = 0;
  #inString = false;
  #escaped = false;
  #offset = 0;
  /** An offset at or after the start of the current element. */
  #begin = 0;

  constructor(limits: CheckedLimits, origin: string | undefined) {
    this.#limits = limits;
    this.#origin = origin;
  }

  check(block: Uint8Array): void {
    const { maxBytes, maxDepth } = this.#limits;
    for (let at = 0; at < block.length; at++) {
      const byte = block[at]!;
      if (this.#escaped) this.#escaped = false;
      else if (byte === QUOTE) this.#inString = !this.#inString;
      else if (this.#inString) this.#escaped = byte === BACKSLASH;
      else if (isOpening(byte)) this.#depth++;
      else if (isClosing(byte)) this.#depth--;
      else if (byte !== COMMA) continue;
      if (this.#depth > maxDepth)
        throw this.#error(`JSON is nested deeper than ${maxDepth} (\`maxDepth\`)`, at);
      if (this.#depth > 2 || this.#inString) continue;
      this.#checkSize(at, maxBytes);
      this.#begin = this.#offset + at;
    }
    this.#checkSize(block.length, maxBytes);
    this.#offset += block.length;
  }

  #checkSize(at: number, maxBytes: number): void {
    if (this.#offset + at - this.#begin > maxBytes)
      throw this.#error(`An element is larger than ${maxBytes} bytes (\`maxBytes\`)`, at);
  }

  #error(message: string, at: number): DataError {
    return new DataError(message, {
      position: { origin: this.#origin, byteOffset: this.#offset + at },
    });
  }
}
