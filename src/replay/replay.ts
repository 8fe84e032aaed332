import { createHash } from 'node:crypto';
import { Activity } from '../activity/activity.js';
import { type ComplianceEvent, parseComplianceEvent } from '../activity/compliance-event.js';
import { checkValue, oneOf, required, whole } from '../check.js';
import { OptionError } from '../errors.js';
import { type Cursor, Flow } from '../flow/flow.js';
import type { Account } from '../http/account.js';
import { checkNames } from '../http/check-names.js';
import type { OnDamaged } from '../json/damaged-record.js';
import { DAY, MINUTE, parseTimestamp, type Timestamp, timestampOption } from '../time.js';
import { type ReplayTimings, TIMINGS } from './replay-timings.js';
import { replayUrl, STREAM_TYPES, type StreamType } from './replay-url.js';
import type { ReplayWait } from './replay-wait.js';
import { type Gap, type ReplayRun, runReplay } from './run-replay.js';

export type { ReplayWait } from './replay-wait.js';

export interface ReplayOptions {
  /** Which stream to have again: `rulestream` is the rule-based one (service.md 4.3). */
  readonly streamType: StreamType;
  /** First minute, inclusive: `YYYYMMDDHHMM` (UTC) or a `Date`, floored to its minute. */
  readonly fromDate: Timestamp;
  /**
   * Last minute, exclusive. It may be up to 366 days ahead: the replay then waits for each minute until
   * it is half an hour old, which is when the service has it. See `onWait`.
   */
  readonly toDate: Timestamp;
  /** @default the account's `streamLabel` */
  readonly streamLabel?: string | undefined;
  /**
   * A folder of your own for what does not fit in memory, and for the times of connections, so that
   * a process that is started again and again still keeps to 5 connections in 5 minutes.
   * @default a folder of this user in the system's temporary folder
   */
  readonly folder?: string | undefined;
  /**
   * Bytes of one connection that are kept in memory before the rest goes to disk.
   * @default 33554432 (32 MiB)
   */
  readonly maxMemory?: number | undefined;
  /** Told at the end of each gap, which else makes the flow end with an `IncompleteError`. */
  readonly onGap?: ((gap: Gap) => void) | undefined;
  /**
   * Told of each record that is no activity, once the service has confirmed its minutes: returning
   * leaves it out. Without, it ends the flow with an `IncompleteError`.
   */
  readonly onDamaged?: OnDamaged | undefined;
  /**
   * Told when a wait begins for minutes that are too recent, or for the limit of connections. A wait
   * after a failure is told to the account's `onRetry`.
   */
  readonly onWait?: ((wait: ReplayWait) => void) | undefined;
  /** Other times than the service's own, for a test. */
  readonly timings?: Partial<ReplayTimings> | undefined;
  /** Where to go on: the cursor of a batch. A sink with a checkpoint does this by itself. */
  readonly resume?: Cursor | undefined;
}

/** A replay of more is a mistake in the date. */
const MAX_AHEAD = 366 * DAY;

const OPTIONS: readonly string[] = [
  ...[
    'streamType',
    'fromDate',
    'toDate',
    'streamLabel',
    'folder',
    'maxMemory',
    'onGap',
    'onWait',
    'onDamaged',
  ],
  ...['timings', 'resume'],
];

/**
 * A past window of a stream, complete: the flow ends only when the service has confirmed every minute
 * of it, and gives each activity once (service.md 4.3). Connections that break, minutes that failed,
 * requests that were not processed to their end, rate limits and server errors are made good by asking
 * again for what is missing, within 5 connections in 5 minutes.
 *
 * A connection asks for 16 minutes at first, and for up to 64 while all goes well. Its activities are
 * handed on when the service has said its last word on it, not before, so a crash, or a consumer
 * that stops, can never leave half of a window behind that looks whole. Until then they wait in memory,
 * then on disk: the service is read at its own speed, however slow the consumer is. They come in the
 * order of the stream, but for what had to be asked for again.
 *
 * Minutes that the service could not deliver are listed in the error at the end, or told to `onGap`.
 *
 * @throws OptionError at once, for options that cannot work or are missing in the account.
 * @throws HttpError from the flow, for an answer that no waiting will mend, such as 401.
 * @throws IncompleteError from the flow: when minutes are missing, once all others were delivered; or
 * when 20 connections in a row brought nothing. `missing` lists them, `cursor` is where to go on.
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
  const job = checkReplay(account, options);
  const identity = [{ step: 'replay', ...job.identity }];
  return options.streamType === 'compliance'
    ? new Flow(run => runReplay({ ...job, ...EVENT_PARSER }, run), undefined, identity)
    : new Flow(run => runReplay({ ...job, ...ACTIVITY_PARSER }, run), undefined, identity);
}

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

/** An event has no id: two are the same when all of their bytes are. */
export const EVENT_PARSER: RecordParser<ComplianceEvent> = {
  parse: parseComplianceEvent,
  idOf: ({ raw }) => createHash('sha256').update(raw).digest('base64'),
  // An event may come in another minute than that of its own time, whatever that time is.
  timeOf: () => Number.NaN,
};

/** @throws OptionError */
export function checkReplay(account: Account, options: ReplayOptions) {
  checkNames('options', options, OPTIONS);
  const { streamType, streamLabel, folder, maxMemory = 32 * 1024 * 1024, onGap, resume } = options;
  checkValue('replay', 'streamType', required(oneOf('the stream', STREAM_TYPES)), streamType);
  checkValue('replay', 'maxMemory', whole('bytes kept in memory'), maxMemory);
  if (folder !== undefined && (typeof folder !== 'string' || folder === ''))
    throw new OptionError('folder', 'Expected `folder` to name a folder');
  if (onGap !== undefined && typeof onGap !== 'function')
    throw new OptionError('onGap', 'Expected `onGap` to be a function');
  const { onWait, onDamaged } = options;
  if (onDamaged !== undefined && typeof onDamaged !== 'function')
    throw new OptionError('onDamaged', 'Expected `onDamaged` to be a function');
  if (onWait !== undefined && typeof onWait !== 'function')
    throw new OptionError('onWait', 'Expected `onWait` to be a function');
  const fromDate = timestampOption('fromDate', options.fromDate);
  const toDate = timestampOption('toDate', options.toDate);
  const window = { from: parseTimestamp(fromDate) ?? 0, to: parseTimestamp(toDate) ?? 0 };
  if (window.from >= window.to)
    throw new OptionError('toDate', `\`toDate\` ${toDate} must be after \`fromDate\` ${fromDate}`);
  if (window.to > Math.max(account.clock.now(), account.timing.now()) + MAX_AHEAD)
    throw new OptionError(
      'toDate',
      `\`toDate\` ${toDate} is more than ${MAX_AHEAD / DAY} days ahead: a replay waits for each minute to come`,
    );
  const url = replayUrl(account, streamType, streamLabel);
  const identity = { replay: url.pathname, fromDate, toDate };
  const timings = checkTimings(options.timings);
  return {
    account,
    url,
    identity,
    window,
    timings,
    folder,
    maxMemory,
    resume,
    onGap,
    onWait,
    onDamaged,
  };
}

function checkTimings(options: Partial<ReplayTimings> = {}): ReplayTimings {
  checkNames('timings', options, Object.keys(TIMINGS));
  const timings: { -readonly [Name in keyof ReplayTimings]: number } = { ...TIMINGS };
  for (const name of Object.keys(TIMINGS) as (keyof ReplayTimings)[]) {
    const value = options[name];
    if (value === undefined) continue;
    const least = ['firstWaitMs', 'maxWaitMs', 'rateLimitWaitMs'].includes(name) ? 0 : 1;
    checkValue('replay', `timings.${name}`, whole('a time', { min: least }), value);
    // A part of a minute would be taken for delivered, and never asked for.
    if (name.endsWith('ChunkMs') && value % MINUTE !== 0)
      throw new OptionError(
        `timings.${name}`,
        `Expected \`timings.${name}\` to be whole minutes, in milliseconds`,
      );
    timings[name] = value;
  }
  return timings;
}
