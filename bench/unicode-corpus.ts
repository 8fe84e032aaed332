import { Buffer } from 'node:buffer';

/**
 * A source of posts in Japanese, Chinese, Korean, Arabic, Hindi and English, with emoji. Four of
 * five posts have non-ASCII text, one third are in Japanese, and one third contain about 20 `\u`
 * escapes. Most posts have up to 140 characters, and one in thirty has about 25 KB.
 */
export class UnicodeCorpus {
  #state: number;
  #escapes = 0;

  constructor(seed: number) {
    this.#state = seed;
  }

  /**
   * Returns a post with other text, names, locations and descriptions, all in one script. Each
   * string keeps its number of characters, but in a long post the text grows to about `LONG` bytes.
   */
  line(post: Buffer): Buffer {
    const script = this.#of(SCRIPTS);
    this.#escapes = this.#below(12) < 5 ? 16 + this.#below(9) : 0;
    const isLong = this.#below(30) === 0;
    const line = post
      .toString()
      .replace(
        /"(text|full_text|name|location|description)":"((?:[^"\\]|\\.)*)"/g,
        (_, key, old) => {
          const isText = isLong && old.length > 40 && key !== 'description';
          return `"${key}":"${this.#text(script, isText ? LONG / script.bytes : old.length)}"`;
        },
      );
    return Buffer.from(line);
  }

  #text(script: Script, characters: number): string {
    let text = '';
    for (let left = characters; left > 0; left--) {
      const roll = this.#below(100);
      if (roll < script.emoji) text += this.#character(0x1f600, 64);
      else if (roll < script.emoji + script.spaces) text += ' ';
      else if (roll < 24) text += this.#of(ASCII);
      else {
        const [first, count] = this.#of(script.letters);
        text += this.#character(first, count);
      }
    }
    return text;
  }

  #character(first: number, count: number): string {
    const character = String.fromCodePoint(first + this.#below(count));
    if (first < 0x80 || this.#escapes === 0 || this.#below(4) > 0) return character;
    this.#escapes--;
    return character
      .split('')
      .map(unit => `\\u${unit.charCodeAt(0).toString(16).padStart(4, '0')}`)
      .join('');
  }

  #of<T>(list: readonly T[]): T {
    return list[this.#below(list.length)] as T;
  }

  #below(limit: number): number {
    this.#state = (Math.imul(this.#state, 1664525) + 1013904223) >>> 0;
    return Math.floor((this.#state / 2 ** 32) * limit);
  }
}

/** The length in bytes of each replaced text in a long post. */
const LONG = 9_000;

interface Script {
  /** Ranges of code points. Each range is given by its start and its length. */
  readonly letters: readonly (readonly [number, number])[];
  /** The number of spaces and of emoji among 100 characters. */
  readonly spaces: number;
  readonly emoji: number;
  readonly bytes: number;
}

const KANA = [0x3041, 80] as const;
const KATAKANA = [0x30a1, 80] as const;
const HAN = [0x4e00, 3_000] as const;
const JAPANESE: Script = {
  letters: [KANA, KANA, KATAKANA, HAN, HAN],
  spaces: 1,
  emoji: 4,
  bytes: 2.7,
};
const CHINESE: Script = { letters: [HAN], spaces: 1, emoji: 4, bytes: 2.7 };
const KOREAN: Script = { letters: [[0xac00, 2_300]], spaces: 15, emoji: 4, bytes: 2.4 };
const ARABIC: Script = { letters: [[0x0627, 36]], spaces: 15, emoji: 4, bytes: 1.8 };
const HINDI: Script = { letters: [[0x0905, 70]], spaces: 15, emoji: 4, bytes: 2.4 };
const ENGLISH: Script = { letters: [[0x61, 26]], spaces: 16, emoji: 0, bytes: 1 };
/** Each post draws one entry, so a script that is listed more often is more frequent. */
const SCRIPTS = [
  ...[JAPANESE, JAPANESE, JAPANESE, JAPANESE, JAPANESE],
  ...[CHINESE, KOREAN, ARABIC, ARABIC, HINDI, HINDI, HINDI],
  ...[ENGLISH, ENGLISH, ENGLISH],
];
const ASCII = '0123456789.,!:-#ABCDEFGHabcdefgh'.split('');
