import { mkdtemp, rm } from 'node:fs/promises';
import os from 'node:os';
import path from 'node:path';
import { loadModule } from '../load-library.js';
import type { Random } from '../random.js';

export interface Parser {
  seed(random: Random): Buffer;
  readonly tokens: readonly string[];
  /** The maximum size of an input in bytes. @default 16,384 */
  readonly maxBytes?: number | undefined;
  /**
   * Parses an input and checks the outcome. Everything random comes from `random`.
   *
   * @returns whether the input was accepted
   * @throws for an error that is not typed, and for a wrong result
   */
  attempt(input: Buffer, random: Random): boolean | Promise<boolean>;
  close?(): Promise<void>;
}

export interface ParserKind {
  /**
   * What must hold for any bytes, in addition to the errors and limits that are checked for all
   * parsers.
   */
  readonly holds: string;
  open(library: URL): Promise<Parser>;
}

export type Outcome<T> =
  | { readonly value: T; readonly error?: undefined }
  | { readonly value?: undefined; readonly error: string };

export interface Outcomes {
  of<T>(parse: () => T): Outcome<T>;
  ofAsync<T>(parse: () => Promise<T>): Promise<Outcome<T>>;
}

/** Returns functions that turn typed errors into outcomes. Other errors are bugs and are thrown. */
export async function outcomes(library: URL): Promise<Outcomes> {
  const { MillraceError } = await loadModule(library, 'base/errors');
  const typed = (error: unknown): { readonly error: string } => {
    if (error instanceof MillraceError) return { error: error.message };
    const text = error instanceof Error ? (error.stack ?? error.message) : String(error);
    throw new Error(`An error that is not typed: ${text}`);
  };
  return {
    of(parse) {
      try {
        return { value: parse() };
      } catch (error) {
        return typed(error);
      }
    },
    async ofAsync(parse) {
      try {
        return { value: await parse() };
      } catch (error) {
        return typed(error);
      }
    },
  };
}

export async function temporaryFolder() {
  const folder = await mkdtemp(path.join(os.tmpdir(), 'millrace-fuzz-'));
  return { folder, close: () => rm(folder, { recursive: true, force: true }) };
}

export function expectSame(actual: unknown, expected: unknown, what: string): void {
  const [a, b] = [shown(actual), shown(expected)];
  if (a !== b) throw new Error(`${what}: ${a.slice(0, 400)}\nand not ${b.slice(0, 400)}`);
}

export function check(holds: boolean, what: string): asserts holds {
  if (!holds) throw new Error(what);
}

function shown(value: unknown): string {
  const text = JSON.stringify(value, (_, part) => {
    if (part instanceof Map) return [...part];
    if (typeof part === 'bigint') return `${part}n`;
    if (part?.type === 'Buffer') return Buffer.from(part.data).toString('latin1');
    return part;
  });
  return text ?? 'undefined';
}

export function cutUp(bytes: Buffer, random: Random): Buffer[] {
  const chunks: Buffer[] = [];
  const mean = random.pick([1, 3, 20, 500]);
  for (let at = 0; at < bytes.length; ) {
    const end = Math.min(bytes.length, at + random.whole(1, 2 * mean));
    // Copies each chunk. In a view, a parser could read beyond the end of the chunk without an
    // error.
    chunks.push(Buffer.from(bytes.subarray(at, end)));
    at = end;
  }
  return chunks;
}

/** Parses a JSON document. Invalid UTF-8 is replaced, as in the clients of the service. */
export function parsedJson(bytes: Buffer): { readonly value: unknown } | undefined {
  try {
    return { value: JSON.parse(bytes.toString()) };
  } catch {
    return undefined;
  }
}

export function isRecord(value: unknown): value is Readonly<Record<string, unknown>> {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}
