import { createHash, timingSafeEqual } from 'node:crypto';

export interface Credentials {
  readonly email: string;
  readonly password: string;
}

/** Whether an `Authorization` header carries these credentials (HTTP Basic, service.md section 5). */
export function isAuthorized(
  header: string | undefined,
  { email, password }: Credentials,
): boolean {
  const encoded = /^basic +([a-z0-9+/=_-]+) *$/i.exec(header ?? '')?.[1] ?? '';
  const given = Buffer.from(encoded, 'base64');
  // Digests have one length, so that the time taken tells nothing of the password.
  return timingSafeEqual(digest(given), digest(Buffer.from(`${email}:${password}`)));
}

function digest(bytes: Uint8Array): Buffer {
  return createHash('sha256').update(bytes).digest();
}
