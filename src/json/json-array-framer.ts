import { gen, none } from 'stream-chain/core';
import { pick } from 'stream-json/core/filters/pick.js';
import { type parser as Parser, parser } from 'stream-json/core/parser.js';
import { streamArray } from 'stream-json/core/streamers/stream-array.js';
import { DataError } from '../errors.js';
import { isLong } from './exact-json.js';
import type { Framer } from './framer.js';
import type { Json } from './json.js';
import { JsonGuard } from './json-guard.js';
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
  let key: unknown;
  return token => {
    const isId = key === 'id' || (typeof key === 'string' && key.endsWith('_id'));
    key = token.name === 'keyValue' ? token.value : undefined;
    // An assignment to it would change what the object is.
    if (key === '__proto__') throw new SyntaxError('it has a member called __proto__');
    const isExact =
      token.name === 'numberValue' && /^-?\d+$/.test(token.value) && (isId || isLong(token.value));
    return isExact ? { name: 'stringValue', value: token.value } : token;
  };
}
