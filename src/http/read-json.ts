import { DataError } from '../base/errors.js';
import { isRecord } from '../base/record.js';
import { redact } from '../base/secret.js';
import { parseExact } from '../json/exact-ids.js';
import { excerpt } from '../json/excerpt.js';
import type { HttpResponse } from './http-message.js';

/** The default maximum size of a response body, in bytes. */
const MAX_BYTES = 64 * 1024 * 1024;
/** How many characters of a body are shown if it is not JSON. */
const MAX_SHOWN = 120;

export async function readText(response: HttpResponse, maxBytes = MAX_BYTES): Promise<string> {
  const chunks: Buffer[] = [];
  let bytes = 0;
  for await (const chunk of response.body) {
    bytes += chunk.length;
    if (bytes > maxBytes)
      throw new DataError(`The response is larger than ${maxBytes} bytes`, {
        position: { origin: response.url },
      });
    chunks.push(chunk);
  }
  return Buffer.concat(chunks).toString();
}

/**
 * Reads the whole body and parses it as JSON. Ids keep all of their digits. If the JSON is truncated, throws
 * a retryable error.
 */
export async function readJson(response: HttpResponse, maxBytes?: number): Promise<unknown> {
  const text = await readText(response, maxBytes);
  try {
    return parseExact(text);
  } catch (cause) {
    throw notJson(response, text, cause);
  }
}

/**
 * Creates the error for a body that is not JSON. If the body begins like JSON, it may be truncated, so the
 * error is retryable. Any other body comes from another program, such as the error page of a proxy.
 */
export function notJson({ url, headers }: HttpResponse, text: string, cause: unknown): DataError {
  const position = { origin: url };
  if (/^\s*([[{]|$)/.test(text))
    return new DataError('The response is cut short, or is not JSON', {
      cause,
      position,
      retryable: true,
    });
  const type = headers['content-type'] ?? 'missing';
  const start = excerpt(text.trim(), MAX_SHOWN);
  return new DataError(
    `The response is not JSON: its content-type is ${type}, and it begins with ${start}`,
    { cause, position },
  );
}

/**
 * Reads the members of a JSON object of the service, and checks their types. A member that is `null` counts
 * as absent.
 */
export class JsonMembers {
  readonly #members: Readonly<Record<string, unknown>>;
  readonly #what: string;
  readonly #origin: string;

  /** @throws DataError if the value is not an object. The message uses `what`, such as "a job". */
  constructor(value: unknown, what: string, origin: string) {
    this.#what = what;
    this.#origin = origin;
    if (!isRecord(value))
      throw new DataError(`The response is not ${what}: it is not a JSON object`, {
        position: { origin },
      });
    this.#members = value;
  }

  text(name: string): string | undefined {
    const value = this.#get(name);
    if (value === undefined || typeof value === 'string') return value;
    if (typeof value === 'number') return String(value);
    return this.refuse(name, 'a string');
  }

  needText(name: string): string {
    return this.text(name) ?? this.refuse(name, 'a string');
  }

  /** Returns a number. The member may also be a string of digits. */
  number(name: string): number | undefined {
    const value = this.#get(name);
    if (value === undefined || typeof value === 'number') return value;
    const number = typeof value === 'string' && value.trim() !== '' ? Number(value) : Number.NaN;
    return Number.isFinite(number) ? number : this.refuse(name, 'a number');
  }

  needNumber(name: string): number {
    return this.number(name) ?? this.refuse(name, 'a number');
  }

  has(name: string): boolean {
    return this.#get(name) !== undefined;
  }

  flag(name: string): boolean {
    return this.#get(name) === true;
  }

  object(name: string): JsonMembers | undefined {
    const value = this.#get(name);
    return value === undefined ? undefined : this.#within(name, value);
  }

  /** Returns a list of objects. The list is empty if the member is absent. */
  objects(name: string): JsonMembers[] {
    return this.#list(name).map((value, index) => this.#within(`${name}[${index}]`, value));
  }

  /** Returns a list of strings. The list is empty if the member is absent. */
  texts(name: string): string[] {
    return this.#list(name).map(value =>
      typeof value === 'string' ? value : this.refuse(name, 'a list of strings'),
    );
  }

  /** @throws DataError always */
  refuse(name: string, expected: string): never {
    const value = this.#get(name);
    // Removes the query of a URL, because it may be a signature that gives access to a file.
    const json = JSON.stringify(value)?.replace(/\?[^"\s]*/g, '?...');
    const shown = json && redact(json).slice(0, 80);
    const found = shown === undefined ? 'is missing' : `is ${shown}`;
    throw new DataError(
      `The response is not ${this.#what}: its \`${name}\` should be ${expected}, and ${found}`,
      { position: { origin: this.#origin } },
    );
  }

  #get(name: string): unknown {
    const value = Object.hasOwn(this.#members, name) ? this.#members[name] : undefined;
    return value ?? undefined;
  }

  #list(name: string): readonly unknown[] {
    const value = this.#get(name) ?? [];
    return Array.isArray(value) ? value : this.refuse(name, 'a list');
  }

  #within(name: string, value: unknown): JsonMembers {
    return new JsonMembers(value, `${this.#what} (\`${name}\` in it)`, this.#origin);
  }
}
