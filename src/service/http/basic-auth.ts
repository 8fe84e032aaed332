import { createHash, timingSafeEqual } from 'node:crypto';

export interface Credentials {
  readonly email: string;
  readonly password: string;
}

/** Whether an `Authorization` header carries these credentials (HTTP Basic). */
export function isAuthorized(header: string | undefined, right: Credentials): boolean {
  const encoded = /^basic +([a-z0-9+/=_-]+) *$/i.exec(header ?? '')?.[1] ?? '';
  return isSame(Buffer.from(encoded, 'base64'), right);
}

/** Whether a login has these credentials. */
export function isLogin({ email, password }: Credentials, right: Credentials): boolean {
  // An email has no colon, which ends the user name in HTTP Basic.
  return !email.includes(':') && isSame(Buffer.from(`${email}:${password}`), right);
}

/** Compares digests of equal length, so that the time does not depend on the password. */
function isSame(given: Uint8Array, { email, password }: Credentials): boolean {
  return timingSafeEqual(digest(given), digest(Buffer.from(`${email}:${password}`)));
}

function digest(bytes: Uint8Array): Buffer {
  return createHash('sha256').update(bytes).digest();
}
