import { createHash } from 'node:crypto';
import { checkValue, required, special, whole } from '../../base/check.js';

const RESERVED =
  /^(?:con|prn|aux|nul|conin\$|conout\$|clock\$|com[0-9¹²³]|lpt[0-9¹²³])(?= *(?:\.|$))/i;
const UNSAFE = /[\0-\x1f\x7f-\x9f"*/:<>?\\|%]|\p{Cs}/gu;
const HASH_LENGTH = 32;

export const MIN_NAME_BYTES = HASH_LENGTH + 8;

const TEXT = required(
  special<string>('the text to make a name of', 'a string', value => typeof value === 'string'),
);
const MAX_BYTES = required(whole('the bytes that a name may have', { min: MIN_NAME_BYTES }));

/**
 * Converts any string to a single safe file name. The result has no separators, control characters, or leading
 * or trailing dots. It is not a name that Windows reserves or that `files` uses. Unsafe characters are
 * percent-encoded as UTF-8. A name longer than `maxBytes` (200 by default) is truncated, and ends in `%~` and a
 * hash of the whole string. Different strings give different names, even on file systems that normalize
 * Unicode. Names keep their case. If the file system ignores case, `files` refuses a second output whose name
 * differs only in case.
 *
 * @throws OptionError For an argument that is not a string, and for a `maxBytes` below 40.
 * @example
 * safeName('../etc/passwd'); // '%2E.%2Fetc%2Fpasswd'
 */
export function safeName(text: string, maxBytes = 200): string {
  checkValue('safeName', 'text', TEXT, text);
  checkValue('safeName', 'maxBytes', MAX_BYTES, maxBytes);
  if (text === '') return '%';
  const encoded = encode(text);
  if (Buffer.byteLength(encoded) <= maxBytes) return encoded;
  const hash = createHash('sha256').update(encoded).digest('hex').slice(0, HASH_LENGTH);
  return `${cut(encoded, maxBytes - HASH_LENGTH - 2)}%~${hash}`;
}

function encode(text: string): string {
  // Some file systems treat the composed and the decomposed form of a character as the same name. Therefore,
  // characters in decomposed form are escaped.
  const foldable = text.normalize('NFC') !== text;
  return text
    .replace(UNSAFE, percent)
    .replace(/[^\0-\x7f]/gu, character => (foldable ? percent(character) : character))
    .replace(/^[. ]|[. ]$/g, percent)
    .replace(RESERVED, name => percent(name.charAt(0)) + name.slice(1))
    .replace(/\.(?=part$)/i, percent);
}

export function percent(character: string): string {
  const unit = character.charCodeAt(0);
  // A lone surrogate has no UTF-8 form, so the three bytes that would encode its code point are used.
  const bytes =
    character.length === 1 && unit >= 0xd800 && unit <= 0xdfff
      ? [0xe0 | (unit >> 12), 0x80 | ((unit >> 6) & 0x3f), 0x80 | (unit & 0x3f)]
      : [...Buffer.from(character)];
  return bytes.map(byte => `%${byte.toString(16).toUpperCase().padStart(2, '0')}`).join('');
}

/** Matches one character, either literal or as percent-encoded UTF-8 bytes. */
const CHARACTER = /%[0-7][\dA-F]|%[C-F][\dA-F](?:%[89AB][\dA-F])+|./gsu;

/** Truncates an encoded name to at most `maxBytes` bytes, without splitting a character. */
function cut(encoded: string, maxBytes: number): string {
  let end = 0;
  let bytes = 0;
  for (const [part] of encoded.matchAll(CHARACTER)) {
    bytes += Buffer.byteLength(part);
    if (bytes > maxBytes) break;
    end += part.length;
  }
  return encoded.slice(0, end);
}
