import { parseExact } from '../activity/exact-json.js';
import { DataError } from '../errors.js';
import type { Answer } from './exchange.js';

/** The listing of a job over ten years has half a million addresses. */
const MOST_BYTES = 256 * 1024 * 1024;

/** The whole body as text. */
export async function readText(answer: Answer): Promise<string> {
  const chunks: Buffer[] = [];
  let bytes = 0;
  for await (const chunk of answer.body) {
    bytes += chunk.length;
    if (bytes > MOST_BYTES)
      throw new DataError(`The answer is larger than ${MOST_BYTES} bytes`, {
        place: { origin: answer.url },
      });
    chunks.push(chunk);
  }
  return Buffer.concat(chunks).toString();
}

/** The whole body as JSON, with exact ids. One that is not JSON may have been cut: worth a retry. */
export async function readJson(answer: Answer): Promise<unknown> {
  const text = await readText(answer);
  try {
    return parseExact(text);
  } catch (cause) {
    throw new DataError('The answer is cut short, or is not JSON', {
      cause,
      place: { origin: answer.url },
      retryable: true,
    });
  }
}
