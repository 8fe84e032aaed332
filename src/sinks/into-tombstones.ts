import type { ComplianceEvent } from '../activity/compliance-event.js';
import { OptionError } from '../errors.js';
import { batchesOf, type Sink } from '../flow.js';
import { Tombstones } from '../tombstones/tombstones.js';

/** What was taken in. */
export interface Recorded {
  readonly events: number;
}

export interface IntoTombstonesOptions {
  /**
   * Under which name the place in the source is kept. Sources that feed the same tombstones need a name
   * each; with `null` no place is kept, and the source is read from its start.
   * @default 'compliance'
   */
  readonly source?: string | null | undefined;
}

/** LMDB has keys of up to some 2,000 bytes. */
const LONGEST_NAME = 200;

/**
 * Keeps compliance events as tombstones, each batch with its place in the stream in one transaction:
 * the same script run again goes on from there.
 *
 * @throws OptionError, StorageError
 * @example
 * await pipeline(compliance(account()), intoTombstones(openTombstones('tombstones')));
 */
export function intoTombstones(
  tombstones: Tombstones,
  { source = 'compliance' }: IntoTombstonesOptions = {},
): Sink<ComplianceEvent, Recorded> {
  if (!(tombstones instanceof Tombstones))
    throw new OptionError('tombstones', 'Expected tombstones as `openTombstones()` makes them');
  if (source !== null && (typeof source !== 'string' || !(source.length <= LONGEST_NAME)))
    throw new OptionError('source', `Expected \`source\` to be a name of up to ${LONGEST_NAME}`);
  return async (input, { signal, progress } = {}) => {
    const resume = source === null ? undefined : tombstones.cursor(source);
    let events = 0;
    for await (const { items, cursor } of batchesOf(input, { signal, resume, progress })) {
      const keep = source !== null && cursor !== undefined;
      await tombstones.record(items, keep ? { source, cursor } : undefined);
      events += items.length;
      if (progress !== undefined) progress.written += items.length;
    }
    return { events };
  };
}
