import { DataError, HttpError, IncompleteError, MillraceError, StorageError } from '../errors.js';
import type { Batches, Cursor, Run } from '../flow/flow.js';
import type { Progress } from '../flow/progress.js';
import { ReadAhead } from '../flow/read-ahead.js';
import type { Account } from '../http/account.js';
import { connectLive, isFinalStatus } from '../http/live-connection.js';
import type { OnDamaged } from '../json/damaged-record.js';
import { formatTimestamp, SECOND, type Window } from '../time.js';
import { ConnectLog, replayFolder } from './connect-log.js';
import { overlap } from './minute-ranges.js';
import { type Damaged, receiveReplay } from './receive-replay.js';
import { parseReplayCursor, type ReplayIdentity, replayCursor } from './replay-cursor.js';
import { ReplayMachine, type ReplayState } from './replay-machine.js';
import { ReplaySpool } from './replay-spool.js';
import type { ReplayTimings } from './replay-timings.js';
import { type ReplayWait, WaitReporter } from './replay-wait.js';
import { SeenIds } from './seen-ids.js';

/** Minutes that could not be had, in the service's own words for time. */
export interface Gap {
  /** First minute, inclusive: `YYYYMMDDHHMM`, UTC. */
  readonly fromDate: string;
  /** Last minute, exclusive. */
  readonly toDate: string;
  /**
   * `expired`: older than five days before it was confirmed; a historical job may still have it.
   * `failed`: the service failed to deliver it, time and again. `unverified`: delivered, but fewer or
   * more activities than the service counted, time and again.
   */
  readonly reason: 'expired' | 'failed' | 'unverified';
}

/** A replay that has passed every check. */
export interface ReplayRun<T> {
  readonly account: Account;
  /** But for the dates. */
  readonly url: URL;
  readonly identity: ReplayIdentity;
  readonly window: Window;
  readonly timings: ReplayTimings;
  readonly folder: string | undefined;
  readonly maxMemory: number;
  readonly resume: Cursor | undefined;
  readonly onGap: ((gap: Gap) => void) | undefined;
  readonly onDamaged: OnDamaged | undefined;
  readonly onWait: ((wait: ReplayWait) => void) | undefined;
  readonly parse: (record: Buffer) => T;
  /** What makes two items the same. */
  readonly idOf: (item: T) => string;
  /** Epoch milliseconds, or `NaN`. */
  readonly timeOf: (item: T) => number;
}

/** What one connection brought, safe to be handed on. */
interface Delivery {
  readonly spool: ReplaySpool;
  /** Of the machine, once it is. */
  readonly state: ReplayState;
  readonly damaged: readonly Damaged[];
  /** Whether some of it came before, or will come again, as minutes of it failed. */
  readonly inParts: boolean;
}

/**
 * All activities of a window, each once. A connection's activities are kept back until the service has
 * said its last word on it, and handed on with a cursor after them: so what was committed is confirmed,
 * and what was not confirmed was never handed on. The next connection is read meanwhile.
 */
export async function* runReplay<T>(job: ReplayRun<T>, run: Run): Batches<T> {
  const { account, identity, window, timings } = job;
  const { signal, progress } = run;
  const resume = run.resume ?? job.resume;
  const place = resume === undefined ? undefined : parseReplayCursor(identity, resume);
  const { rates } = account.rateLimiter('replay', job.url);
  const machine = new ReplayMachine(place?.state ?? window, { timings, rates });
  const seen = new SeenIds();
  if (place !== undefined) seen.restore(place.ids);
  let cursor = resume;
  let confirmed = machine.state;
  const leaveOut: OnDamaged = (record, error) => {
    if (job.onDamaged === undefined) {
      const missing = confirmed.open.map(shown);
      throw new IncompleteError(
        `The replay came upon a damaged record. ${error.message}. Missing: ${missing.join(', ')}. Pass \`onDamaged\` to be told of such records and go on without them`,
        { missing, cursor, cause: error },
      );
    }
    job.onDamaged(record, error);
    progress?.drop('damaged', 1);
  };

  const folder = await replayFolder(job.folder);
  const spools = new Set<ReplaySpool>();
  try {
    const coming = connections(job, machine, { folder, spools, signal, progress });
    for await (const { spool, state, damaged, inParts } of new ReadAhead(coming, 1).read()) {
      // Where nothing was, or is to be, had in parts, ids count within the connection alone.
      const ids = inParts ? seen : new SeenIds();
      const timeOf = inParts ? job.timeOf : () => Number.NaN;
      for (const { record, error } of damaged) leaveOut(record, error);
      for await (const records of spool.read()) {
        const items: T[] = [];
        let again = 0;
        for (const record of records) {
          const read = readRecord(job, record);
          if (read instanceof DataError)
            leaveOut({ raw: Buffer.from(record), origin: job.url.href }, read);
          else if (ids.add(read.id, timeOf(read.item))) items.push(read.item);
          else again++;
        }
        if (progress !== undefined) progress.received += records.length;
        progress?.drop('replayed before', again);
        yield { items, origin: job.url.href };
      }
      seen.keepOnly(state.open.filter(range => range.partial));
      cursor = replayCursor(identity, state, seen);
      confirmed = state;
      if (progress !== undefined) {
        progress.fraction = 1 - minutesIn(state.open) / minutesIn([window]);
        progress.reached = state.open[0]?.from ?? window.to;
      }
      yield { items: [], cursor, origin: job.url.href };
      spools.delete(spool);
      await spool.close();
    }
  } catch (error) {
    if (!(error instanceof GaveUp)) throw error;
    const missing = [...machine.state.open.map(shown), ...machine.state.gaps.map(shownGap)];
    throw new IncompleteError(
      `The replay gave up after ${timings.attempts} connections that confirmed no minute, the last for this reason: ${error.trouble.message}. Missing: ${missing.join(', ')}`,
      { missing, cursor, cause: error.trouble, retryable: true },
    );
  } finally {
    for (const spool of spools) await spool.close();
  }
  reportGaps(job, machine.state, cursor);
}

/** How long the clock is not looked at while minutes are too recent. */
const WAIT_STEP = SECOND;
/** Refusals in a row, such as 406, that are taken for a passing state of the service. */
const MAX_REFUSALS = 5;

function readRecord<T>({ parse, idOf }: ReplayRun<T>, record: Buffer) {
  try {
    const item = parse(record);
    return { item, id: idOf(item) };
  } catch (error) {
    if (error instanceof DataError) return error;
    throw error;
  }
}

class GaveUp extends Error {
  readonly trouble: Error;

  constructor(trouble: Error) {
    super('The replay gave up');
    this.trouble = trouble;
  }
}

/** Connects as the machine says, and gives what is to be handed on. */
async function* connections<T>(
  { account, url, maxMemory, onWait }: ReplayRun<T>,
  machine: ReplayMachine,
  { folder, spools, signal, progress }: Surroundings,
): AsyncGenerator<Delivery, void, undefined> {
  const { timing, clock, onRetry } = account;
  const pace = account.rateLimiter('replay', url);
  const log = new ConnectLog(folder, JSON.stringify([url.origin, account.settings.account]));
  let trouble: MillraceError | undefined;
  let attempts = 0;
  let refusals = 0;
  /** Whether `onRetry` has yet to hear of `trouble`. */
  let untold = false;
  const waits = new WaitReporter(onWait, progress);
  while (true) {
    signal.throwIfAborted();
    if (pace.rates.length > 0) machine.alsoConnected(await log.read());
    const action = machine.next(timing.now(), clock.isKnown ? clock.now() : undefined);
    if (action.do === 'done') return;
    if (action.do === 'give up') throw new GaveUp(trouble ?? new Error('no reason was given'));
    if (untold && trouble !== undefined)
      onRetry?.({ error: trouble, attempts, waitMs: action.do === 'wait' ? action.ms : 0 });
    untold = false;
    if (action.do === 'wait') {
      waits.begin(action, clock.now());
      // The service's clock may be moved, and other calls of the account may tell of it.
      const stepMs = action.why === 'too recent' ? Math.min(action.ms, WAIT_STEP) : action.ms;
      await timing.sleep(stepMs, signal);
      continue;
    }
    waits.end();
    const { range } = action;
    const start = await pace.acquire(undefined, signal);
    const at = timing.now();
    if (pace.rates.length > 0) await log.add(at);
    machine.connecting(at);
    attempts++;
    const spool = new ReplaySpool(folder, maxMemory);
    spools.add(spool);
    let handOn = false;
    let damaged: readonly Damaged[] = [];
    let inParts = isInParts(machine.state, range);
    try {
      const connection = await connectLive(account, withDates(url, range), start, signal);
      const received = await receiveReplay(connection, spool, signal);
      const { activities, info, error: why } = received;
      damaged = received.damaged;
      const now = timing.now();
      refusals = 0;
      trouble = why;
      if (info === undefined) machine.cut(now, timing.random());
      else {
        handOn = machine.ended(range, info, activities, now, timing.random());
        trouble = handOn
          ? undefined
          : new IncompleteError(info.message, { missing: [shown(range)] });
      }
      if (handOn) attempts = 0;
    } catch (error) {
      signal.throwIfAborted();
      refusals = error instanceof HttpError && !error.retryable ? refusals + 1 : 0;
      if (refusals === MAX_REFUSALS && !isOfDates(error)) throw error;
      trouble = refusedBy(error, { account, machine, range });
    }
    untold = trouble !== undefined;
    if (handOn) {
      const { state } = machine;
      inParts ||= isInParts(state, range);
      yield { spool, state, damaged, inParts };
    } else {
      spools.delete(spool);
      await spool.close();
    }
  }
}

function isInParts({ open }: ReplayState, range: Window): boolean {
  return open.some(one => one.partial && overlap(one, range) !== undefined);
}

interface Surroundings {
  readonly folder: string;
  readonly spools: Set<ReplaySpool>;
  readonly signal: AbortSignal;
  readonly progress: Progress | undefined;
}

/** Tells the machine why there was no connection, or throws what no waiting will mend. */
function refusedBy(
  error: unknown,
  { account: { timing, clock }, machine, range }: Refused,
): MillraceError {
  // No other connection mends a disk.
  if (!(error instanceof MillraceError) || error instanceof StorageError) throw error;
  const now = timing.now();
  const random = timing.random();
  if (!(error instanceof HttpError)) {
    if (!error.retryable) throw error;
    machine.refused(now, random);
  } else if (isFinalStatus(error)) throw error;
  else if (isOfDates(error)) machine.datesRefused(range, now, clock.now(), random);
  else if (error.status === 429) machine.limited(now, error.retryAfterMs);
  else machine.refused(now, random, error.retryAfterMs);
  return error;
}

interface Refused {
  readonly account: Account;
  readonly machine: ReplayMachine;
  readonly range: Window;
}

/** The service names the parameter that it does not take. */
function isOfDates(error: unknown): boolean {
  return (
    error instanceof HttpError &&
    (error.status === 406 || error.status === 400) &&
    /\b(fromDate|toDate)\b/.test(error.body)
  );
}

function withDates(url: URL, { from, to }: Window): URL {
  const dated = new URL(url);
  dated.searchParams.set('fromDate', formatTimestamp(from));
  dated.searchParams.set('toDate', formatTimestamp(to));
  return dated;
}

function reportGaps<T>(job: ReplayRun<T>, { gaps }: ReplayState, cursor: Cursor | undefined): void {
  if (gaps.length === 0) return;
  if (job.onGap === undefined)
    throw new IncompleteError(
      `The replay is over, but the service could not deliver all of it. Missing: ${gaps.map(shownGap).join(', ')}. Pass \`onGap\` to be told of this instead`,
      { missing: gaps.map(shownGap), cursor },
    );
  for (const { from, to, reason } of gaps)
    job.onGap({ fromDate: formatTimestamp(from), toDate: formatTimestamp(to), reason });
}

function shown({ from, to }: Window): string {
  return `${formatTimestamp(from)} to ${formatTimestamp(to)}`;
}

function shownGap(gap: Window & { readonly reason: string }): string {
  return `${shown(gap)} (${gap.reason})`;
}

function minutesIn(ranges: readonly Window[]): number {
  return ranges.reduce((sum, { from, to }) => sum + (to - from), 0);
}
