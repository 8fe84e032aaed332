import { checkOptions, type OptionTable, required, special, whole } from '../base/check.js';
import type { DataError, DataPosition } from '../base/errors.js';

declare const framing: unique symbol;

/** Bytes of any kind, except records. What inflates or cuts files reads these. */
export type Bytes = Uint8Array & { readonly [framing]?: 'none' };

/** A block of a file, cut at any byte. `jsonLines` and `jsonElements` make records of blocks. */
export interface FileBytes extends Uint8Array {
  readonly [framing]: 'none';
}

/**
 * The bytes of one JSON object, as `jsonLines` and `jsonElements` cut them. `activities` reads only these. At run time it is a
 * `Buffer`. A stage of your own that cuts records yields `bytes as JsonRecord`; `activities` checks each.
 */
export interface JsonRecord extends Buffer {
  readonly [framing]: 'record';
}

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

/** A record that cannot be an activity: it is not JSON, has no id, or exceeds the limits. */
export interface DamagedRecord extends DataPosition {
  /** A copy of its bytes; of a record that is too large, the first ones. */
  readonly raw: Buffer;
  /** Set where `raw` has only the first bytes of the record. */
  readonly truncated?: true | undefined;
  /** Which record of the file, or result of the page, it is; from 1. Absent where `line` says it. */
  readonly record?: number | undefined;
  /** The parameters of the search request whose response has the record. */
  readonly request?: Readonly<Record<string, string | number>> | undefined;
}

/** A damaged record, and what is wrong with it. */
export interface Damaged {
  readonly record: DamagedRecord;
  readonly error: DataError;
}

/**
 * Called with a damaged record and the error. A promise is awaited; then the record is skipped, and the
 * flow continues. If the function throws, or its promise rejects, that error ends the flow.
 */
export type OnDamaged = (record: DamagedRecord, error: DataError) => unknown;

/** Finds items in the bytes of one file or document, which arrive in blocks that are cut anywhere. */
export interface Framer<T> {
  /**
   * Adds to `items` those that end in this block. Items may be views of the block; bytes that the
   * framer keeps for later it copies, as the memory of a block may be released after use.
   */
  push(block: Buffer, items: T[]): undefined | Promise<void>;
  /** Ends the file or document: adds the last items, or throws where the data is cut short. */
  end(items: T[]): void | Promise<void>;
}

/**
 * The first bytes of a record that continues in the next block. They are copied, as the memory of a block
 * may be released, and joined once, when the record is complete.
 */
export class CarryOver {
  #chunks: Buffer[] = [];
  byteLength = 0;

  add(chunk: Buffer): void {
    if (chunk.length === 0) return;
    this.#chunks.push(Buffer.from(chunk));
    this.byteLength += chunk.length;
  }

  /** Joins all that was added with `last`. A record within one block is a view of that block. */
  join(last: Buffer): Buffer {
    if (this.byteLength === 0) return last;
    const whole = Buffer.concat([...this.#chunks, last]);
    this.#chunks = [];
    this.byteLength = 0;
    return whole;
  }
}
