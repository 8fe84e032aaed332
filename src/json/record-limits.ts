import { checkOptions, type OptionTable, whole } from '../check.js';

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

export const RECORD_LIMITS = {
  maxBytes: whole('bytes of one record', {
    min: 1,
    orInfinity: true,
    default: 16 * 1024 * 1024,
  }),
  maxDepth: whole('arrays and objects inside one another', {
    min: 1,
    orInfinity: true,
    default: 3_000,
  }),
} satisfies OptionTable<RecordLimits>;

/** The limits with their defaults, checked for this call. */
export function recordLimits(call: string, limits: RecordLimits = {}): CheckedLimits {
  return checkOptions(call, RECORD_LIMITS, limits);
}
