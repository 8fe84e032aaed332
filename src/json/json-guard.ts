import { DataError } from '../errors.js';
import { BACKSLASH, COMMA, isClosing, isOpening, QUOTE } from './json-bytes.js';
import type { CheckedLimits } from './record-limits.js';

/**
 * Checks the limits for a parser that has none (stream-json): throws when a JSON document, which arrives in
 * blocks, nests too deeply or an element of an array at its top level is too large. Unlike `ValueEnd` it
 * does not match brackets, as the parser does.
 */
export class JsonGuard {
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
