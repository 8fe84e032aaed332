import { createHash, createHmac, timingSafeEqual } from 'node:crypto';
import type { Window } from '../../time.js';
import type { SortKey } from '../archive/archive.js';

/**
 * The content of a `next`. The service keeps no state for it, so it never expires and always gives the
 * same page.
 */
export interface NextToken {
  /**
   * The time of the request for the first page, which decides which posts are old enough to be found.
   */
  readonly asOf: number;
  /** The window as resolved then. */
  readonly window: Window;
  /** The next page begins strictly after this post. */
  readonly after: SortKey;
  /** A digest of the other parts of the request. */
  readonly request: string;
}

const SIGNATURE_BYTES = 16;

/**
 * Encodes and decodes signed tokens. Their key derives from the seed, so that they stay valid after a
 * restart.
 */
export function createNextTokens(seed: string | number) {
  const key = createHash('sha256').update(`next ${seed}`).digest();
  const sign = (payload: Uint8Array) =>
    createHmac('sha256', key).update(payload).digest().subarray(0, SIGNATURE_BYTES);
  return {
    encode({ asOf, window, after, request }: NextToken): string {
      const fields = [asOf, window.from, window.to, after.at, after.id, request];
      const payload = Buffer.from(JSON.stringify(fields));
      return Buffer.concat([sign(payload), payload]).toString('base64');
    },
    /** `undefined` for any text except the result of `encode` with the same seed. */
    decode(text: string): NextToken | undefined {
      const bytes = Buffer.from(text, 'base64');
      const payload = bytes.subarray(SIGNATURE_BYTES);
      const signature = bytes.subarray(0, SIGNATURE_BYTES);
      // Base64 decoding ignores invalid characters, but only the exact text is valid.
      if (signature.length < SIGNATURE_BYTES || bytes.toString('base64') !== text) return undefined;
      if (!timingSafeEqual(signature, sign(payload))) return undefined;
      const [asOf, from, to, at, id, request] = JSON.parse(payload.toString()) as [
        number,
        number,
        number,
        number,
        string,
        string,
      ];
      return { asOf, window: { from, to }, after: { at, id }, request };
    },
  };
}

/** The digest of the parts of a request, as JSON. */
export function requestDigest(parts: readonly unknown[]): string {
  return createHash('sha256').update(JSON.stringify(parts)).digest('base64url').slice(0, 16);
}
