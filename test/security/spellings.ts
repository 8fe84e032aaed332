/** How a secret may be written: as it is, encoded, or in base64 behind any other text, such as `email:password`. */
export function spellings(secret: string): string[] {
  return [
    secret,
    encodeURIComponent(secret),
    encodeURIComponent(encodeURIComponent(secret)),
    JSON.stringify(secret).slice(1, -1),
    ...[0, 1, 2].map(before => inBase64(secret, before)),
    Buffer.from(secret).toString('base64url'),
    Buffer.from(secret).toString('hex'),
  ];
}

/** The characters of base64 that say nothing but the secret, behind a text of `before` bytes more than a multiple of three. */
function inBase64(secret: string, before: number): string {
  const bytes = Buffer.concat([Buffer.alloc(before), Buffer.from(secret)]);
  const whole = Math.floor(bytes.length / 3) * 4;
  return bytes.toString('base64').slice(before === 0 ? 0 : 4, whole);
}
