import { checkOptions, type OptionTable, required, special, whole } from '../base/check.js';

/** Limits of one record or element; a larger one is refused. */
export interface RecordLimits {
  /**
   * Maximum size of one record, in bytes.
   * @default 16777216 (16 MiB)
   */
  readonly maxBytes?: number | undefined;
  /**
   * Maximum depth of nested arrays and objects. The default is about what `JSON.stringify` and
   * `structuredClone` can process without a stack overflow.
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

/** The name of an array in a document. JSON allows an empty one. */
export const ARRAY_KEY = required(
  special<string>('the name of the array', 'a string', value => typeof value === 'string'),
);

/**
 * Where an array is in a document: its key, or the keys that lead to it, as a list or with dots between. Without one, the
 * document is the array. A list may have keys that contain dots; the index of an element is a key of an array.
 */
export type ArrayPath = string | readonly string[];

export const ARRAY_PATH = special<ArrayPath>(
  'the keys that lead to the array',
  'a string, or an array of strings',
  value =>
    typeof value === 'string' ||
    (Array.isArray(value) && value.every(key => typeof key === 'string')),
);

/** The limits with their defaults, checked for this call. */
export function recordLimits(call: string, limits: RecordLimits = {}): CheckedLimits {
  return checkOptions(call, RECORD_LIMITS, limits);
}
