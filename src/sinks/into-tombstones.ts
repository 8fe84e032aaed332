import type { ComplianceEvent } from '../activity/compliance-event.js';
import { batchesOf, type Sink } from '../flow.js';
import type { Tombstones } from '../tombstones/tombstones.js';

/** What was taken in. */
export interface Recorded {
  readonly events: number;
}

/**
 * Keeps compliance events as tombstones, each batch with its place in the stream in one transaction:
 * the same script run again goes on from there.
 *
 * @throws StorageError
 * @example
 * await pipeline(compliance(account()), intoTombstones(openTombstones('tombstones')));
 */
export function intoTombstones(tombstones: Tombstones): Sink<ComplianceEvent, Recorded> {
  return async (input, { signal, progress } = {}) => {
    let events = 0;
    for await (const batch of batchesOf(input, { signal, resume: tombstones.cursor, progress })) {
      await tombstones.record(batch.items, batch.cursor);
      events += batch.items.length;
      if (progress !== undefined) progress.written += batch.items.length;
    }
    return { events };
  };
}
