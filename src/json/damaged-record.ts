import type { DataError, DataPosition } from '../base/errors.js';

/** A record that cannot be an activity: it is not JSON, has no id, or exceeds the limits. */
export interface DamagedRecord extends DataPosition {
  /** A copy of its bytes; of a record that is too large, the first ones. */
  readonly raw: Buffer;
  /** Set where `raw` has only the first bytes of the record. */
  readonly truncated?: true | undefined;
  /** Which record of the file, or result of the page, it is; from 1. Absent where `line` says it. */
  readonly record?: number | undefined;
  /** Of a search: the parameters of the request whose response has the record. */
  readonly request?: Readonly<Record<string, string | number>> | undefined;
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
