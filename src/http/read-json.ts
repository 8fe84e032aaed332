import { DataError } from '../base/errors.js';
import { parseExact } from '../json/exact-json.js';
import { excerpt } from '../json/excerpt.js';
import type { HttpResponse } from './http-message.js';

/** More than any response but the longest list of files. */
const MAX_BYTES = 64 * 1024 * 1024;
/** Characters of a body that is not JSON to show. */
const MAX_SHOWN = 120;

/** The whole body as text. */
export async function readText(response: HttpResponse, maxBytes = MAX_BYTES): Promise<string> {
  const chunks: Buffer[] = [];
  let bytes = 0;
  for await (const chunk of response.body) {
    bytes += chunk.length;
    if (bytes > maxBytes)
      throw new DataError(`The response is larger than ${maxBytes} bytes`, {
        position: { origin: response.url },
      });
    chunks.push(chunk);
  }
  return Buffer.concat(chunks).toString();
}

/** The whole body as JSON, with exact ids. The error of one that is cut short is retryable. */
export async function readJson(response: HttpResponse, maxBytes?: number): Promise<unknown> {
  const text = await readText(response, maxBytes);
  try {
    return parseExact(text);
  } catch (cause) {
    throw notJson(response, text, cause);
  }
}

/**
 * The error of a body that is not JSON. A body that does not begin as JSON comes from something else, such
 * as a proxy with an error page; any other may have been cut short, so its error is retryable.
 */
export function notJson({ url, headers }: HttpResponse, text: string, cause: unknown): DataError {
  const position = { origin: url };
  if (/^\s*([[{]|$)/.test(text))
    return new DataError('The response is cut short, or is not JSON', {
      cause,
      position,
      retryable: true,
    });
  const type = headers['content-type'] ?? 'missing';
  const start = excerpt(text.trim(), MAX_SHOWN);
  return new DataError(
    `The response is not JSON: its content-type is ${type}, and it begins with ${start}`,
    { cause, position },
  );
}
