import { redact } from '../base/secret.js';

/** The number of characters of a document that are shown. */
const MAX_SHOWN = 80;
/**
 * The number of characters that are searched for secrets. More than `MAX_SHOWN`, so that a secret at the cut
 * is found completely.
 */
const MAX_SEARCHED = 4_096;

/** The first characters of a document for an error message, as a JSON string, without secrets. */
export function excerpt(document: Uint8Array | string, maxShown = MAX_SHOWN): string {
  const text =
    typeof document === 'string'
      ? document.slice(0, MAX_SEARCHED)
      : Buffer.from(document.subarray(0, MAX_SEARCHED)).toString();
  return JSON.stringify(redact(text).slice(0, maxShown));
}
