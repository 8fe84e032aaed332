import type { Writable } from 'node:stream';
import { spellings } from './security/secrets.js';

/** Passwords that the tests use. None of them may be printed. */
export const TEST_SECRETS = ['secret-password', 'canary pa55/word"'];

/**
 * Searches the output of a process for secrets, in every spelling and across the boundaries of
 * writes.
 */
export class OutputSearch {
  readonly #spellings: readonly string[];
  readonly #longest: number;
  readonly found = new Set<string>();

  constructor(secrets: readonly string[]) {
    this.#spellings = secrets.flatMap(spellings);
    this.#longest = Math.max(...this.#spellings.map(({ length }) => length));
  }

  watch(stream: Pick<Writable, 'write'>): void {
    const write = stream.write.bind(stream) as (...all: unknown[]) => boolean;
    let end = '';
    stream.write = ((chunk: unknown, ...more: unknown[]) => {
      const text = end + (typeof chunk === 'string' ? chunk : Buffer.from(chunk as Uint8Array));
      for (const one of this.#spellings) if (text.includes(one)) this.found.add(one);
      end = text.slice(1 - this.#longest);
      return write(chunk, ...more);
    }) as Writable['write'];
  }
}
