import { DataError } from '../errors.js';
import { bufferOf } from './buffer-of.js';
import { excerpt } from './excerpt.js';
import { jsonText } from './json-text.js';
import { quoteIntegers } from './quote-integers.js';

/**
 * `JSON.parse` that keeps 64-bit ids exact: an integer becomes a string of its digits where its key is
 * `id` or ends in `_id`, or where it has 16 digits or more.
 *
 * @throws DataError When the text is not JSON.
 * @example parseExact('{"id":1050118621198921728,"n":1}') // { id: '1050118621198921728', n: 1 }
 */
export function parseExact(json: string | Uint8Array): unknown {
  const text = typeof json === 'string' ? json : jsonText(json);
  return parseJson(quoteIntegers(text, isExact), json);
}

/** Whether the digits of an integer must be kept: it is an id by its key, or too long for a double. */
export function isExact(digits: string, key: string | undefined): boolean {
  return isLong(digits) || key === 'id' || key?.endsWith('_id') === true;
}

/** Whether an integer has 16 digits or more; doubles lose digits of some of these. */
export function isLong(digits: string): boolean {
  return digits.length > 16 || (digits.length === 16 && !digits.startsWith('-'));
}

/**
 * `JSON.parse` with a `DataError` that shows the start of the document.
 *
 * @param original The document before it was changed for parsing, for the message.
 * @throws DataError When the text is not JSON.
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
