import {
  BACKSLASH,
  COLON,
  COMMA,
  isClosing,
  isOpening,
  isScalar,
  isSpace,
  OPEN_OBJECT,
  QUOTE,
} from './json-bytes.js';

/** Finds the end of a JSON value that arrives in blocks cut at any byte. It matches brackets and strings, and validates nothing else. */
export class ValueEnd {
  readonly #maxDepth: number;
  readonly #fail: (message: string, at: number) => Error;
  /** The closing brackets that are expected, innermost last. */
  readonly #closers: number[] = [];
  #inString = false;
  /** Whether a string has just ended. */
  #pastString = false;
  #escaped = false;
  #inScalar = false;

  /** @param fail Makes the error for a position in the block. */
  constructor(maxDepth: number, fail: (message: string, at: number) => Error) {
    this.#maxDepth = maxDepth;
    this.#fail = fail;
  }

  /** Whether a value has begun and is not known to have ended. */
  get open(): boolean {
    return this.#inString || this.#inScalar || this.#closers.length > 0;
  }

  /**
   * Reads a value from its first byte on, or one that began in the block before, and returns where
   * it ends, or the end of the block where it is still open.
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
        // In a record that was cut within a string, all that follows is taken the wrong way round.
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
    this.#closers.push(byte + 2); // The codes of `}` and `]` are those of `{` and `[` plus 2.
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

/** Whether bytes are one JSON object with white space around it, more than one value, or anything else. */
export function extentOfObject(bytes: Buffer): 'one' | 'more' | 'other' {
  let start = 0;
  while (isSpace(bytes[start]!)) start++;
  if (bytes[start] !== OPEN_OBJECT) return 'other';
  const value = new ValueEnd(Number.POSITIVE_INFINITY, message => new SyntaxError(message));
  try {
    let end = value.find(bytes, start);
    if (value.open) return 'other';
    while (isSpace(bytes[end]!)) end++;
    return end === bytes.length ? 'one' : 'more';
  } catch {
    return 'other';
  }
}
