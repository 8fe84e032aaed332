import { DataError } from '../base/errors.js';
import { bufferOf, COMMA, isOpening, QUOTE } from './byte-codes.js';
import { excerpt } from './excerpt.js';
import { jsonText } from './json-text.js';

/**
 * Parses JSON like `JSON.parse`, but keeps 64-bit ids exact. An integer becomes a string of digits if its key
 * is `id` or ends in `_id`, or if it has 16 digits or more.
 *
 * @throws DataError If the text is not JSON.
 * @example parseExact('{"id":1050118621198921728,"n":1}') // { id: '1050118621198921728', n: 1 }
 */
export function parseExact(json: string | Uint8Array): unknown {
  const text = typeof json === 'string' ? json : jsonText(json);
  return parseJson(quoteIntegers(text, isExact), json);
}

/**
 * Whether all digits of an integer must be kept: its key names an id, or a double may be unable to hold them.
 */
function isExact(digits: string, key: string | undefined): boolean {
  return isLong(digits) || key === 'id' || key?.endsWith('_id') === true;
}

/** Whether an integer has 16 digits or more. A double cannot keep the digits of every such integer. */
export function isLong(digits: string): boolean {
  return digits.length > 16 || (digits.length === 16 && !digits.startsWith('-'));
}

/**
 * Parses JSON text. If the text is not JSON, throws a `DataError` that shows the start of the original
 * document.
 *
 * @param original The document as it was before its text was changed for parsing. Only the error uses it.
 * @throws DataError if the text is not JSON.
 */
export function parseJson(text: string, original: string | Uint8Array = text): unknown {
  try {
    return JSON.parse(text);
  } catch (error) {
    const cause = syntaxError(original) ?? error;
    const reason = cause instanceof Error ? cause.message : String(cause);
    throw new DataError(`Not JSON: ${reason}. It starts with ${excerpt(original)}`, { cause });
  }
}

function syntaxError(json: string | Uint8Array): unknown {
  try {
    JSON.parse(typeof json === 'string' ? json : bufferOf(json).toString());
    return undefined;
  } catch (error) {
    return error;
  }
}

const INTEGER = /-?(?:0|[1-9]\d*)(?![\d.eE])/y;

/**
 * Puts quotes around integers in JSON text, so that `JSON.parse` keeps their digits. `chosen` selects the
 * integers by their digits and their key. In an array, the key is `undefined`. Invalid JSON stays invalid.
 */
export function quoteIntegers(
  text: string,
  chosen: (digits: string, key: string | undefined) => boolean,
): string {
  let quoted = '';
  let copied = 0;
  let key: string | undefined;
  for (let at = 0; at < text.length; at++) {
    const code = text.charCodeAt(at);
    if (code === QUOTE) {
      const end = closingQuote(text, at);
      key = text.slice(at, end + 1);
      at = end;
    } else if (code === 0x2d || (code >= 0x30 && code <= 0x39)) {
      INTEGER.lastIndex = at;
      const digits = INTEGER.exec(text)?.[0];
      const end = digits === undefined ? afterNumber(text, at) : at + digits.length;
      const isChosen =
        digits !== undefined && chosen(digits, key === undefined ? key : decode(key));
      if (isChosen && !isKey(text, end)) {
        quoted += `${text.slice(copied, at)}"${digits}"`;
        copied = end;
      }
      at = end - 1;
    } else if (code === COMMA || isOpening(code)) {
      key = undefined;
    }
  }
  return copied === 0 ? text : quoted + text.slice(copied);
}

/**
 * Whether a colon follows the integer that ends at `end`. Such an integer is an invalid key. If it were put
 * in quotes, invalid JSON would become valid.
 */
function isKey(text: string, end: number): boolean {
  let at = end;
  while (/[ \t\n\r]/.test(text.charAt(at))) at++;
  return text.charAt(at) === ':';
}

function closingQuote(text: string, opening: number): number {
  for (let at = opening + 1; ; ) {
    const quote = text.indexOf('"', at);
    if (quote === -1) return text.length;
    let start = quote;
    while (text[start - 1] === '\\') start--;
    // The quote is not escaped if the number of backslashes before it is even.
    if ((quote - start) % 2 === 0) return quote;
    at = quote + 1;
  }
}

function afterNumber(text: string, start: number): number {
  let at = start + 1;
  while (/[-+.\deE]/.test(text.charAt(at))) at++;
  return at;
}

/**
 * Decodes a key. Returns it unchanged if it is not a JSON string. The whole text is then not JSON, which is
 * detected later.
 */
function decode(key: string): string {
  if (!key.includes('\\')) return key.slice(1, -1);
  try {
    return JSON.parse(key);
  } catch {
    return key;
  }
}
