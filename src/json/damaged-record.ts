import type { DataError, DataPosition } from '../errors.js';

/** A record that cannot be an activity: it is not JSON, has no id, or exceeds the limits. */
export interface DamagedRecord extends DataPosition {
  /** A copy of its bytes; of a record that is too large, the first ones. */
  readonly raw: Buffer;
}

/** A damaged record, and what is wrong with it. */
export interface Damaged {
  readonly record: DamagedRecord;
  readonly error: DataError;
}

/**
 * Called with a damaged record and the error. A promise is awaited; then the record is left out, and the
 * flow continues. What the function throws, or its promise rejects with, ends the flow.
 */
export type OnDamaged = (record: DamagedRecord, error: DataError) => unknown;
