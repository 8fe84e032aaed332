import { inspect } from 'node:util';

const REDACTED = '[redacted]';

/**
 * A password or key. It prints as redacted in strings, logs, `util.inspect` and JSON; only `reveal`
 * returns it.
 *
 * @example
 * const password = new Secret('...');
 * console.log(`${password}`, password.reveal().length); // [redacted] 3
 */
export class Secret {
  readonly #value: string;

  constructor(value: string) {
    this.#value = value;
  }

  reveal(): string {
    return this.#value;
  }

  toString(): string {
    return REDACTED;
  }

  toJSON(): string {
    return REDACTED;
  }

  [inspect.custom](): string {
    return REDACTED;
  }
}

/**
 * Returns a function that removes these secrets from a text, in every encoding that they have in requests: a
 * server may echo what it was sent.
 */
export function redactor(
  email: string | undefined,
  secrets: readonly Secret[],
): (text: string) => string {
  const spellings = secrets.flatMap(secret => {
    const plain = secret.reveal();
    const pair = email === undefined ? [] : [`${email}:${plain}`];
    return [plain, ...pair].flatMap(spellingsOf);
  });
  // The longest first, or a short one would leave parts of a long one.
  const ordered = [...new Set(spellings)].sort((a, b) => b.length - a.length);
  return text => ordered.reduce((rest, spelling) => rest.replaceAll(spelling, REDACTED), text);
}

function spellingsOf(text: string): string[] {
  const bytes = Buffer.from(text);
  const percent = encodeURIComponent(text);
  const base64 = bytes.toString('base64');
  return [
    text,
    percent,
    percent.replaceAll('%20', '+'),
    percent.replace(/%[0-9A-F]{2}/g, code => code.toLowerCase()),
    // Every byte escaped, as some proxies do.
    [...bytes].map(byte => `%${byte.toString(16).padStart(2, '0').toUpperCase()}`).join(''),
    JSON.stringify(text).slice(1, -1),
    base64,
    base64.replace(/=+$/, ''),
    encodeURIComponent(base64),
    bytes.toString('base64url'),
    bytes.toString('hex'),
  ];
}

/** An address without its query, which may have a signature. */
export function urlForMessages(url: URL): string {
  return `${url.origin}${url.pathname}${url.search === '' ? '' : '?...'}`;
}
