import { checkOptions, type OptionTable, special } from '../base/check.js';
import { batchesOf, type Sink } from '../flow/flow.js';
import { withInternals } from '../flow/internals.js';
import type { ComplianceEvent } from '../post/compliance-event.js';
import { checkEvents, type Tombstones } from './tombstones.js';
import { checkTombstones } from './without-deleted.js';

/** The result of `intoTombstones`: the number of events that were recorded. */
export interface Recorded {
  /** The number of events in this run, including events of unknown kinds. */
  readonly events: number;
}

/** Options of `intoTombstones`: the name under which it stores the cursor of the source. */
export interface IntoTombstonesOptions {
  /**
   * The name under which the cursor of the source is stored. If several sources record in the same
   * tombstones, they need different names. With `null`, no cursor is stored, and the source is always read
   * from its start.
   * @default 'compliance'
   */
  readonly source?: string | null | undefined;
}

/** The length is limited because LMDB keys have at most about 2,000 bytes. */
const LONGEST_NAME = 200;

const OPTIONS = {
  source: special<string | null, 'compliance'>(
    'the name under which the cursor of the source is stored',
    `a name of up to ${LONGEST_NAME} characters, or null`,
    value => value === null || (typeof value === 'string' && value.length <= LONGEST_NAME),
    'compliance',
  ),
} satisfies OptionTable<IntoTombstonesOptions>;

/**
 * Records compliance events as tombstones. Each batch is stored with the cursor of its source in one
 * transaction, so that the same script continues from there when it is run again.
 *
 * @throws OptionError, StorageError
 * @example
 * await pipeline(compliance(account()), intoTombstones(await openTombstones('tombstones')));
 */
export function intoTombstones(
  tombstones: Tombstones,
  options: IntoTombstonesOptions = {},
): Sink<ComplianceEvent, Recorded> {
  checkTombstones('intoTombstones', tombstones);
  const { source } = checkOptions('intoTombstones', OPTIONS, options);
  const sink: Sink<ComplianceEvent, Recorded> = async (input, { signal, progress } = {}) => {
    const resume = source === null ? undefined : tombstones.cursor(source);
    let events = 0;
    for await (const batch of batchesOf(input, { signal, resume, progress })) {
      checkEvents('intoTombstones', batch);
      const { items, cursor } = batch;
      const keep = source !== null && cursor !== undefined;
      await tombstones.record(items, keep ? { source, cursor } : undefined);
      events += items.length;
      if (progress !== undefined) progress.written += items.length;
    }
    return { events };
  };
  return withInternals(sink, { holdsLocks: true, counts: true });
}
