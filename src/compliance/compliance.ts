import type { ComplianceEvent } from '../activity/compliance-event.js';
import { OptionError } from '../errors.js';
import { type Cursor, Flow } from '../flow/flow.js';
import type { Account } from '../http/account.js';
import { checkNames } from '../http/check-names.js';
import type { OnDamaged } from '../json/damaged-record.js';
import { checkReplay } from '../replay/replay.js';
import type { ReplayTimings } from '../replay/replay-timings.js';
import { parseTimestamp, type Timestamp, timestampOption } from '../time.js';
import { complianceUrl } from './compliance-url.js';
import { type ComplianceGap, runCompliance } from './run-compliance.js';

export type { ComplianceGap } from './run-compliance.js';

export interface ComplianceOptions {
  /** Label of the compliance stream. @default the account's `complianceLabel` */
  readonly complianceLabel?: string | undefined;
  /**
   * Partitions to connect to, 1 to 8, a connection each, where the stream has partitions.
   * @default one connection without a partition
   */
  readonly partitions?: readonly number[] | undefined;
  /** Begin in the past: events since then are had from a replay. `YYYYMMDDHHMM` (UTC) or a `Date`. */
  readonly fromDate?: Timestamp | undefined;
  /**
   * Whether what came while there was no connection is had from a replay of type `compliance`.
   * @default whether the account has a `replayStreamUrl`
   */
  readonly backfill?: boolean | undefined;
  /** Label of that replay. @default the account's `streamLabel` */
  readonly streamLabel?: string | undefined;
  /** Told of minutes whose events could not be had. @default a warning of the process */
  readonly onGap?: ((gap: ComplianceGap) => void) | undefined;
  /** Told of each record that is no event: returning leaves it out. Without, it ends the flow. */
  readonly onDamaged?: OnDamaged | undefined;
  /** See `replay`. */
  readonly folder?: string | undefined;
  /** Other times of that replay than the service's own, for a test. */
  readonly timings?: Partial<ReplayTimings> | undefined;
  /** Where to go on: the cursor of a batch. */
  readonly resume?: Cursor | undefined;
}

const OPTIONS: readonly string[] = [
  ...[
    'complianceLabel',
    'partitions',
    'fromDate',
    'backfill',
    'streamLabel',
    'onGap',
    'folder',
    'onDamaged',
  ],
  ...['timings', 'resume'],
];
const MOST_PARTITIONS = 8;

/**
 * Compliance events as they come (service.md 4.5, section 6): deletions and the like, typed. The flow
 * does not end by itself. A connection that breaks is made again, within 10 in 60 seconds; what came
 * meanwhile, also between a run and the next one that goes on from its cursor, is had from a replay of
 * type `compliance` as soon as that has it, half an hour later. So every event of the last five days
 * comes at least once, and some come twice or out of their order: what applies them must not mind, as
 * `Tombstones` does not.
 *
 * @throws OptionError at once, for options that cannot work or are missing in the account.
 * @throws HttpError from the flow, for an answer that no waiting will mend, such as 401.
 * @throws ConnectionError from the flow, when no first connection could be made.
 * @example
 * for await (const event of compliance(account()))
 *   if (event.kind === 'delete') console.log('deleted:', event.postId);
 */
export function compliance(
  account: Account,
  options: ComplianceOptions = {},
): Flow<ComplianceEvent> {
  checkNames('options', options, OPTIONS);
  const { complianceLabel, partitions, streamLabel, folder, timings, onDamaged } = options;
  const urls = checkPartitions(partitions).map(partition =>
    complianceUrl(account, complianceLabel, partition),
  );
  const { fromDate, onGap, backfill = account.settings.replayStreamUrl !== undefined } = options;
  const since = fromDate === undefined ? undefined : timestampOption('fromDate', fromDate);
  if (typeof backfill !== 'boolean')
    throw new OptionError('backfill', 'Expected `backfill` to be true or false');
  if (onDamaged !== undefined && typeof onDamaged !== 'function')
    throw new OptionError('onDamaged', 'Expected `onDamaged` to be a function');
  if (onGap !== undefined && typeof onGap !== 'function')
    throw new OptionError('onGap', 'Expected `onGap` to be a function');
  const replayOf = (window: { readonly from: number; readonly to: number }) =>
    checkReplay(account, {
      streamType: 'compliance',
      ...{ fromDate: new Date(window.from), toDate: new Date(window.to) },
      ...{ streamLabel, folder, timings, onDamaged },
    });
  // What the replay lacks is better known now than after the first gap.
  if (backfill) replayOf({ from: 0, to: 60_000 });
  return new Flow(
    run =>
      runCompliance(
        {
          account,
          urls,
          since: since === undefined ? undefined : parseTimestamp(since),
          replayOf: backfill ? replayOf : undefined,
          resume: options.resume,
          onGap: onGap ?? warn,
          onDamaged,
        },
        run,
      ),
    undefined,
    [{ step: 'compliance', streams: urls.map(({ pathname, search }) => pathname + search) }],
  );
}

function checkPartitions(partitions: readonly number[] | undefined): (number | undefined)[] {
  if (partitions === undefined) return [undefined];
  const fine =
    Array.isArray(partitions) &&
    partitions.length > 0 &&
    new Set(partitions).size === partitions.length &&
    partitions.every(one => Number.isInteger(one) && one >= 1 && one <= MOST_PARTITIONS);
  if (!fine)
    throw new OptionError(
      'partitions',
      `Expected \`partitions\` to be a list of different whole numbers from 1 to ${MOST_PARTITIONS}`,
    );
  return [...partitions];
}

function warn({ fromDate, toDate, reason }: ComplianceGap): void {
  process.emitWarning(
    `Compliance events from ${fromDate} to ${toDate} could not be had (${reason}). Pass \`onGap\` to be told of this instead`,
  );
}
