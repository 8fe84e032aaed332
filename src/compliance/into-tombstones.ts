import { checkOptions, type OptionTable, special } from '../base/check.js';
import { batchesOf, type Sink } from '../flow/flow.js';
import { withInternals } from '../flow/internals.js';
import type { ComplianceEvent } from '../post/compliance-event.js';
import { checkEvents, type Tombstones } from './tombstones.js';
import { checkTombstones } from './without-deleted.js';

/** What `intoTombstones` has recorded by the end of its input. */
export interface Recorded {
  /** The number of events of this run, unknown kinds included. */
  readonly events: number;
}

/** Under which name `intoTombstones` stores its cursor, or that it stores none. */
export interface IntoTombstonesOptions {
  /**
   * The name under which the cursor of the source is stored. Several sources of the same tombstones
   * need different names. With `null` no cursor is stored, and the source is always read from its
   * start.
   * @default 'compliance'
   */
  readonly source?: string | null | undefined;
}

/** Keys of LMDB have at most about 2,000 bytes. */
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
 * Records compliance events as tombstones, each batch and the cursor of its source in one transaction:
 * the same script run again continues from there.
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
