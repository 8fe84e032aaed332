import { createHash, createHmac, timingSafeEqual } from 'node:crypto';
import type { Window } from '../../time.js';
import type { SortKey } from '../archive/archive.js';

/**
 * What a `next` carries. It needs nothing that the service would have to remember: it never expires,
 * and always gives the same page (service.md 4.1 rule 5).
 */
export interface NextToken {
  /** When the first page was asked for: decides which posts are old enough to be found. */
  readonly asOf: number;
  /** The dates as resolved then. */
  readonly window: Window;
  /** The next page begins strictly after this place. */
  readonly place: SortKey;
  /** A digest of all else that the request says. */
  readonly request: string;
}

export interface NextTokens {
  encode(token: NextToken): string;
  /** `undefined` for anything that `encode` did not make with the same seed. */
  decode(text: string): NextToken | undefined;
}

const SIGNATURE_BYTES = 16;

/** Makes and reads signed tokens; the key comes from the seed, so they outlive the process. */
export function createNextTokens(seed: string | number): NextTokens {
  const key = createHash('sha256').update(`next ${seed}`).digest();
  const sign = (payload: Uint8Array) =>
    createHmac('sha256', key).update(payload).digest().subarray(0, SIGNATURE_BYTES);
  return {
    encode({ asOf, window, place, request }) {
      const fields = [asOf, window.from, window.to, place.at, place.id, request];
      const payload = Buffer.from(JSON.stringify(fields));
      return Buffer.concat([sign(payload), payload]).toString('base64');
    },
    decode(text) {
      const bytes = Buffer.from(text, 'base64');
      const payload = bytes.subarray(SIGNATURE_BYTES);
      const signature = bytes.subarray(0, SIGNATURE_BYTES);
      // Decoding overlooks stray characters; the token is one exact text.
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
      return { asOf, window: { from, to }, place: { at, id }, request };
    },
  };
}

/** The digest of a request's parts, which are JSON. */
export function requestDigest(parts: readonly unknown[]): string {
  return createHash('sha256').update(JSON.stringify(parts)).digest('base64url').slice(0, 16);
}
