import { checkOptions, type OptionTable, special } from '../base/check.js';
import { batchesOf, type Sink } from '../flow/flow.js';
import { withInternals } from '../flow/internals.js';
import type { ComplianceEvent } from '../post/compliance-event.js';
import { checkEvents, type Tombstones } from './tombstones.js';
import { checkTombstones } from './without-deleted.js';

/** The result of `intoTombstones`: how many events were recorded. */
export interface Recorded {
  /** The number of events that this run has recorded, including events of unknown kinds. */
  readonly events: number;
}

/** Options of `intoTombstones`: the name under which it stores the cursor of the source. */
export interface IntoTombstonesOptions {
  /**
   * The name under which the cursor of the source is stored. If several sources record into the same
   * tombstones, each source needs a different name. If `null`, no cursor is stored, and every run reads the
   * source from its start.
   * @default 'compliance'
   */
  readonly source?: string | null | undefined;
}

/**
 * The maximum length of the name of a source, in characters. The name is part of an LMDB key, which has at
 * most about 2,000 bytes.
 */
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
 * Records compliance events as tombstones. One transaction stores each batch together with the cursor of its
 * source. When the same script runs again, it continues after the last stored batch.
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
