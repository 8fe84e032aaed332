import {
  type Accents,
  type CharacterTable,
  characterClasses,
  characterTable,
  classOfAstral,
  DROPPED,
  isAccent,
  JOINER,
  MARK,
  REGIONAL,
  SINGLE,
  SPACING,
  SURROGATE,
  UNCOMPOSED,
  WORD,
  WORD_SEPARATOR,
} from './characters.js';

export interface Tokens {
  readonly words: readonly string[];
  readonly starts: readonly number[];
  /**
   * The string in lower case. Each run of white space is a single space. Accents are removed if the parameter
   * `accents` of `tokenise` is `stripped`.
   */
  readonly folded: string;
}

/**
 * Splits a string into tokens. Words end at punctuation, symbols and white space. Each emoji is a token, with
 * or without a variation selector. Joined emoji are separate tokens. In scripts that are written without
 * spaces, each character is a token. A word of such a script is therefore a phrase of its characters, both in
 * rules and in posts.
 *
 * @example tokenise('I like coca-cola 🍕', 'kept').words // ['i', 'like', 'coca', 'cola', '🍕']
 */
export function tokenise(text: string, accents: Accents): Tokens {
  const scan = scannerFor(accents);
  scan.read(text);
  const folded = scan.text(0, scan.length);
  const words: string[] = [];
  const starts: number[] = [];
  for (let i = 0; i < scan.count; i++) {
    const start = scan.starts[i]!;
    words.push(folded.slice(start, scan.ends[i]));
    starts.push(start);
  }
  return { words, starts, folded };
}

/**
 * Returns a string in lower case, with each run of white space as a single space. Removes accents if
 * `accents` is `stripped`.
 */
export function fold(text: string, accents: Accents): string {
  if (/^\w*$/.test(text)) return text.toLowerCase();
  const scan = scannerFor(accents);
  scan.read(text);
  return scan.text(0, scan.length);
}

/**
 * Splits a string into tokens, and computes the hash of each token. Creates no string for a token. `read`
 * stores the result in the members of this object, and the next `read` overwrites it.
 */
export class Scanner {
  readonly #accents: Accents;
  readonly #table: CharacterTable;
  /**
   * The UTF-16 units of the string, folded for comparison, for example to lower case. Only the first `length`
   * units are valid.
   */
  units: Uint16Array = new Uint16Array(1024);
  length = 0;
  /**
   * For each token, the index of its first UTF-16 unit in `units`. `ends` has the end of each token, and
   * `hashes` its hash. Only the first `count` elements of these arrays are valid.
   */
  starts: Int32Array = new Int32Array(1024);
  ends: Int32Array = new Int32Array(1024);
  hashes: Int32Array = new Int32Array(1024);
  /** 1 for each token for which the function `isSingle` returns true, such as most emoji; otherwise 0. */
  singles: Uint8Array = new Uint8Array(1024);
  count = 0;
  #bytes = Buffer.alloc(1024);

  constructor(accents: Accents) {
    this.#accents = accents;
    this.#table = characterTable(accents);
  }

  read(text: string): void {
    // Strings with combining marks are compared in composed form, so that both spellings of é are equal.
    if (!this.#scan(text, false)) this.#scan(composed(text), true);
  }

  text(start: number, end: number): string {
    const length = end - start;
    let all = 0;
    for (let at = 0; at < length; at++) {
      const unit = this.units[start + at]!;
      this.#bytes[at] = unit;
      all |= unit;
    }
    // If possible, the string has one byte per character, which halves its memory and makes comparing it
    // faster.
    if (all < 0x100) return this.#bytes.toString('latin1', 0, length);
    return Buffer.from(this.units.buffer, 2 * start, 2 * length).toString('utf16le');
  }

  /**
   * Scans a string. Returns false if the string must first be normalized to NFC, because it may have
   * characters that are not composed.
   */
  #scan(text: string, isComposed: boolean): boolean {
    const { classes, folds } = this.#table;
    this.#reserve(text.length);
    const { units, starts, ends, hashes, singles } = this;
    let length = 0;
    let count = 0;
    let inWord = false;
    for (let at = 0; at < text.length; at++) {
      let unit = text.charCodeAt(at);
      let kind = classes[unit]!;
      if (kind === WORD) {
        // Most text consists of runs of letters, so the inner loop below reads a whole run.
        if (!inWord) {
          singles[count] = 0;
          hashes[count] = HASH_START;
          starts[count++] = length;
          inWord = true;
        }
        let hash = hashes[count - 1]!;
        do {
          const folded = folds[unit]!;
          units[length++] = folded;
          hash = Math.imul(hash ^ folded, HASH_STEP);
          if (++at === text.length) break;
          unit = text.charCodeAt(at);
        } while (classes[unit] === WORD);
        hashes[count - 1] = hash;
        ends[count - 1] = length;
        at--;
        continue;
      }
      let pair = '';
      if (kind === SURROGATE) {
        const codePoint = text.codePointAt(at)!;
        kind = codePoint < 0x10000 ? WORD_SEPARATOR : classOfAstral(codePoint);
        if (codePoint >= 0x10000) pair = text.slice(at, ++at + 1);
        if (kind === WORD) pair = pair.toLowerCase();
      }
      if (kind === DROPPED || (kind === JOINER && inWord)) continue;
      if (!isComposed && (kind === MARK || kind === UNCOMPOSED)) return false;
      if (kind === SPACING) {
        inWord = false;
        if (length === 0 || units[length - 1] !== BLANK) units[length++] = BLANK;
        continue;
      }
      if (kind === MARK && this.#accents === 'stripped' && isAccent(unit)) continue;
      if (unit === KEYCAP && isKeycapBase(units[length - 1])) {
        // If the previous word ends with the base of the keycap, such as the `1` of `1️⃣`, the base is
        // removed from that word.
        const start = starts[count - 1]!;
        if (ends[count - 1] === length && count > 0) {
          if (start === length - 1) count--;
          else {
            ends[count - 1] = length - 1;
            hashes[count - 1] = hashUnits(HASH_START, units, start, length - 1);
          }
        }
        inWord = false;
        singles[count] = 1;
        starts[count] = length - 1;
        units[length++] = KEYCAP;
        hashes[count] = hashUnits(HASH_START, units, length - 2, length);
        ends[count++] = length;
        continue;
      }
      const isSingle: boolean = kind === SINGLE || kind === REGIONAL;
      const goesOn: boolean =
        (kind === WORD && inWord) || (kind === MARK && count > 0 && ends[count - 1] === length);
      inWord = kind === WORD || (kind === MARK && (inWord || !goesOn));
      if (isSingle || ((kind === WORD || kind === MARK) && !goesOn)) {
        singles[count] = kind === SINGLE ? 1 : 0;
        hashes[count] = HASH_START;
        starts[count++] = length;
      }
      const from = length;
      if (pair === '') {
        units[length++] = folds[unit]!;
      } else {
        if (kind === REGIONAL && isRegional(text, at + 1)) {
          pair += text.slice(at + 1, at + 3);
          at += 2;
        }
        for (let i = 0; i < pair.length; i++) units[length++] = pair.charCodeAt(i);
      }
      if (kind === WORD_SEPARATOR || kind === JOINER) continue;
      ends[count - 1] = length;
      // Extends the hash of the word. Hashing the whole word again after each mark would take quadratic time.
      hashes[count - 1] = hashUnits(hashes[count - 1]!, units, from, length);
    }
    this.length = length;
    this.count = count;
    return true;
  }

  /**
   * Makes the buffers large enough for a string. Folding never lengthens a string, and each token has at
   * least one unit.
   */
  #reserve(units: number): void {
    if (this.units.length >= units) return;
    this.units = new Uint16Array(2 * units);
    this.starts = new Int32Array(2 * units);
    this.ends = new Int32Array(2 * units);
    this.hashes = new Int32Array(2 * units);
    this.singles = new Uint8Array(2 * units);
    this.#bytes = Buffer.alloc(2 * units);
  }
}

/** The initial value of an FNV-1a hash. To continue a hash, pass that hash instead of this value. */
export const HASH_START: number = 0x811c9dc5 | 0;
const HASH_STEP = 0x01000193;

export function hashUnits(from: number, units: Uint16Array, start: number, end: number): number {
  let hash = from;
  for (let at = start; at < end; at++) hash = Math.imul(hash ^ units[at]!, HASH_STEP);
  return hash;
}

export function hashText(from: number, text: string): number {
  let hash = from;
  for (let at = 0; at < text.length; at++) hash = Math.imul(hash ^ text.charCodeAt(at), HASH_STEP);
  return hash;
}

const BLANK = 0x20;

/**
 * Converts a string to composed form. The time to compose a run of marks is quadratic in its length. A run
 * with more marks than any language uses is therefore composed in parts.
 */
function composed(text: string): string {
  let result = '';
  let from = 0;
  for (const { index, 0: run } of text.matchAll(LONG_RUN)) {
    for (let at = index + MAX_RUN; at < index + run.length; at += MAX_RUN) {
      result += text.slice(from, at).normalize('NFC');
      from = at;
    }
  }
  return result + text.slice(from).normalize('NFC');
}

/**
 * The maximum number of adjacent marks that are composed together. It is the limit of Unicode's Stream-Safe
 * Text Format.
 */
const MAX_RUN = 30;
const LONG_RUN = new RegExp(`\\p{M}{${MAX_RUN + 1},}`, 'gu');

function isRegional(text: string, at: number): boolean {
  const codePoint = text.codePointAt(at) ?? 0;
  return codePoint >= 0x10000 && classOfAstral(codePoint) === REGIONAL;
}

const scanners: { [A in Accents]?: Scanner } = {};

function scannerFor(accents: Accents): Scanner {
  scanners[accents] ??= new Scanner(accents);
  return scanners[accents];
}

const KEYCAP = 0x20e3;

function isKeycapBase(unit: number | undefined): boolean {
  return unit !== undefined && ((unit >= 0x30 && unit <= 0x39) || unit === 0x23 || unit === 0x2a);
}

/**
 * Returns whether a token is an emoji other than a flag, or a character of a script written without spaces.
 * In `wordTerms`, two adjacent tokens of this kind form a pair. The letters of flags are excluded. Otherwise,
 * two letters with a space between them would form the same term as a flag.
 */
export function isSingle(word: string): boolean {
  if (classOfFirst(word) === SINGLE) return true;
  return word.charCodeAt(1) === KEYCAP && isKeycapBase(word.charCodeAt(0));
}

export function isFlagEmoji(word: string): boolean {
  return classOfFirst(word) === REGIONAL;
}

function classOfFirst(word: string): number {
  const codePoint = word.codePointAt(0) ?? 0;
  if (codePoint >= 0x10000) return classOfAstral(codePoint);
  return characterClasses()[codePoint]!;
}
