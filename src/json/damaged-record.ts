import type { DataError, DataPlace } from '../errors.js';

/** A record that is no activity: not JSON, without an id, or larger or deeper than the limits. */
export interface DamagedRecord extends DataPlace {
  /** The bytes that came; of a record that is too large, its beginning. */
  readonly raw: Buffer;
}

/**
 * Told of a damaged record and what is wrong with it. When it returns, the record is left out and the
 * rest goes on; what it throws ends the flow.
 */
export type OnDamaged = (record: DamagedRecord, error: DataError) => void;
