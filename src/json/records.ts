import { checkOptions, type OptionTable, required, special, whole } from '../base/check.js';
import type { DataError, DataPosition } from '../base/errors.js';

declare const framing: unique symbol;

/** Bytes of any kind, except records. Accepted by operators that inflate files or cut files into records. */
export type Bytes = Uint8Array & { readonly [framing]?: 'none' };

/**
 * A block of a file. It may begin and end at any byte. `jsonLines` and `jsonElements` cut blocks into
 * records.
 */
export interface FileBytes extends Uint8Array {
  readonly [framing]: 'none';
}

/**
 * The bytes of one JSON object, as `jsonLines` and `jsonElements` return them. At run time it is a `Buffer`.
 * `activities` accepts only this type. If you write a stage that cuts records, let it yield `bytes as
 * JsonRecord`. `activities` then checks each record.
 */
export interface JsonRecord extends Buffer {
  readonly [framing]: 'record';
}

/** The limits of one record or element. A record or element that exceeds a limit is refused. */
export interface RecordLimits {
  /**
   * The maximum size of one record, in bytes.
   * @default 16777216 (16 MiB)
   */
  readonly maxBytes?: number | undefined;
  /**
   * The maximum depth of nested arrays and objects. `JSON.stringify` and `structuredClone` can process about
   * the default depth without a stack overflow.
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

/** An empty string is allowed, because JSON allows an empty name. */
export const ARRAY_KEY = required(
  special<string>('the name of the array', 'a string', value => typeof value === 'string'),
);

/**
 * The path to an array in a document: the key of the array, or the keys that lead to it. Several keys are a
 * list, or one string joined by dots. If keys contain dots, use a list. To go through an element of an array,
 * use its index as a key. An empty path means that the document itself is the array.
 */
export type ArrayPath = string | readonly string[];

export const ARRAY_PATH = special<ArrayPath>(
  'the keys that lead to the array',
  'a string, or an array of strings',
  value =>
    typeof value === 'string' ||
    (Array.isArray(value) && value.every(key => typeof key === 'string')),
);

export function recordLimits(call: string, limits: RecordLimits = {}): CheckedLimits {
  return checkOptions(call, RECORD_LIMITS, limits);
}

/** A record that cannot become an activity, because it is not JSON, has no id, or exceeds the limits. */
export interface DamagedRecord extends DataPosition {
  /** A copy of the bytes of the record. If the record is too large, a copy of its first bytes. */
  readonly raw: Buffer;
  /** Set if `raw` holds only the first bytes of the record. */
  readonly truncated?: true | undefined;
  /**
   * The index of the record in the file, or of the result on the page, starting with 1. Absent if `line` is
   * set.
   */
  readonly record?: number | undefined;
  /** The parameters of the search request whose response contains the record. */
  readonly request?: Readonly<Record<string, string | number>> | undefined;
}

export interface Damaged {
  readonly record: DamagedRecord;
  readonly error: DataError;
}

/**
 * Called with a damaged record and the error. If it returns, the record is skipped and the flow continues. If
 * it returns a promise, the flow waits for it first. If it throws or the promise rejects, the flow ends with
 * that error.
 */
export type OnDamaged = (record: DamagedRecord, error: DataError) => unknown;

/**
 * Finds items in the bytes of one file or document. The bytes arrive in blocks that may begin and end at any
 * byte.
 */
export interface Framer<T> {
  /**
   * Adds the items that end in this block to `items`. Items may be views of the block. The memory of a block
   * may be released after use, so the framer copies bytes that it keeps for later.
   */
  push(block: Buffer, items: T[]): undefined | Promise<void>;
  /** Ends the file or document. Adds the last items. Throws if the data is truncated. */
  end(items: T[]): void | Promise<void>;
}

/**
 * Collects the bytes of a record that continues in the next block, and joins them when the record is
 * complete. The bytes are copied, because the memory of a block may be released.
 */
export class CarryOver {
  #chunks: Buffer[] = [];
  byteLength = 0;

  add(chunk: Buffer): void {
    if (chunk.length === 0) return;
    this.#chunks.push(Buffer.from(chunk));
    this.byteLength += chunk.length;
  }

  /** Joins all added bytes and `last`. If nothing was added, the result is `last` itself, without a copy. */
  join(last: Buffer): Buffer {
    if (this.byteLength === 0) return last;
    const whole = Buffer.concat([...this.#chunks, last]);
    this.#chunks = [];
    this.byteLength = 0;
    return whole;
  }
}
