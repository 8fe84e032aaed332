import {
  cursor,
  date,
  flag,
  func,
  group,
  type OptionTable,
  oneOf,
  special,
  text,
} from '../base/check.js';
import { parseDate, type Timestamp } from '../base/time.js';
import { type Cursor, type Flow, sourceFlow } from '../flow/flow.js';
import { reportingDamaged } from '../flow/report-damaged.js';
import { type Account, checkAccountOptions } from '../http/account.js';
import { checkSilence } from '../http/live-connection.js';
import { serviceUrl } from '../http/service-url.js';
import type { OnDamaged } from '../json/records.js';
import type { ComplianceEvent } from '../post/compliance-event.js';
import { checkReplay } from '../replay/replay.js';
import { type ReplayTimings, TIMING_OPTIONS } from '../replay/replay-timings.js';
import { type ComplianceGap, runCompliance } from './run-compliance.js';

export type { ComplianceGap } from './run-compliance.js';

/** Options of `compliance`: the partitions, the start, and what to do about missed and damaged events. */
export interface ComplianceOptions {
  /** The label of the compliance stream. @default the account's `complianceLabel` */
  readonly complianceLabel?: string | undefined;
  /**
   * The partitions to connect to, from 1 to 8, with one connection for each. Set this only if the stream has
   * partitions.
   * @default one connection without a partition
   */
  readonly partitions?: readonly number[] | undefined;
  /**
   * A start in the past: `YYYYMMDDHHMM` (UTC), an ISO 8601 date or time, or a `Date`. A replay fetches the
   * events from this time until now. It is an error if this time is more than an hour ahead of the service's
   * clock.
   */
  readonly fromDate?: Timestamp | undefined;
  /**
   * Whether a replay of type `compliance` fetches the events that were missed while there was no connection.
   * @default true if the account has a `replayStreamUrl`
   */
  readonly backfill?: boolean | undefined;
  /** The label of the replay that fetches missed events. @default the account's `streamLabel` */
  readonly streamLabel?: string | undefined;
  /**
   * Called for minutes whose events could not be fetched. If it throws or its promise rejects, the flow ends
   * with that error.
   * @default emits a process warning
   */
  readonly onGap?: ((gap: ComplianceGap) => unknown) | undefined;
  /**
   * Called for each record that is not a valid event. If it returns, the record is skipped. If neither this
   * option nor the option `damaged` of the sink is set, such a record ends the flow with an
   * `IncompleteError`.
   */
  readonly onDamaged?: OnDamaged | undefined;
  /** The folder for temporary data of the replay that fetches missed events; see `folder` of `replay`. */
  readonly folder?: string | undefined;
  /** Overrides times and limits of the replay that fetches missed events. For tests. */
  readonly timings?: Partial<ReplayTimings> | undefined;
  /**
   * `'caught up'` ends the flow once it has delivered all events from before this run connected. Use it for
   * nightly runs that each resume from the cursor of the previous run. A run that must fetch missed events
   * takes at least 30 minutes, because the service can replay a minute only after that time.
   * @default the flow never ends
   */
  readonly until?: 'caught up' | undefined;
  /**
   * The cursor after which the flow continues: the `cursor` of a batch or of an error from an earlier run.
   */
  readonly resume?: Cursor | undefined;
}

const MAX_PARTITION = 8;

export const COMPLIANCE_OPTIONS = {
  complianceLabel: text('the label of the compliance stream'),
  partitions: special<readonly number[]>(
    'the partitions to connect to',
    `an array of different whole numbers from 1 to ${MAX_PARTITION}`,
    arePartitions,
  ),
  fromDate: date('where to begin in the past'),
  backfill: flag('whether to fill gaps from a replay'),
  streamLabel: text('the label of that replay'),
  onGap: func('called for each gap'),
  onDamaged: func('called for each damaged record'),
  folder: text('the folder of that replay'),
  timings: group<Partial<ReplayTimings>>('other times of that replay', TIMING_OPTIONS),
  until: oneOf('when the flow ends; catching up takes half an hour', ['caught up']),
  resume: cursor(),
} satisfies OptionTable<ComplianceOptions>;

/**
 * Delivers compliance events as they happen, such as deletions and withheld content. Without `until`, the
 * flow never ends. It reconnects if a connection breaks, with at most 10 connections in 60 s.
 *
 * With `backfill`, a replay of type `compliance` fetches the events of each period without a connection, 30
 * minutes later. If a run resumes from a cursor, it also fetches the events since the previous run. The
 * replay reaches back 5 days. Some events are repeated or arrive out of order, which `Tombstones` accepts.
 *
 * @throws OptionError immediately, for invalid options and missing settings of the account.
 * @throws HttpError from the flow, for a response that a retry cannot change, such as 401, and for a
 *   `Retry-After` that exceeds the account's `retry.maxRetryAfterMs`.
 * @throws ConnectionError from the flow, if the first connection fails `retry.attempts` times.
 * @example
 * for await (const event of compliance(account()))
 *   if (event.kind === 'delete') console.log('deleted:', event.postId);
 */
export function compliance(
  account: Account,
  options: ComplianceOptions = {},
): Flow<ComplianceEvent> {
  const checked = checkAccountOptions('compliance', account, COMPLIANCE_OPTIONS, options);
  const { complianceLabel, partitions = [undefined], streamLabel, folder, timings } = checked;
  const { onDamaged, onGap = warn, resume, until } = checked;
  const backfill = checked.backfill ?? account.settings.replayStreamUrl !== undefined;
  const urls = partitions.map(partition => complianceUrl(account, complianceLabel, partition));
  const [first] = urls;
  const service = first === undefined ? {} : account.serviceAt(first);
  const replayOf = (window: { readonly from: number; readonly to: number }) =>
    checkReplay('compliance', account, {
      streamType: 'compliance',
      fromDate: new Date(window.from),
      toDate: new Date(window.to),
      streamLabel,
      folder,
      timings,
      onDamaged,
    });
  // Creates a replay that is not used, so that missing settings are reported immediately and not at the first
  // gap.
  if (backfill) replayOf({ from: 0, to: 60_000 });
  const step = {
    step: 'compliance',
    streams: urls.map(({ pathname, search }) => pathname + search),
    ...service,
    // Marks the flow as incremental: the next run continues where this run ends.
    ...(until !== undefined && { incremental: true }),
  };
  const job = {
    account,
    urls,
    service,
    since: checked.fromDate === undefined ? undefined : parseDate(checked.fromDate),
    replayOf: backfill ? replayOf : undefined,
    resume,
    untilCaughtUp: until !== undefined,
    onGap,
  };
  return sourceFlow(step, run =>
    reportingDamaged(run, onDamaged, report => runCompliance({ ...job, onDamaged: report }, run), {
      isLive: true,
    }),
  );
}

function arePartitions(value: unknown): boolean {
  return (
    Array.isArray(value) &&
    value.length > 0 &&
    new Set(value).size === value.length &&
    value.every(one => Number.isInteger(one) && one >= 1 && one <= MAX_PARTITION)
  );
}

function warn({ fromDate, toDate, reason }: ComplianceGap): void {
  process.emitWarning(
    `Compliance events from ${fromDate} to ${toDate} could not be fetched (${reason}). Pass \`onGap\` to handle this`,
  );
}

function complianceUrl(
  account: Account,
  complianceLabel: string | undefined,
  partition: number | undefined,
): URL {
  const path =
    'accounts/{account}/publishers/{publisher}/streams/compliance/{complianceLabel}.json';
  checkSilence(account, 'the compliance stream');
  const url = serviceUrl(account, 'complianceStreamUrl', path, {
    purpose: 'the compliance stream',
    given: { complianceLabel },
  });
  if (partition !== undefined) url.searchParams.set('partition', String(partition));
  return url;
}
