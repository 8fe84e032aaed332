import type { DataError, DataPlace } from '../errors.js';

/** A record that cannot be an activity: it is not JSON, has no id, or exceeds the limits. */
export interface DamagedRecord extends DataPlace {
  /** A copy of its bytes; of a record that is too large, the first ones. */
  readonly raw: Buffer;
}

/**
 * Called with a damaged record and the error. When it returns, the record is left out and the flow
 * continues; an error that it throws ends the flow.
 */
export type OnDamaged = (record: DamagedRecord, error: DataError) => void;
