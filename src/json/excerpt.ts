import { redact } from '../base/secret.js';

const MAX_SHOWN = 80;
/**
 * How many characters are searched for secrets. Greater than `MAX_SHOWN`, because a secret that is cut off at
 * `MAX_SHOWN` would not be found.
 */
const MAX_SEARCHED = 4_096;

/** Returns the start of a document for error messages: without secrets, quoted as a JSON string. */
export function excerpt(document: Uint8Array | string, maxShown = MAX_SHOWN): string {
  const text =
    typeof document === 'string'
      ? document.slice(0, MAX_SEARCHED)
      : Buffer.from(document.subarray(0, MAX_SEARCHED)).toString();
  return JSON.stringify(redact(text).slice(0, maxShown));
}
