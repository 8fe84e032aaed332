import { checkOptions, type OptionTable, text, whole } from '../base/check.js';
import { DataError } from '../base/errors.js';
import {
  BACKSLASH,
  BYTE_ORDER_MARK,
  bufferOf,
  CLOSE_ARRAY,
  CLOSE_OBJECT,
  COLON,
  COMMA,
  isClosing,
  isOpening,
  isScalar,
  isSpace,
  OPEN_ARRAY,
  OPEN_OBJECT,
  QUOTE,
  startsWithMark,
} from './byte-codes.js';
import { parseExact } from './exact-ids.js';
import { CarryOver, RECORD_LIMITS, type RecordLimits } from './records.js';

const EMPTY = Buffer.alloc(0);

export interface ElementSplitterOptions extends RecordLimits {
  /** The URL or path of the document, for error messages. */
  readonly origin?: string | undefined;
  /** The maximum number of elements. @default Infinity */
  readonly maxElements?: number | undefined;
}

const OPTIONS = {
  ...RECORD_LIMITS,
  origin: text('the URL or file, for error messages'),
  maxElements: whole('elements of the array', {
    min: 1,
    orInfinity: true,
    default: Number.POSITIVE_INFINITY,
  }),
} satisfies OptionTable<ElementSplitterOptions>;

/** The kind of token that must come next, if the splitter is not inside a value. */
type Next =
  | 'document'
  | 'first name' // or the end of the document
  | 'name'
  | 'colon'
  | 'value'
  | 'comma' // or the end of the document
  | 'first element' // or the end of the array
  | 'element'
  | 'element comma' // or the end of the array
  | 'nothing';

/**
 * Splits one JSON document into the elements of one array at its top level. The document arrives in blocks
 * that are cut at any byte. Delivers the exact bytes of each element as soon as the element is complete.
 * Elements are not parsed: only their brackets, strings and commas are read. The rest of the document is kept
 * in memory and parsed at the end.
 *
 * @throws OptionError If an option is invalid.
 * @throws DataError From `push` and `end`, if the document is damaged or exceeds a limit. The splitter cannot
 *   be used after such an error.
 *
 * @example
 * const splitter = new ElementSplitter('results');
 * for await (const bytes of body) for (const post of splitter.push(bytes)) write(post);
 * const { next } = splitter.end();
 */
export class ElementSplitter {
  readonly #key: string;
  readonly #maxBytes: number;
  readonly #maxElements: number;
  #elements = 0;
  readonly #origin: string | undefined;
  #next: Next = 'document';
  /** How many bytes of the document came before the current block. */
  #offset = 0;
  readonly #value: ValueEnd;
  /** The bytes of a name or element that began in an earlier block and has not ended yet. */
  readonly #carried = new CarryOver();
  /** The document without the elements of the array. */
  readonly #rest = new CarryOver();
  #name: string | undefined;
  #found = false;

  constructor(key: string, options: ElementSplitterOptions = {}) {
    const { maxBytes, maxDepth, maxElements } = checkOptions('ElementSplitter', OPTIONS, options);
    this.#maxElements = maxElements;
    this.#key = key;
    this.#maxBytes = maxBytes;
    this.#origin = options.origin;
    this.#value = new ValueEnd(maxDepth, (message, at) => this.#error(message, at));
  }

  /** Adds the elements that end in these bytes to `elements`. Returns `elements`. */
  push(bytes: Uint8Array, elements: Buffer[] = []): Buffer[] {
    const block = bufferOf(bytes);
    let start = 0;
    let restFrom = 0;
    for (let at = 0; at < block.length; ) {
      if (!this.#value.open) {
        const wasInArray = this.#isInArray();
        if (isSpace(block[at]!) || !this.#beginsValue(block[at]!, at)) {
          if (wasInArray && !this.#isInArray()) restFrom = at;
          at++;
          if (!wasInArray && this.#isInArray()) this.#rest.add(block.subarray(restFrom, at));
          continue;
        }
        start = at;
      }
      at = this.#value.find(block, at);
      if (this.#next === 'element') this.#checkSize(this.#carried.byteLength + at - start, at);
      if (!this.#value.open) this.#endValue(block.subarray(start, at), elements, at);
    }
    if (this.#value.open && this.#next !== 'value') this.#carried.add(block.subarray(start));
    if (!this.#isInArray()) this.#rest.add(block.subarray(restFrom));
    this.#checkSize(this.#rest.byteLength, block.length);
    this.#offset += block.length;
    return elements;
  }

  /** Whether the document is complete. If it is not, `end` throws. */
  get whole(): boolean {
    return this.#next === 'nothing';
  }

  /** Returns the document without the array, parsed with exact ids. Call this after the last block. */
  end(): Record<string, unknown> {
    const rest = this.#rest.join(EMPTY);
    if (this.#next === 'document') throw this.#error('The JSON document is empty', 0);
    if (!this.whole) throw this.#error('The JSON document is cut short', 0);
    const { [this.#key]: array, ...others } = this.#parse(rest);
    if (!this.#found || !Array.isArray(array))
      throw this.#error(
        `The JSON document has no array \`${this.#key}\`: ${rest.toString('utf8', 0, 200)}`,
        0,
      );
    return others;
  }

  #isInArray(): boolean {
    return (
      this.#next === 'first element' || this.#next === 'element' || this.#next === 'element comma'
    );
  }

  /** Returns whether a value, name or element begins with this byte. If not, processes the byte. */
  #beginsValue(byte: number, at: number): boolean {
    switch (this.#next) {
      case 'document':
        if (byte === BYTE_ORDER_MARK[this.#offset + at]) return false;
        if (byte !== OPEN_OBJECT) throw this.#error('Expected a JSON object', at);
        this.#next = 'first name';
        return false;
      case 'first name':
      case 'name':
        if (byte === CLOSE_OBJECT && this.#next === 'first name') this.#next = 'nothing';
        else if (byte !== QUOTE) throw this.#error('Expected a name in the JSON document', at);
        else this.#next = 'name';
        return byte === QUOTE;
      case 'colon':
        if (byte !== COLON) throw this.#error('Expected a colon in the JSON document', at);
        this.#next = 'value';
        return false;
      case 'value':
        if (byte !== OPEN_ARRAY || this.#name !== this.#key) return this.#expectValue(byte, at);
        if (this.#found) throw this.#error(`There is more than one \`${this.#key}\``, at);
        this.#found = true;
        this.#next = 'first element';
        return false;
      case 'comma':
        if (byte !== COMMA && byte !== CLOSE_OBJECT)
          throw this.#error('Expected a comma in the JSON document', at);
        this.#next = byte === COMMA ? 'name' : 'nothing';
        return false;
      case 'first element':
      case 'element':
        if (byte === CLOSE_ARRAY && this.#next === 'first element') this.#next = 'comma';
        else this.#next = 'element';
        return this.#next === 'element' && this.#expectValue(byte, at);
      case 'element comma':
        if (byte !== COMMA && byte !== CLOSE_ARRAY)
          throw this.#error(`Expected a comma between elements of \`${this.#key}\``, at);
        this.#next = byte === COMMA ? 'element' : 'comma';
        return false;
      case 'nothing':
        throw this.#error('The JSON document has bytes after its end', at);
    }
  }

  #expectValue(byte: number, at: number): true {
    if (byte === QUOTE || isOpening(byte) || isScalar(byte)) return true;
    throw this.#error('Expected a value', at);
  }

  #endValue(last: Buffer, elements: Buffer[], at: number): void {
    if (this.#next === 'element') {
      if (++this.#elements > this.#maxElements)
        throw this.#error(`\`${this.#key}\` has more than ${this.#maxElements} elements`, at);
      elements.push(this.#carried.join(last));
      this.#next = 'element comma';
    } else if (this.#next === 'name') {
      this.#name = readName(this.#carried.join(last));
      this.#next = 'colon';
    } else this.#next = 'comma';
  }

  #parse(rest: Buffer): Record<string, unknown> {
    const text = startsWithMark(rest) ? rest.subarray(3) : rest;
    try {
      return parseExact(text) as Record<string, unknown>;
    } catch (cause) {
      throw new DataError('The JSON document is not valid outside its array', {
        cause,
        position: { origin: this.#origin },
      });
    }
  }

  #checkSize(bytes: number, at: number): void {
    if (bytes <= this.#maxBytes) return;
    const what = this.#isInArray() ? `An element of \`${this.#key}\`` : 'The JSON document';
    throw this.#error(`${what} is larger than ${this.#maxBytes} bytes (\`maxBytes\`)`, at);
  }

  #error(message: string, at: number): DataError {
    return new DataError(message, {
      position: { origin: this.#origin, byteOffset: this.#offset + at },
    });
  }
}

function readName(bytes: Buffer): string | undefined {
  try {
    return String(JSON.parse(bytes.toString()));
  } catch {
    return undefined; // The name is not a JSON string. Parsing the rest of the document reports this.
  }
}

/**
 * Finds the end of a JSON value that arrives in blocks cut at any byte. Matches brackets and strings, and
 * checks the byte after each nested string. Validates nothing else.
 */
export class ValueEnd {
  readonly #maxDepth: number;
  readonly #fail: (message: string, at: number) => Error;
  /** The closing brackets that are expected, with the innermost last. */
  readonly #closers: number[] = [];
  #inString = false;
  #pastString = false;
  #escaped = false;
  #inScalar = false;

  /** @param fail Creates the error for a mistake at a position in the block. */
  constructor(maxDepth: number, fail: (message: string, at: number) => Error) {
    this.#maxDepth = maxDepth;
    this.#fail = fail;
  }

  get open(): boolean {
    return this.#inString || this.#inScalar || this.#closers.length > 0;
  }

  /**
   * Reads a value from its first byte. If the value began in an earlier block, continues at the start of this
   * block. Returns the position after the value, or the end of the block if the value is still incomplete.
   */
  find(block: Buffer, from: number): number {
    let at = from;
    this.#inScalar ||= !this.open && isScalar(block[at]!);
    if (this.#inScalar) {
      while (at < block.length && isScalar(block[at]!)) at++;
      this.#inScalar = at === block.length;
      return at;
    }
    if (this.#inString) {
      at = this.#afterString(block, at);
      if (!this.open) return at;
    }
    while (at < block.length) {
      const byte = block[at++]!;
      if (this.#pastString) {
        if (isSpace(byte)) continue;
        this.#pastString = false;
        // Without this check, a string without its closing quote, as in a truncated record, could go
        // unnoticed. All text after such a string is misread: strings as structure, and structure as strings.
        if (byte !== COMMA && byte !== COLON && !isClosing(byte))
          throw this.#fail('Expected a comma, a colon or a bracket after a string', at - 1);
      }
      if (byte === QUOTE) {
        this.#inString = true;
        at = this.#afterString(block, at);
        if (this.#closers.length === 0) return at;
      } else if (isOpening(byte)) this.#open(byte, at - 1);
      else if (isClosing(byte)) {
        if (this.#closers.pop() !== byte) throw this.#fail('A bracket has no partner', at - 1);
        if (this.#closers.length === 0) return at;
      }
    }
    return at;
  }

  #open(byte: number, at: number): void {
    if (this.#closers.length >= this.#maxDepth)
      throw this.#fail(`JSON is nested deeper than ${this.#maxDepth} (\`maxDepth\`)`, at);
    this.#closers.push(byte + 2); // The code of each closing bracket is the code of its opening bracket plus 2.
  }

  #afterString(block: Buffer, from: number): number {
    let at = from;
    if (this.#escaped) {
      this.#escaped = false;
      at++;
    }
    while (at < block.length) {
      const byte = block[at++]!;
      if (byte === QUOTE) {
        this.#inString = false;
        this.#pastString = this.#closers.length > 0;
        return at;
      }
      if (byte === BACKSLASH && at++ === block.length) {
        this.#escaped = true;
        return block.length;
      }
    }
    return at;
  }
}
