import { DataError } from '../errors.js';

/**
 * `JSON.parse` that keeps 64-bit ids: a whole number becomes a string of its very digits where its
 * key is `id` or ends in `_id`, or where it has 16 digits or more. Whatever else is as usual.
 *
 * @throws DataError when the text is not JSON; shows its beginning.
 * @example parseExact('{"id":1050118621198921728,"n":1}') // { id: '1050118621198921728', n: 1 }
 */
export function parseExact(json: string | Uint8Array): unknown {
  const text = typeof json === 'string' ? json : Buffer.from(json).toString();
  try {
    return JSON.parse(text.replace(TOKEN, exactToken));
  } catch (error) {
    const reason = error instanceof Error ? error.message : String(error);
    throw new DataError(`Not JSON: ${reason}. It starts with: ${text.slice(0, 80)}`, {
      cause: error,
    });
  }
}

/** A string, with the number that follows it if it is a key; or a number. */
const TOKEN =
  /("[^"\\]*(?:\\.[^"\\]*)*")(?:(\s*:\s*)(-?\d+)(?![\d.eE]))?|(-?\d+(?:\.\d+)?(?:[eE][+-]?\d+)?)/gs;

function exactToken(
  token: string,
  string: string | undefined,
  colon: string | undefined,
  value: string | undefined,
  number: string | undefined,
): string {
  if (number !== undefined) return isLong(number) ? `"${number}"` : token;
  if (string === undefined || value === undefined) return token;
  return isLong(value) || /^(?:.*_)?id$/s.test(String(JSON.parse(string)))
    ? `${string}${colon}"${value}"`
    : token;
}

function isLong(number: string): boolean {
  return /^-?\d{16,}$/.test(number);
}
