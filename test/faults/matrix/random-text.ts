import { createCipheriv, createHash } from 'node:crypto';

/** Text of that many bytes, the same for the same seed, which gzip makes a quarter smaller. */
export function randomText(seed: string, bytes: number): string {
  const key = createHash('sha256').update(seed).digest();
  const cipher = createCipheriv('aes-256-ctr', key, Buffer.alloc(16));
  return cipher.update(Buffer.alloc((bytes * 3) / 4)).toString('base64');
}
