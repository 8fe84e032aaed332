import { inspect } from 'node:util';

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

/**
 * Returns the base64 of a secret with `before` other bytes in front of it, without the characters
 * that also depend on the other bytes. Three more bytes in front give the same text, so the numbers
 * 0, 1 and 2 cover all positions.
 */
function inBase64(secret: string, before: number): string {
  const bytes = Buffer.concat([Buffer.alloc(before), Buffer.from(secret)]);
  const whole = Math.floor(bytes.length / 3) * 4;
  return bytes.toString('base64').slice(before === 0 ? 0 : 4, whole);
}

export function show(what: string, value: unknown): void {
  console.log(what, value);
  console.error(inspect(value, { depth: 12, showHidden: true, getters: true }));
  console.log(String(value), JSON.stringify(value, circularAsText()));
  for (let error = value; error instanceof Error; error = error.cause)
    console.log(
      error.stack,
      error.message,
      JSON.stringify(error, Object.getOwnPropertyNames(error)),
    );
}

function circularAsText() {
  const seen = new Set<unknown>();
  return (_: string, value: unknown) => {
    if (typeof value === 'bigint') return String(value);
    if (typeof value !== 'object' || value === null) return value;
    if (seen.has(value)) return '[seen]';
    seen.add(value);
    return value;
  };
}
