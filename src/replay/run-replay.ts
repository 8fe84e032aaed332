import { answerOf, LinkedAbort } from '../base/abortable.js';
import { DataError, IncompleteError, orDataError } from '../base/errors.js';
import { type Dates, datesOf, floorTo, MINUTE, shownRange, type Window } from '../base/time.js';
import type { Batches, Cursor, Run } from '../flow/flow.js';
import { readAhead } from '../flow/read-ahead.js';
import { learnServiceTime } from '../http/request.js';
import type { DamagedRecord, OnDamaged } from '../json/records.js';
import { replayFolder } from './connect-log.js';
import { type ConnectionOptions, GaveUp, replayConnections } from './replay-connections.js';
import { parseReplayCursor, type ReplayIdentity, replayCursor, SeenIds } from './replay-cursor.js';
import { initialState, ReplayMachine, type ReplayState } from './replay-machine.js';
import type { ReplaySpool } from './replay-spool.js';
import type { ReplayTimings } from './replay-timings.js';

/** Minutes that could not be delivered or verified. */
export interface Gap extends Dates {
  /**
   * The reason. `expired`: the minutes became older than 5 days before they were confirmed; a historical job
   * may still have them. `failed`: the service failed repeatedly to deliver the minutes. `unverified`: the
   * minutes were delivered, but never with the number of activities that the service stated.
   */
  readonly reason: 'expired' | 'failed' | 'unverified';
}

export interface ReplayRun<T> extends ConnectionOptions {
  readonly identity: ReplayIdentity;
  readonly timings: ReplayTimings;
  readonly folder: string | undefined;
  readonly maxDisk: number;
  readonly resume: Cursor | undefined;
  /**
   * Whether the window begins where the last run ended, and ends at the newest available minute. Only the
   * first run uses `window`.
   */
  readonly incremental?: boolean | undefined;
  readonly onGap: ((gap: Gap) => unknown) | undefined;
  readonly onDamaged: OnDamaged | undefined;
  readonly parse: (record: Buffer) => T;
  /** Returns the id of an item. Items with equal ids are duplicates. */
  readonly idOf: (item: T) => string;
  /** Returns the time of an item in epoch milliseconds; `NaN` if the item has no time. */
  readonly timeOf: (item: T) => number;
}

/**
 * Yields all activities of a window, without duplicates. Activities of a connection are held back until its
 * final message, so only confirmed activities are ever delivered or committed. A cursor follows the
 * activities of each connection. While these are delivered, the next connection is already being read.
 */
export async function* runReplay<T>(job: ReplayRun<T>, run: Run): Batches<T> {
  const { account, identity, window, timings } = job;
  const { progress } = run;
  const resume = run.resume ?? job.resume;
  const start = resume === undefined ? undefined : parseReplayCursor(identity, resume);
  const { rates } = account.rateLimiter('replay', job.url);
  if (job.incremental === true) {
    const { responses } = account.clock;
    const { signal } = run;
    await learnServiceTime(account.withProgress(progress), 'replayStreamUrl', {
      responses,
      signal,
    });
  }
  const until = job.incremental === true ? endOfRun(job, start?.until ?? window.from) : undefined;
  const state = until === undefined ? (start?.state ?? window) : nextState(job, start, until);
  const machine = new ReplayMachine(state, { timings, rates, maxRangeBytes: job.maxDisk });
  const seen = new SeenIds();
  if (start !== undefined) seen.restore(start.ids);
  const whole = minutesIn('open' in state ? state.open : [state]);
  let cursor = resume;
  let confirmed = machine.state;
  const skip = async (record: DamagedRecord, error: DataError) => {
    if (job.onDamaged === undefined) throw damagedError(error, confirmed.open, cursor);
    await answerOf(job.onDamaged(record, error), run.signal);
  };

  const folder = await replayFolder(job.folder);
  const spools = new Set<ReplaySpool>();
  const ours = new LinkedAbort(run.signal);
  const { signal } = ours;
  const coming = replayConnections(job, machine, { folder, spools, signal, progress });
  try {
    for await (const { spool, state, damaged, inParts } of readAhead(coming, 1)) {
      // `inParts` means that other connections may deliver posts of the same minutes. Otherwise, duplicates
      // can occur only within this connection, and the ids of other connections are not needed.
      const ids = inParts ? seen : new SeenIds();
      const timeOf = inParts ? job.timeOf : () => Number.NaN;
      for (const { record, error } of damaged) await skip(record, error);
      for await (const records of spool.read()) {
        const items: T[] = [];
        let again = 0;
        for (const record of records) {
          const read = orDataError(() => readRecord(job, record));
          if (read instanceof DataError)
            await skip({ raw: Buffer.from(record), origin: job.url.href }, read);
          else if (ids.add(read.id, timeOf(read.item))) items.push(read.item);
          else again++;
        }
        if (progress !== undefined) progress.received += records.length;
        progress?.drop('replayed before', again);
        yield { items, origin: job.url.href };
      }
      seen.keepOnly(state.open.filter(range => range.partial));
      cursor = replayCursor(identity, state, seen, until);
      confirmed = state;
      if (progress !== undefined) {
        progress.fraction = 1 - minutesIn(state.open) / whole;
        progress.reached = state.open[0]?.from ?? until ?? window.to;
      }
      yield { items: [], cursor, origin: job.url.href };
      spools.delete(spool);
      await spool.close();
    }
  } catch (error) {
    throw error instanceof GaveUp ? gaveUpError(machine.state, timings, cursor, error) : error;
  } finally {
    // The next connection may already have started. Wait for its end, because it writes to the folder and
    // counts towards the limit.
    ours.abort(new Error('The replay is no longer read'));
    await coming.return();
    ours.unlink();
    for (const spool of spools) await spool.close();
  }
  await reportGaps(job, machine.state, cursor, run.signal);
  // The next run starts after the gaps of this run. The cursor does not contain these gaps. Otherwise, the
  // next run would report them again.
  if (until !== undefined) {
    const done = { ...machine.state, open: [], gaps: [] };
    yield { items: [], cursor: replayCursor(identity, done, seen, until), origin: job.url.href };
  }
}

function damagedError(
  cause: DataError,
  open: ReplayState['open'],
  cursor: Cursor | undefined,
): IncompleteError {
  const missing = open.map(shownRange);
  return new IncompleteError(
    `The replay received a damaged record. ${cause.message}. Missing: ${missing.join(', ')}. Pass \`onDamaged\`, or \`damaged\` to the sink, to skip such records`,
    { missing, cursor, cause },
  );
}

/**
 * Returns the exclusive end of the window of an incremental run that starts now. All minutes before this end
 * are old enough to replay. The end is never before `from`.
 */
function endOfRun<T>({ account, timings }: ReplayRun<T>, from: number): number {
  const { youngestFromMs, youngestToMs } = timings;
  const newest = account.clock.now() - Math.max(youngestFromMs, youngestToMs);
  return Math.max(from, floorTo(MINUTE, newest));
}

/**
 * Returns the state for the minutes that an earlier run left open, and for the minutes since the end of that
 * run.
 */
function nextState<T>(
  { window, timings }: ReplayRun<T>,
  before: ReturnType<typeof parseReplayCursor> | undefined,
  until: number,
): ReplayState {
  const next = { from: before?.until ?? window.from, to: until };
  const more = initialState(next.from < next.to ? next : undefined, timings);
  return before ? { ...before.state, open: [...before.state.open, ...more.open] } : more;
}

function gaveUpError(
  { open, gaps }: ReplayState,
  { attempts }: ReplayTimings,
  cursor: Cursor | undefined,
  { reason }: GaveUp,
): IncompleteError {
  const missing = [...open.map(shownRange), ...gaps.map(shownGap)];
  const advice =
    cursor === undefined
      ? 'Run it again later'
      : 'Run it again later; without a checkpoint, pass the cursor of this error as `resume`';
  return new IncompleteError(
    `The replay gave up after ${attempts} connections that confirmed no minute, the last for this reason: ${reason.message}. Missing: ${missing.join(', ')}. ${advice}`,
    { missing, cursor, cause: reason, retryable: true },
  );
}

function readRecord<T>({ parse, idOf }: ReplayRun<T>, record: Buffer) {
  const item = parse(record);
  return { item, id: idOf(item) };
}

async function reportGaps<T>(
  job: ReplayRun<T>,
  { gaps }: ReplayState,
  cursor: Cursor | undefined,
  signal: AbortSignal,
): Promise<void> {
  if (gaps.length === 0) return;
  if (job.onGap === undefined)
    throw new IncompleteError(
      `The replay is over, but the service could not deliver all of it. Missing: ${gaps.map(shownGap).join(', ')}. Pass \`onGap\` to handle this`,
      { missing: gaps.map(shownGap), cursor },
    );
  for (const { reason, ...gap } of gaps)
    await answerOf(job.onGap({ ...datesOf(gap), reason }), signal);
}

function shownGap(gap: Window & { readonly reason: string }): string {
  return `${shownRange(gap)} (${gap.reason})`;
}

function minutesIn(ranges: readonly Window[]): number {
  return ranges.reduce((sum, { from, to }) => sum + (to - from), 0);
}
