import { answerOf } from '../base/abortable.js';
import { HttpError, IncompleteError, MillraceError, StorageError } from '../base/errors.js';
import { shardName } from '../base/shard.js';
import { formatTimestamp, overlap, SECOND, shownRange, type Window } from '../base/time.js';
import type { Progress } from '../flow/progress.js';
import type { Account } from '../http/account.js';
import { connectLive, isFinalStatus } from '../http/live-connection.js';
import type { Damaged } from '../json/records.js';
import { ConnectLog } from './connect-log.js';
import { type Received, receiveReplay } from './receive-replay.js';
import type { ReplayMachine, ReplayState } from './replay-machine.js';
import { ReplaySpool } from './replay-spool.js';
import { type ReplayWait, refuseFarAhead, WaitReporter } from './replay-wait.js';

export interface ConnectionOptions {
  readonly account: Account;
  /** The URL of the stream, without dates. */
  readonly url: URL;
  readonly window: Window;
  readonly maxMemory: number;
  readonly onWait: ((wait: ReplayWait) => unknown) | undefined;
}

/**
 * The activities of one connection. The service has confirmed them in the final message of the connection.
 */
export interface Delivery {
  readonly spool: ReplaySpool;
  readonly state: ReplayState;
  readonly damaged: readonly Damaged[];
  /**
   * Whether another connection may also deliver activities of this connection: an earlier one that ended
   * before its final message, or a later one that repeats failed minutes.
   */
  readonly inParts: boolean;
}

/**
 * During a wait for minutes that are still too recent, the service's clock is read this often, in
 * milliseconds.
 */
const WAIT_STEP_MS = SECOND;
/**
 * The maximum delay between storing the time of a connection and sending its request, in milliseconds. After
 * a longer delay, the connection counts towards the limit from the time at which its request was sent.
 */
const MAX_OPENING_MS = SECOND / 4;
/** The maximum number of consecutive refusals, such as 406, that are retried. */
const MAX_REFUSALS = 5;

export class GaveUp extends Error {
  readonly reason: Error;

  constructor(reason: Error) {
    super('The replay gave up');
    this.reason = reason;
  }
}

/**
 * Makes the connections that `machine` requests. Yields the activities of a connection once the service has
 * confirmed them in the final message of the connection.
 */
export async function* replayConnections(
  { url, window, maxMemory, onWait, ...job }: ConnectionOptions,
  machine: ReplayMachine,
  { folder, spools, signal, progress }: ConnectionRun,
): AsyncGenerator<Delivery, void, undefined> {
  const account = job.account.withProgress(progress);
  const { timing, clock, onRetry } = account;
  const limiter = account.rateLimiter('replay', url);
  const log = new ConnectLog(folder, budgetOf(account, url));
  const connects = async () => (limiter.rates.length > 0 ? log.read() : []);
  const run: RangeRun = {
    account,
    url,
    log,
    machine,
    signal,
    progress,
    coveredMs: 0,
    tookMs: 0,
    refusals: 0,
  };
  let failure: MillraceError | undefined;
  let attempts = 0;
  /** Whether `onRetry` still has to be called for `failure`. */
  let unreported = false;
  const waits = new WaitReporter(account);
  const estimate = async () => {
    const perMs = run.tookMs / Math.max(1, run.coveredMs);
    const leftMs = machine.leftMs(timing.now(), clock.now(), perMs, await connects());
    if (progress !== undefined)
      progress.endsAt = leftMs === undefined ? undefined : performance.now() + leftMs;
    return leftMs;
  };
  // The service's clock is known only after a response to this run. An earlier response to the account is not
  // used, because the clock may have changed since then.
  const { responses } = clock;
  try {
    while (true) {
      signal.throwIfAborted();
      const made = await connects();
      const isKnown = clock.isKnownSince(responses);
      if (isKnown) refuseFarAhead('replay', window, clock.now());
      const action = machine.next(timing.now(), isKnown ? clock.now() : undefined, made);
      if (action.do === 'done') return;
      if (action.do === 'give up') throw new GaveUp(failure ?? new Error('no reason was given'));
      if (unreported && failure !== undefined) {
        const waitMs = action.do === 'wait' ? action.ms : 0;
        await answerOf(onRetry?.({ error: failure, attempts, waitMs }), signal);
      }
      unreported = false;
      if (action.do === 'wait') {
        const wait = waits.begin(action, failure, attempts);
        if (wait !== undefined) {
          const leftMs = await estimate();
          await answerOf(onWait?.({ ...wait, leftMs }), signal);
        }
        await timing.sleep(stepMs(action), signal);
        continue;
      }
      waits.end();
      const { range } = action;
      attempts++;
      const spool = new ReplaySpool(folder, maxMemory);
      spools.add(spool);
      const wasInParts = isInParts(machine.state, range);
      const received = await tryRange(run, range, spool);
      if (received instanceof MillraceError) {
        failure = received;
        unreported = true;
        spools.delete(spool);
        await spool.close();
        continue;
      }
      failure = undefined;
      attempts = 0;
      const { state } = machine;
      const inParts = wasInParts || isInParts(state, range);
      await estimate();
      yield { spool, state, damaged: received.damaged, inParts };
    }
  } finally {
    // The reader may stop during a wait.
    waits.end();
  }
}

/**
 * Returns how long to sleep, in milliseconds. A wait for minutes that are too recent is split into short
 * sleeps. After each, the wait is computed again, because responses to other calls of the account may have
 * corrected the estimate of the service's clock.
 */
function stepMs({ why, ms }: { readonly why: string; readonly ms: number }): number {
  return why === 'too recent' ? Math.min(ms, WAIT_STEP_MS) : ms;
}

interface RangeRun extends Pick<ConnectionRun, 'signal' | 'progress'> {
  readonly account: Account;
  readonly url: URL;
  readonly log: ConnectLog;
  readonly machine: ReplayMachine;
  /**
   * The total length of all requested ranges whose connection ended with a final message, in milliseconds.
   * `tookMs` is the total duration of these connections.
   */
  coveredMs: number;
  tookMs: number;
  /** The number of consecutive refusals so far. */
  refusals: number;
}

/**
 * Makes one connection for a range of minutes, and reports the outcome to `run.machine`, which decides what
 * to do next. Returns the received activities if they are confirmed, otherwise the error.
 *
 * @throws The error of the connection, if a retry cannot help.
 */
async function tryRange(
  run: RangeRun,
  range: Window,
  spool: ReplaySpool,
): Promise<Received | MillraceError> {
  const { account, machine, signal } = run;
  const { timing, clock, retry } = account;
  const at = timing.now();
  try {
    const received = await receiveRange(run, range, at, spool);
    run.refusals = 0;
    const { end } = received;
    const now = timing.now();
    if (end instanceof MillraceError) {
      machine.cut(now, timing.random());
      return end;
    }
    run.tookMs += now - at;
    run.coveredMs += range.to - range.from;
    if (machine.ended(range, end, received, now, timing.random())) return received;
    return new IncompleteError(end.message, { missing: [shownRange(range)] });
  } catch (error) {
    signal.throwIfAborted();
    run.refusals = error instanceof HttpError && !error.retryable ? run.refusals + 1 : 0;
    const failure = connectFailure(error, retry.maxRetryAfterMs);
    const isLast = run.refusals === MAX_REFUSALS && failure !== 'dates refused';
    if (isLast || failure === 'fatal' || !(error instanceof MillraceError)) throw error;
    const now = timing.now();
    const random = timing.random();
    const retryAfterMs = error instanceof HttpError ? error.retryAfterMs : undefined;
    if (failure === 'dates refused') machine.datesRefused(range, now, clock.now(), random);
    else if (failure === 'rate limited') machine.limited(now, retryAfterMs);
    else machine.refused(now, random, retryAfterMs);
    return error;
  }
}

/**
 * Returns how a failed connection affects the next connection. `fatal` ends the replay.
 *
 * @param maxRetryAfterMs A `Retry-After` that is longer than this is fatal.
 */
function connectFailure(
  error: unknown,
  maxRetryAfterMs: number,
): 'fatal' | 'dates refused' | 'rate limited' | 'refused' {
  // A retry does not help if the disk is full.
  if (!(error instanceof MillraceError) || error instanceof StorageError) return 'fatal';
  if (!(error instanceof HttpError)) return error.retryable ? 'refused' : 'fatal';
  const { status, body, retryAfterMs = 0 } = error;
  if (isFinalStatus(error) || retryAfterMs > maxRetryAfterMs) return 'fatal';
  // The stream has no rules. A retry would fail in the same way, but would count towards the limit of
  // connections.
  if (status === 406 && /\bno rules\b/i.test(body)) return 'fatal';
  // If the service refuses a date, its response names the parameter.
  if ((status === 406 || status === 400) && /\b(fromDate|toDate)\b/.test(body))
    return 'dates refused';
  return status === 429 ? 'rate limited' : 'refused';
}

/**
 * Makes one connection, and stores the records that it delivers. The connection counts towards the limit from
 * `at`. If its request is sent much later, it counts from that time instead.
 *
 * @param at The time at which the connection starts.
 */
async function receiveRange(
  { account, url, log, signal, progress }: RangeRun,
  range: Window,
  at: number,
  spool: ReplaySpool,
): Promise<Received> {
  const isLimited = account.rateLimiter('replay', url).rates.length > 0;
  if (isLimited) await log.add(at);
  const permit = await account.acquire('replay', url, signal);
  let moved: Promise<void> | undefined;
  const count = async (sentAt: number) => {
    if (isLimited && sentAt - at > MAX_OPENING_MS) await log.move(at, sentAt);
  };
  const sent = () => {
    permit.sent();
    moved ??= count(account.timing.now());
    // `moved` is awaited in `finally` below. Without this handler, a failure before that would be an
    // unhandled rejection.
    moved.catch(() => {});
  };
  const counted = { ...permit, sent };
  try {
    const connection = await connectLive(account, withDates(url, range), counted, signal);
    return await receiveReplay(connection, spool, signal, progress);
  } finally {
    // Another run may read the stored times as soon as this run has ended, so they must be complete.
    await moved;
  }
}

function isInParts({ open }: ReplayState, range: Window): boolean {
  return open.some(one => one.partial && overlap(one, range) !== undefined);
}

interface ConnectionRun {
  readonly folder: string;
  readonly spools: Set<ReplaySpool>;
  readonly signal: AbortSignal;
  readonly progress: Progress | undefined;
}

/**
 * Returns a key for the connections that share one limit of the service. Each shard has its own part of the
 * limit, and therefore its own key.
 */
function budgetOf({ settings: { account, shard } }: Account, url: URL): string {
  return JSON.stringify([url.origin, account, ...(shard === undefined ? [] : [shardName(shard)])]);
}

function withDates(url: URL, { from, to }: Window): URL {
  const dated = new URL(url);
  dated.searchParams.set('fromDate', formatTimestamp(from));
  dated.searchParams.set('toDate', formatTimestamp(to));
  return dated;
}
