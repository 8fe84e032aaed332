import { redact } from '../base/secret.js';

/** How many characters of a document are shown. */
const MAX_SHOWN = 80;
/**
 * How many characters are searched for secrets. This is more than `MAX_SHOWN`, so that a secret that begins
 * before the cut and ends after it is found as well.
 */
const MAX_SEARCHED = 4_096;

/** Returns the first characters of a document for an error message, as a JSON string without secrets. */
export function excerpt(document: Uint8Array | string, maxShown = MAX_SHOWN): string {
  const text =
    typeof document === 'string'
      ? document.slice(0, MAX_SEARCHED)
      : Buffer.from(document.subarray(0, MAX_SEARCHED)).toString();
  return JSON.stringify(redact(text).slice(0, maxShown));
}
