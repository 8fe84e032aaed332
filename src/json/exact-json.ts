import { DataError } from '../errors.js';
import { decodeUtf8 } from './decode-utf8.js';
import { excerpt } from './excerpt.js';
import { quoteIntegers } from './quote-integers.js';

/**
 * `JSON.parse` that keeps 64-bit ids: a whole number becomes a string of its very digits where its
 * key is `id` or ends in `_id`, or where it has 16 digits or more. All else is as usual.
 *
 * @throws DataError when the text is not JSON.
 * @example parseExact('{"id":1050118621198921728,"n":1}') // { id: '1050118621198921728', n: 1 }
 */
export function parseExact(json: string | Uint8Array): unknown {
  const text = typeof json === 'string' ? json : decodeUtf8(json);
  const exact = quoteIntegers(
    text,
    (digits, key) => isLong(digits) || key === 'id' || key?.endsWith('_id') === true,
  );
  return parseJson(exact, text);
}

/** Whether a number would lose digits, or nearly: all with 16 or more, so that the rule is plain. */
export function isLong(digits: string): boolean {
  return digits.length > 16 || (digits.length === 16 && !digits.startsWith('-'));
}

/**
 * `JSON.parse` with an error that says where the trouble is.
 *
 * @param original the text before it was changed for parsing: what a message shows
 * @throws DataError when the text is not JSON.
 */
export function parseJson(text: string, original: string = text): unknown {
  try {
    return JSON.parse(text);
  } catch (error) {
    const cause = syntaxError(original) ?? error;
    const reason = cause instanceof Error ? cause.message : String(cause);
    throw new DataError(`Not JSON: ${reason}. It starts with ${excerpt(original)}`, { cause });
  }
}

function syntaxError(text: string): unknown {
  try {
    JSON.parse(text);
    return undefined;
  } catch (error) {
    return error;
  }
}
