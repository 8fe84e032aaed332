import { createHash } from 'node:crypto';
import {
  cursor,
  date,
  flag,
  func,
  group,
  type OptionTable,
  oneOf,
  optionError,
  required,
  text,
  whole,
} from '../base/check.js';
import { partOf, SHARD_OPTION, type Shard, shardMember } from '../base/shard.js';
import { formatTimestamp, parseDate, type Timestamp } from '../base/time.js';
import { type Batches, type Cursor, type Flow, type Run, sourceFlow } from '../flow/flow.js';
import { reportingDamaged } from '../flow/report-damaged.js';
import { type Account, checkAccountOptions } from '../http/account.js';
import { checkSilence } from '../http/live-connection.js';
import { serviceUrl } from '../http/service-url.js';
import type { OnDamaged } from '../json/records.js';
import { Activity } from '../post/activity.js';
import { type ComplianceEvent, parseComplianceEvent } from '../post/compliance-event.js';
import { type ReplayTimings, TIMING_OPTIONS } from './replay-timings.js';
import { type ReplayWait, refuseFarAhead } from './replay-wait.js';
import { type Gap, type ReplayRun, runReplay } from './run-replay.js';

export type { ReplayWait } from './replay-wait.js';

/**
 * The stream to replay: posts that match your rules, a tenth of all posts, all posts, posts that mention a
 * user, or compliance events.
 */
export type StreamType = 'rulestream' | 'sample10' | 'firehose' | 'mentions' | 'compliance';

export const STREAM_TYPES: readonly StreamType[] = [
  ...(['rulestream', 'sample10', 'firehose', 'mentions', 'compliance'] as const),
];

/** Options of `replay`: the stream, its window and buffers, and what to do about gaps and damaged records. */
export interface ReplayOptions {
  /** The stream to replay. `rulestream` delivers the posts that match the rules of the stream. */
  readonly streamType: StreamType;
  /**
   * The first minute, inclusive: `YYYYMMDDHHMM` (UTC), an ISO 8601 date or time, or a `Date`, floored to its
   * minute. Minutes older than five days are not replayed, but reported as a gap with the reason `expired`.
   */
  readonly fromDate: Timestamp;
  /**
   * The end of the window, exclusive. It may be up to 366 days in the future. The service can replay a minute
   * only once it is 30 minutes old, so the replay waits for newer minutes; see `onWait`. Required unless
   * `incremental` is set.
   */
  readonly toDate?: Timestamp | undefined;
  /**
   * For scheduled runs, for example by cron. Each run continues where the last complete run ended, and ends
   * at the newest minute that can be replayed, 31 minutes ago. Only the first run uses `fromDate`. Requires a
   * sink with a checkpoint; the sink appends to its output. Also requires `onGap`. Without `onGap`, minutes
   * that the service no longer has would fail every later run. Cannot be combined with `toDate` or a `shard`.
   * @default false
   */
  readonly incremental?: boolean | undefined;
  /** The label of the stream. @default the account's `streamLabel` */
  readonly streamLabel?: string | undefined;
  /**
   * A folder for data that does not fit in memory, and for the times of connections. These times are still
   * known after a restart, so that even a process that is often restarted stays within the limit of 5
   * connections in 5 minutes. The folder is created if it does not exist. If the folder was deleted, a run
   * still resumes from its cursor, but earlier connections are unknown. If they have used up the limit, the
   * service answers 429, and the run waits.
   * @default a folder of this user in the system's temporary folder
   */
  readonly folder?: string | undefined;
  /**
   * The maximum number of bytes of one connection to hold in memory. The rest is written to disk.
   * @default 33554432 (32 MiB)
   */
  readonly maxMemory?: number | undefined;
  /**
   * The maximum expected size of the activities of one connection, in bytes. They are held back until the
   * connection's final message, and are received again if the connection breaks. A connection requests fewer
   * minutes if it would otherwise be expected to exceed this size. The expected size is computed from the
   * size of the previous range of minutes.
   * @default 1073741824 (1 GiB)
   */
  readonly maxDisk?: number | undefined;
  /**
   * Called at the end of the replay for each range of minutes that could not be delivered or verified.
   * Without this option, such a range ends the flow with an `IncompleteError`.
   *
   * If `onGap`, `onDamaged` or `onWait` returns a promise, the flow waits for it. If one of them throws or
   * its promise rejects, the flow ends with that error.
   */
  readonly onGap?: ((gap: Gap) => unknown) | undefined;
  /**
   * Called for each damaged record, after the connection that received it has ended successfully. If the
   * callback returns, the record is skipped. Without this option and without the sink option `damaged`, a
   * damaged record ends the flow with an `IncompleteError`.
   */
  readonly onDamaged?: OnDamaged | undefined;
  /**
   * Called when the replay starts to wait, either until the next minutes are 30 minutes old and can be
   * replayed, or until the service allows another connection. For a wait after a failure, the account's
   * `onRetry` is called instead.
   */
  readonly onWait?: ((wait: ReplayWait) => unknown) | undefined;
  /** Overrides times and limits of the service, for tests. */
  readonly timings?: Partial<ReplayTimings> | undefined;
  /**
   * The part of the window that this process fetches. The window is divided into parts of equal length, in
   * whole minutes. The first shard is the oldest part.
   * @default the account's `shard`, or the whole window
   */
  readonly shard?: Shard | undefined;
  /**
   * The cursor of a batch or of an error. The replay resumes from this cursor. A cursor in the checkpoint of
   * the sink takes precedence.
   */
  readonly resume?: Cursor | undefined;
}

export const REPLAY_OPTIONS = {
  streamType: required(oneOf('the stream to replay', STREAM_TYPES)),
  fromDate: required(date('the first minute, inclusive')),
  toDate: date('the last minute, exclusive'),
  incremental: flag('whether each run continues where the last one ended'),
  streamLabel: text('the label of the stream'),
  folder: text('a folder for data that does not fit in memory'),
  maxMemory: whole('bytes of one connection in memory', { default: 32 * 1024 * 1024 }),
  maxDisk: whole('bytes of one connection on disk', { min: 1, default: 1024 * 1024 * 1024 }),
  onGap: func('called for each gap'),
  onDamaged: func('called for each damaged record'),
  onWait: func('called when a wait begins'),
  timings: group<Partial<ReplayTimings>>('other times than the service has', TIMING_OPTIONS),
  shard: SHARD_OPTION,
  resume: cursor(),
} satisfies OptionTable<ReplayOptions>;

/**
 * Replays a past window of a stream. Delivers each activity once, and ends when the service has confirmed
 * every minute. After broken connections, failed minutes, incomplete responses, rate limits and server
 * errors, the missing minutes are requested again, at no more than 5 connections in 5 minutes.
 *
 * The first connection requests 16 minutes. After each success, the next connection requests twice as many
 * minutes. A day therefore takes at most 7 connections, and 5 days take 9, unless `maxDisk` shortens the
 * ranges. Activities wait in memory, or on disk if there are many, until the final message of their
 * connection confirms them. A crash therefore never leaves incomplete minutes that look complete, and a slow
 * consumer does not slow down the connection. Activities arrive in the order of the stream, except for
 * minutes that were requested again.
 *
 * Minutes that could not be delivered or verified are passed to `onGap`, or listed in the error at the end.
 *
 * @throws OptionError immediately, for invalid options and missing settings of the account.
 * @throws HttpError from the flow, for a response that a retry cannot change, such as 401, or with a
 *   `Retry-After` above the account's `retry.maxRetryAfterMs`.
 * @throws IncompleteError from the flow, if minutes are missing after all other minutes were delivered, or
 *   after 20 consecutive connections that confirmed no minute. `missing` lists the minutes, and `cursor` is
 *   the cursor to resume from.
 * @example
 * await pipeline(
 *   replay(account(), { streamType: 'rulestream', fromDate: '202405150000', toDate: '202405150600' }),
 *   files({ path: 'out/{hour}.jsonl.gz', checkpoint: 'out/replay.checkpoint.json' }),
 * );
 */
export function replay(
  account: Account,
  options: ReplayOptions & { readonly streamType: 'compliance' },
): Flow<ComplianceEvent>;
export function replay(
  account: Account,
  options: ReplayOptions & { readonly streamType: Exclude<StreamType, 'compliance'> },
): Flow<Activity>;
export function replay(
  account: Account,
  options: ReplayOptions,
): Flow<Activity> | Flow<ComplianceEvent> {
  const whole = checkReplay('replay', account, options);
  const { shard = account.settings.shard, incremental } = options;
  if (shard !== undefined && incremental === true)
    throw optionError(
      'replay',
      'shard',
      'cannot be combined with `incremental`: the next run begins where the whole window of this one ends',
    );
  const part = shard === undefined ? whole.window : partOf(whole.window, shard);
  const identity = { ...whole.identity, ...shardMember(shard) };
  const step = { step: 'replay', ...identity };
  const job = { ...whole, identity, window: part ?? whole.window };
  if (part === undefined) return sourceFlow<never>(step, none);
  return options.streamType === 'compliance'
    ? sourceFlow(step, run => reportingReplay({ ...job, ...EVENT_PARSER }, run))
    : sourceFlow(step, run => reportingReplay({ ...job, ...ACTIVITY_PARSER }, run));
}

function reportingReplay<T>(job: ReplayRun<T>, run: Run): Batches<T> {
  return reportingDamaged(run, job.onDamaged, onDamaged => runReplay({ ...job, onDamaged }, run), {
    isLive: true,
  });
}

/** The flow of a shard that gets no minutes, because the window has fewer minutes than there are shards. */
async function* none(): Batches<never> {}

type RecordParser<T> = Pick<ReplayRun<T>, 'parse' | 'idOf' | 'timeOf'>;

const ACTIVITY_PARSER: RecordParser<Activity> = {
  parse: record => new Activity(record),
  idOf: activity => activity.id,
  timeOf(activity) {
    try {
      return activity.postedAt.getTime();
    } catch {
      return Number.NaN;
    }
  },
};

/** Compliance events have no id, so two events count as the same if their bytes are equal. */
export const EVENT_PARSER: RecordParser<ComplianceEvent> = {
  parse: parseComplianceEvent,
  idOf: ({ raw }) => createHash('sha256').update(raw).digest('base64'),
  // Returns no time. `at` is not used, because the stream may deliver an event in a later minute.
  timeOf: () => Number.NaN,
};

export function checkReplay(call: string, account: Account, options: ReplayOptions) {
  const checked = checkAccountOptions(call, account, REPLAY_OPTIONS, options);
  const { streamType, streamLabel } = checked;
  const timings = checked.timings as ReplayTimings;
  const url = replayUrl(account, streamType, streamLabel);
  const service = account.serviceAt(url);
  const from = parseDate(checked.fromDate) ?? 0;
  if (checked.incremental === true) {
    if (checked.toDate !== undefined)
      throw optionError(
        call,
        'toDate',
        'must not be given with `incremental`: each run ends 31 minutes before it begins',
      );
    if (checked.onGap === undefined)
      throw optionError(
        call,
        'onGap',
        'is missing: `incremental` needs it, so that minutes that are gone do not end each run that follows',
      );
    const identity = { replay: url.pathname, incremental: true, ...service };
    return { ...checked, account, url, identity, window: { from, to: from }, timings };
  }
  if (checked.toDate === undefined)
    throw optionError(call, 'toDate', 'is missing: the last minute, exclusive');
  const window = { from, to: parseDate(checked.toDate) ?? 0 };
  const [fromDate, toDate] = [formatTimestamp(window.from), formatTimestamp(window.to)];
  if (window.from >= window.to)
    throw optionError(call, 'toDate', `must be after \`fromDate\` ${fromDate}, got ${toDate}`);
  // If the service's clock is not known yet, `replayConnections` checks the window as soon as a response
  // shows the clock.
  if (account.clock.isGiven) refuseFarAhead(call, window, account.clock.now());
  const identity = { replay: url.pathname, fromDate, toDate, ...service };
  return { ...checked, account, url, identity, window, timings };
}

export function replayUrl(
  account: Account,
  type: StreamType,
  streamLabel: string | undefined,
): URL {
  const stream = type === 'rulestream' ? '{rulestream}' : type;
  const path = `replay/${stream}/accounts/{account}/publishers/{publisher}/{streamLabel}.json`;
  checkSilence(account, 'replay streams');
  return serviceUrl(account, 'replayStreamUrl', path, {
    purpose: 'replay streams',
    given: { streamLabel },
  });
}
