export const SPACING = 0;
/** Punctuation and symbols. They end a token and are not part of any token. */
export const WORD_SEPARATOR = 1;
export const WORD = 2;
/**
 * A single character that forms a token: an emoji, or a character of a script that is written without spaces.
 */
export const SINGLE = 3;
/** A character that belongs to the token before it. */
export const MARK = 4;
/** Invisible characters, which are ignored. */
export const DROPPED = 5;
/** The zero width joiner. It is invisible within a word, but separates emoji. */
export const JOINER = 6;
/** Regional indicators. Two of them in a row form a flag. */
export const REGIONAL = 7;
export const SURROGATE = 8;
/** Characters that Unicode normalization (NFC) replaces with others, such as the Ångström sign. */
export const UNCOMPOSED = 9;

/**
 * Whether accents distinguish words. They do in historical jobs and replay (`kept`), but not in search
 * (`stripped`).
 */
export type Accents = 'kept' | 'stripped';

export interface CharacterTable {
  readonly classes: Uint8Array;
  /**
   * For each UTF-16 code unit, the unit that is compared in its place: in lower case, and without accents if
   * `Accents` is `stripped`.
   */
  readonly folds: Uint16Array;
}

let classes: Uint8Array | undefined;
const folds: { [A in Accents]?: Uint16Array } = {};

/** The tables are built on first use, which takes some tens of milliseconds. */
export function characterTable(accents: Accents): CharacterTable {
  const classes = characterClasses();
  folds[accents] ??= buildFolds(classes, accents);
  return { classes, folds: folds[accents] };
}

/** Returns the class of each UTF-16 code unit. */
export function characterClasses(): Uint8Array {
  classes ??= buildClasses();
  return classes;
}

export function classOfAstral(codePoint: number): number {
  if (codePoint >= 0x1f1e6 && codePoint <= 0x1f1ff) return REGIONAL;
  if (codePoint >= 0x2f800 && codePoint <= 0x2fa1f) return UNCOMPOSED;
  if (codePoint >= 0x20000 && codePoint <= 0x3ffff) return SINGLE;
  if (codePoint >= 0xe0100 && codePoint <= 0xe01ef) return DROPPED;
  // These code points are tag characters. In the emoji of a subdivision, such as the flag of Scotland, they
  // follow a black flag.
  if (codePoint >= 0xe0020 && codePoint <= 0xe007f) return MARK;
  const index = codePoint - 0x10000;
  if (index >= 0x10000) return WORD;
  const known = astralClasses[index]!;
  if (known !== 0) return known - 1;
  const found = classOf(String.fromCodePoint(codePoint));
  astralClasses[index] = found + 1;
  return found;
}

/**
 * A cache for `classOfAstral`. For each code point from U+10000 to U+1FFFF, the class plus 1, or 0 if the
 * class is not known yet.
 */
const astralClasses = new Uint8Array(0x10000);

/** In the table of `buildClasses`, the value for a UTF-16 code unit that has no class yet. */
const UNKNOWN = 0;

function buildClasses(): Uint8Array {
  const classes = new Uint8Array(0x10000).fill(SURROGATE, 0xd800, 0xe000);
  // Most characters outside of Han and Hangul are letters that NFC does not change. Testing a few hundred
  // runs of them takes less time than testing each letter by `classOf`.
  for (const { index, 0: run } of allUnits().matchAll(LETTERS))
    if (run.normalize('NFC') === run) classes.fill(WORD, index, index + run.length);
  for (let unit = 0; unit < classes.length; unit++)
    if (isHanOrHangul(unit)) classes[unit] = SINGLE;
    else if (classes[unit] === UNKNOWN) classes[unit] = classOf(String.fromCharCode(unit));
  return classes;
}

function buildFolds(classes: Uint8Array, accents: Accents): Uint16Array {
  const folds = new Uint16Array(0x10000).map((_, unit) => unit);
  for (const { index, 0: character } of allUnits().matchAll(FOLDED))
    if (classes[index] === WORD) folds[index] = foldOf(character, accents);
  return folds;
}

/** Returns all UTF-16 code units in order, with blanks instead of surrogates. */
function allUnits(): string {
  const units = new Uint16Array(0x10000).fill(0x20);
  for (let unit = 0; unit < units.length; unit++)
    if (unit < 0xd800 || unit > 0xdfff) units[unit] = unit;
  return Buffer.from(units.buffer).toString('utf16le');
}

/**
 * Returns whether a UTF-16 unit is a Han or Hangul character. Most characters belong to these scripts. A
 * range check is faster than the regular expressions of `classOf`.
 */
function isHanOrHangul(unit: number): boolean {
  return (unit >= 0x3400 && unit <= 0x9fff && (unit <= 0x4dbf || unit >= 0x4e00)) || isHangul(unit);
}

function isHangul(unit: number): boolean {
  return unit >= 0xac00 && unit <= 0xd7a3;
}

/** Returns whether a code point is a Hangul letter that belongs to the syllable before it. */
function isJamoTail(code: number): boolean {
  return (code >= 0x1160 && code <= 0x11ff) || (code >= 0xd7b0 && code <= 0xd7ff);
}

/** Returns whether a UTF-16 unit is a combining accent, as used with Latin and Greek letters. */
export function isAccent(unit: number): boolean {
  return unit >= 0x300 && unit <= 0x36f;
}

/**
 * Matches scripts that are written without spaces, and scripts such as Hangul that attach endings to words.
 */
const UNSPACED =
  /[\p{scx=Han}\p{scx=Hira}\p{scx=Kana}\p{scx=Hang}\p{scx=Thai}\p{scx=Laoo}\p{scx=Khmr}\p{scx=Mymr}]/u;

/**
 * Matches runs of letters, numbers, unassigned characters and private-use characters. If NFC normalisation
 * does not change a run, `classOf` returns `WORD` for each of its characters.
 */
const LETTERS = new RegExp(
  `(?:(?![\\0-\\x7f\\ud7b0-\\ud7ff\\p{Extended_Pictographic}]|${UNSPACED.source})[\\p{L}\\p{N}\\p{Co}\\p{Cn}]){1,64}`,
  'gu',
);

/** Matches the characters that `foldOf` may change. */
const FOLDED = /[\p{Changes_When_Casemapped}\p{sc=Latin}\p{sc=Greek}]/gu;

/**
 * Returns the class of a character, such as `WORD`. The callers classify Han characters, Hangul syllables and
 * regional indicators without it.
 */
export function classOf(character: string): number {
  const code = character.codePointAt(0)!;
  if (code === 0x200d) return JOINER;
  if (/^[\p{Z}\p{Cc}\u200b\ufeff]$/u.test(character)) return SPACING;
  // \p{Cf} matches soft hyphens and similar characters. Variation selectors are \p{Mn}, like ordinary marks,
  // so they are recognised by their range.
  if ((code >= 0xfe00 && code <= 0xfe0f) || /^\p{Cf}$/u.test(character)) return DROPPED;
  if (/^\p{M}$/u.test(character) || isJamoTail(code)) return MARK;
  if (code < 0x80) return /^[a-z0-9]$/i.test(character) ? WORD : WORD_SEPARATOR;
  if (character.normalize('NFC') !== character) return UNCOMPOSED;
  if (/^[\p{Extended_Pictographic}\p{Emoji_Modifier}\p{So}]$/u.test(character)) return SINGLE;
  if (/^[\p{P}\p{S}]$/u.test(character)) return WORD_SEPARATOR;
  return /^[\p{L}\p{Nl}]$/u.test(character) && UNSPACED.test(character) ? SINGLE : WORD;
}

export function foldOf(character: string, accents: Accents): number {
  const lower = lowerOf(character);
  if (accents === 'kept' || lower < 0x80) return lower;
  // Only Latin and Greek letters lose their accents. In other scripts, a letter such as the Cyrillic short i
  // is not an accented form of another letter.
  const [base = '', ...marks] = String.fromCharCode(lower).normalize('NFD');
  const accented =
    /^[\p{sc=Latin}\p{sc=Greek}]$/u.test(base) && marks.every(m => isAccent(m.charCodeAt(0)));
  return accented ? base.charCodeAt(0) : lower;
}

/**
 * Returns the lower case of a character as one UTF-16 code unit. Final sigma and long s become the usual
 * sigma and s.
 */
function lowerOf(character: string): number {
  const upper = character.toUpperCase();
  // The upper case of a dotless i is I, which would become an i. The dotless i is a different letter, so it
  // is not converted to upper case first.
  const from = upper.length === 1 && character !== 'ı' ? upper : character;
  return from.toLowerCase().charCodeAt(0);
}
