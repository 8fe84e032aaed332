/**
 * Flags for what a UTF-16 unit can be in the text of a rule: the start of a word, a later part of a word, or
 * white space. A word starts with a digit or with anything that is not punctuation. After its start, a word
 * may contain most punctuation.
 */
const START = 1;
const PART = 2;
const SPACE = 4;

const ASCII = new Uint8Array(0x80);
for (let unit = 0x21; unit < 0x7f; unit++) ASCII[unit] = PART;
for (let unit = 0x30; unit <= 0x39; unit++) ASCII[unit] = START | PART;
for (let unit = 0x41; unit <= 0x5a; unit++) ASCII[unit] = START | PART;
for (let unit = 0x61; unit <= 0x7a; unit++) ASCII[unit] = START | PART;
for (const character of '":()[]') ASCII[character.charCodeAt(0)] = 0;
for (const character of ' \t\n\v\f\r') ASCII[character.charCodeAt(0)] = SPACE;

export function isRuleSpace(unit: number): boolean {
  return unit < 0x80 ? (ASCII[unit]! & SPACE) !== 0 : /\s/.test(String.fromCharCode(unit));
}

/**
 * Returns whether a word starts at this position. A `#` or `*` starts a word only if it is the base of a
 * keycap emoji.
 */
export function startsWord(text: string, at: number): boolean {
  return isWordStart(text.charCodeAt(at)) || isKeycap(text, at);
}

/**
 * Returns whether a keycap emoji such as `#️⃣` starts at this position, with or without a variation selector.
 */
export function isKeycap(text: string, at: number): boolean {
  const mark = text.charCodeAt(at + 1) === 0xfe0f ? at + 2 : at + 1;
  return text.charCodeAt(mark) === 0x20e3 && /[0-9#*]/.test(text[at]!);
}

export function isWordStart(unit: number): boolean {
  if (unit < 0x80) return (ASCII[unit]! & START) !== 0;
  if (unit < 0xc0 || isRuleSpace(unit)) return false;
  if (unit >= 0x2b0 && unit <= 0x37f) return false;
  if (unit >= 0x2000 && unit <= 0x2bff) return EMOJI.test(String.fromCharCode(unit));
  return unit < 0xff00 || unit > 0xff0f || unit === 0xff04;
}

function isWordPart(unit: number): boolean {
  return unit < 0x80 ? (ASCII[unit]! & PART) !== 0 : !isRuleSpace(unit);
}

/** Tells emoji from the punctuation and other symbols between U+2000 and U+2BFF. */
const EMOJI = /^\p{Emoji}$/u;

export function wordEnd(text: string, at: number): number {
  let end = at;
  while (end < text.length && isWordPart(text.charCodeAt(end))) end++;
  return end;
}

/** Returns whether the whole text is one word, so that it can be a keyword or an unquoted value. */
export function isWord(text: string): boolean {
  return text !== '' && startsWord(text, 0) && wordEnd(text, 1) === text.length;
}
