import { bufferOf } from '../activity/decode-utf8.js';
import { parseExact } from '../activity/exact-json.js';
import { DataError } from '../errors.js';
import { Pieces } from './pieces.js';
import { type RecordLimits, recordLimits } from './record-limits.js';

const QUOTE = 0x22;
const COMMA = 0x2c;
const COLON = 0x3a;
const OPEN_ARRAY = 0x5b;
const BACKSLASH = 0x5c;
const CLOSE_ARRAY = 0x5d;
const OPEN_OBJECT = 0x7b;
const CLOSE_OBJECT = 0x7d;
const BYTE_ORDER_MARK = [0xef, 0xbb, 0xbf];
const EMPTY = Buffer.alloc(0);

export interface ElementSplitterOptions extends RecordLimits {
  /** The URL or file of the document, for error messages. */
  readonly origin?: string | undefined;
}

/** Where the next byte stands: in the document around the array, or within the array. */
type Place =
  | 'start' // before the document's `{`
  | 'document'
  | 'first' // after `[`: an element or `]`
  | 'next' // after `,`: an element
  | 'nested' // inside an element that is an object, an array or a string
  | 'scalar' // inside an element that is a number, `true`, `false` or `null`
  | 'between' // after an element: `,` or `]`
  | 'after'; // after the document

/**
 * Takes one JSON document in pieces, cut at any byte, and gives the exact bytes of each element of
 * one array at its top level as soon as the element is whole. Elements are told apart by brackets,
 * strings and commas; that what lies between is JSON, whoever parses an element finds out. The rest
 * of the document is kept, and parsed at the end.
 *
 * Whatever is wrong throws a `DataError`; the splitter is of no use after that.
 *
 * @example
 * const splitter = new ElementSplitter('results');
 * for await (const bytes of body) for (const post of splitter.push(bytes)) write(post);
 * const { next } = splitter.end();
 */
export class ElementSplitter {
  readonly #key: string;
  readonly #maxBytes: number;
  readonly #maxDepth: number;
  readonly #origin: string | undefined;
  #place: Place = 'start';
  /** Bytes of the document before the block at hand. */
  #offset = 0;
  #inString = false;
  #escaped = false;
  readonly #rest = new Pieces();
  #depth = 0;
  /** At the top level: whether a string would be a name, is one, and the last one seen. */
  #nameComes = false;
  #naming = false;
  readonly #nameBytes = new Pieces();
  #name: string | undefined;
  #found = false;
  readonly #element = new Pieces();
  /** The brackets that the element under way still needs. */
  readonly #closers: number[] = [];

  constructor(key: string, options: ElementSplitterOptions = {}) {
    const { maxBytes, maxDepth } = recordLimits(options);
    this.#key = key;
    this.#maxBytes = maxBytes;
    this.#maxDepth = maxDepth;
    this.#origin = options.origin;
  }

  /** Adds the elements that end in these bytes to `elements`, and returns it. */
  push(bytes: Uint8Array, elements: Buffer[] = []): Buffer[] {
    const block = bufferOf(bytes);
    let at = 0;
    while (at < block.length)
      at = this.#inArray() ? this.#takeArray(block, at, elements) : this.#takeDocument(block, at);
    this.#offset += block.length;
    return elements;
  }

  /** Whether the document has come to its end; `end` throws before. */
  get whole(): boolean {
    return this.#place === 'after';
  }

  /** The document without that array, once it is whole. */
  end(): Record<string, unknown> {
    const rest = this.#rest.join(EMPTY);
    if (this.#place === 'start') throw this.#error('The JSON document is empty', 0);
    if (this.#place !== 'after') throw this.#error('The JSON document is cut short', 0);
    const { [this.#key]: array, ...others } = this.#parse(rest);
    if (!this.#found || !Array.isArray(array))
      throw this.#error(`The JSON document has no array \`${this.#key}\`: ${excerpt(rest)}`, 0);
    return others;
  }

  #inArray(): boolean {
    return this.#place !== 'start' && this.#place !== 'document' && this.#place !== 'after';
  }

  #inElement(): boolean {
    return this.#place === 'nested' || this.#place === 'scalar';
  }

  /** Reads up to the array's `[`, or to the end of the block. */
  #takeDocument(block: Buffer, from: number): number {
    let at = from;
    let nameFrom = from;
    while (at < block.length && !this.#inArray()) {
      if (this.#inString) {
        at = this.#skipString(block, at);
        if (this.#naming && !this.#inString) this.#endName(block.subarray(nameFrom, at));
        continue;
      }
      const byte = block[at++]!;
      if (isSpace(byte)) continue;
      if (this.#place === 'start') this.#begin(byte, at - 1);
      else if (this.#place === 'after')
        throw this.#error('The JSON document goes on after its end', at - 1);
      else if (byte === QUOTE) {
        this.#inString = true;
        this.#naming = this.#nameComes;
        this.#nameComes = false;
        nameFrom = at - 1;
        if (!this.#naming && this.#depth === 1) this.#name = undefined;
      } else if (byte === OPEN_ARRAY && this.#depth === 1 && this.#name === this.#key) {
        if (this.#found)
          throw this.#error(`The JSON document has \`${this.#key}\` more than once`, at - 1);
        this.#found = true;
        this.#depth++;
        this.#place = 'first';
      } else this.#takeStructure(byte, at - 1);
    }
    if (this.#naming) this.#nameBytes.add(block.subarray(nameFrom, at));
    this.#rest.add(block.subarray(from, at));
    this.#checkSize(this.#rest.byteLength, 'The part of the JSON document around the array', at);
    return at;
  }

  #begin(byte: number, at: number): void {
    if (byte === BYTE_ORDER_MARK[this.#offset + at]) return;
    if (byte !== OPEN_OBJECT) throw this.#error('Expected a JSON object', at);
    this.#place = 'document';
    this.#depth = 1;
    this.#nameComes = true;
  }

  #takeStructure(byte: number, at: number): void {
    if (byte === OPEN_OBJECT || byte === OPEN_ARRAY) {
      if (++this.#depth > this.#maxDepth) throw this.#tooDeep(at);
    } else if (byte === CLOSE_OBJECT || byte === CLOSE_ARRAY) {
      if (--this.#depth === 0) this.#place = 'after';
    } else if (byte === COMMA && this.#depth === 1) this.#nameComes = true;
    else if (byte === COLON) return;
    if (this.#depth === 1) this.#name = undefined;
  }

  #endName(last: Buffer): void {
    this.#naming = false;
    try {
      this.#name = String(JSON.parse(this.#nameBytes.join(last).toString()));
    } catch {
      // Not a string of JSON: the parse of the rest will say so.
      this.#name = undefined;
    }
  }

  /** Reads up to the array's `]`, or to the end of the block. */
  #takeArray(block: Buffer, from: number, elements: Buffer[]): number {
    let at = from;
    let start = from;
    while (at < block.length) {
      if (this.#inElement()) {
        at = this.#place === 'nested' ? this.#skipNested(block, at) : this.#skipScalar(block, at);
        const size = this.#element.byteLength + at - start;
        this.#checkSize(size, `An element of \`${this.#key}\``, at);
        if (!this.#inElement()) elements.push(this.#element.join(block.subarray(start, at)));
        continue;
      }
      const byte = block[at]!;
      if (isSpace(byte)) at++;
      else if (this.#place === 'between' && byte === COMMA) {
        this.#place = 'next';
        at++;
      } else if (this.#place !== 'next' && byte === CLOSE_ARRAY) {
        this.#place = 'document'; // which the bracket itself belongs to
        return at;
      } else if (this.#place === 'between') {
        throw this.#error(`Expected a comma between elements of \`${this.#key}\``, at);
      } else {
        start = at;
        this.#beginElement(byte, at);
      }
    }
    if (this.#inElement()) this.#element.add(block.subarray(start, at));
    return at;
  }

  #beginElement(byte: number, at: number): void {
    const nested = byte === OPEN_OBJECT || byte === OPEN_ARRAY || byte === QUOTE;
    if (!nested && !isScalarByte(byte))
      throw this.#error(`Expected an element of \`${this.#key}\``, at);
    this.#place = nested ? 'nested' : 'scalar';
  }

  #skipScalar(block: Buffer, from: number): number {
    let at = from;
    while (at < block.length && isScalarByte(block[at]!)) at++;
    if (at < block.length) this.#place = 'between';
    return at;
  }

  #skipNested(block: Buffer, from: number): number {
    const closers = this.#closers;
    let at = from;
    while (at < block.length) {
      if (this.#inString) {
        at = this.#skipString(block, at);
        if (this.#inString) return at;
        if (closers.length > 0) continue;
        this.#place = 'between';
        return at;
      }
      const byte = block[at++]!;
      if (byte === QUOTE) this.#inString = true;
      else if (byte === OPEN_OBJECT || byte === OPEN_ARRAY) {
        if (closers.length >= this.#maxDepth) throw this.#tooDeep(at - 1);
        closers.push(byte + 2); // `}` and `]` stand two after `{` and `[`
      } else if (byte === CLOSE_OBJECT || byte === CLOSE_ARRAY) {
        if (closers.pop() !== byte)
          throw this.#error(`A bracket in an element of \`${this.#key}\` has no partner`, at - 1);
        if (closers.length > 0) continue;
        this.#place = 'between';
        return at;
      }
    }
    return at;
  }

  /** Reads past the closing quote, or to the end of the block. */
  #skipString(block: Buffer, from: number): number {
    let at = from;
    if (this.#escaped) {
      this.#escaped = false;
      at++;
    }
    while (at < block.length) {
      const byte = block[at++]!;
      if (byte === QUOTE) {
        this.#inString = false;
        return at;
      }
      if (byte === BACKSLASH && at++ === block.length) {
        this.#escaped = true;
        return block.length;
      }
    }
    return at;
  }

  #parse(rest: Buffer): Record<string, unknown> {
    const text = BYTE_ORDER_MARK.every((byte, i) => rest[i] === byte) ? rest.subarray(3) : rest;
    try {
      return parseExact(text) as Record<string, unknown>;
    } catch (cause) {
      throw new DataError('The JSON document is not valid JSON around its array', {
        cause,
        place: { origin: this.#origin },
      });
    }
  }

  #checkSize(bytes: number, what: string, at: number): void {
    if (bytes > this.#maxBytes)
      throw this.#error(`${what} is larger than ${this.#maxBytes} bytes (\`maxBytes\`)`, at);
  }

  #tooDeep(at: number): DataError {
    return this.#error(`JSON is nested deeper than ${this.#maxDepth} (\`maxDepth\`)`, at);
  }

  #error(message: string, at: number): DataError {
    return new DataError(message, {
      place: { origin: this.#origin, byteOffset: this.#offset + at },
    });
  }
}

function isSpace(byte: number): boolean {
  return byte === 0x20 || byte === 0x0a || byte === 0x0d || byte === 0x09;
}

/** Whether a number, `true`, `false` or `null` may contain it. */
function isScalarByte(byte: number): boolean {
  return (
    (byte >= 0x30 && byte <= 0x39) || // 0-9
    (byte >= 0x61 && byte <= 0x7a) || // a-z
    byte === 0x2d || // -
    byte === 0x2b || // +
    byte === 0x2e || // .
    byte === 0x45 // E
  );
}

function excerpt(document: Buffer): string {
  const text = document.subarray(0, 200).toString();
  return document.length > 200 ? `${text}...` : text;
}
