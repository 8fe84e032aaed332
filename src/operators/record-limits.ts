import { OptionError } from '../errors.js';

/** What one record or element may cost before it is refused. */
export interface RecordLimits {
  /**
   * Most bytes of one record.
   * @default 16777216 (16 MiB)
   */
  readonly maxBytes?: number | undefined;
  /**
   * Most arrays and objects inside one another. The default is about what `JSON.stringify` and
   * `structuredClone` can still walk without running out of stack.
   * @default 3000
   */
  readonly maxDepth?: number | undefined;
}

export interface CheckedLimits {
  readonly maxBytes: number;
  readonly maxDepth: number;
}

/** The limits with their defaults, checked. */
export function recordLimits({
  maxBytes = 16 * 1024 * 1024,
  maxDepth = 3_000,
}: RecordLimits): CheckedLimits {
  atLeastOne('maxBytes', maxBytes);
  atLeastOne('maxDepth', maxDepth);
  return { maxBytes, maxDepth };
}

/** Throws unless the option is a whole number of at least one; `Infinity` lifts a limit. */
export function atLeastOne(option: string, value: unknown): void {
  if (value === Number.POSITIVE_INFINITY) return;
  if (!Number.isSafeInteger(value) || (value as number) < 1)
    throw new OptionError(
      option,
      `Expected \`${option}\` to be a whole number of at least 1, got ${String(value)}`,
    );
}
