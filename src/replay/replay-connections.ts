import { answerOf } from '../abortable.js';
import { HttpError, IncompleteError, MillraceError } from '../errors.js';
import type { Progress } from '../flow/progress.js';
import type { Account } from '../http/account.js';
import { connectLive } from '../http/live-connection.js';
import type { Damaged } from '../json/damaged-record.js';
import { overlap, shownRange } from '../minute-ranges.js';
import { shareName } from '../share.js';
import { formatTimestamp, SECOND, type Window } from '../time.js';
import { ConnectLog } from './connect-log.js';
import { type Received, receiveReplay } from './receive-replay.js';
import type { ReplayMachine, ReplayState } from './replay-machine.js';
import { connectFailure, namesDates } from './replay-retry.js';
import { ReplaySpool } from './replay-spool.js';
import { type ReplayWait, refuseFarAhead, WaitReporter } from './replay-wait.js';

/** What the connections of a replay are made for. */
export interface ConnectionOptions {
  readonly account: Account;
  /** The URL without dates. */
  readonly url: URL;
  readonly window: Window;
  readonly maxMemory: number;
  readonly onWait: ((wait: ReplayWait) => unknown) | undefined;
}

/** The confirmed activities of one connection. */
export interface Delivery {
  readonly spool: ReplaySpool;
  /** The state of the machine after this connection. */
  readonly state: ReplayState;
  readonly damaged: readonly Damaged[];
  /** Whether some of its activities were or will be received again, because minutes failed. */
  readonly inParts: boolean;
}

/** How often the clock is read while minutes are too recent. */
const WAIT_STEP_MS = SECOND;
/** A connection counts from when its request is sent, where that is more than this after its time was stored. */
const MAX_OPENING_MS = SECOND / 4;
/** Refusals in a row, such as 406, that are retried. */
const MAX_REFUSALS = 5;

/** Too many connections in a row failed. */
export class GaveUp extends Error {
  readonly reason: Error;

  constructor(reason: Error) {
    super('The replay gave up');
    this.reason = reason;
  }
}

/** Connects as the machine decides, and yields the connections whose activities can be delivered. */
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
  const pace: Pace = { ms: 0, coveredMs: 0 };
  const run: RangeRun = { account, url, log, machine, pace, signal, progress };
  let failure: MillraceError | undefined;
  let attempts = 0;
  let refusals = 0;
  /** Whether `onRetry` was not called for `failure` yet. */
  let unreported = false;
  const waits = new WaitReporter({ account, onWait, signal });
  const estimate = async () => {
    const perMs = pace.ms / Math.max(1, pace.coveredMs);
    const leftMs = machine.leftMs(timing.now(), clock.now(), perMs, await connects());
    if (progress !== undefined)
      progress.endsAt = leftMs === undefined ? undefined : performance.now() + leftMs;
    return leftMs;
  };
  // The clock may have been moved since another call has learned it.
  const { responses } = clock;
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
      await waits.begin(action, estimate, failure, attempts);
      // The service's clock may change, and other calls of the account may notice.
      const stepMs = action.why === 'too recent' ? Math.min(action.ms, WAIT_STEP_MS) : action.ms;
      await timing.sleep(stepMs, signal);
      continue;
    }
    waits.end();
    const { range } = action;
    attempts++;
    const spool = new ReplaySpool(folder, maxMemory);
    spools.add(spool);
    const wasInParts = isInParts(machine.state, range);
    const outcome = await tryRange(run, range, spool, refusals);
    ({ failure, refusals } = outcome);
    unreported = failure !== undefined;
    if (unreported) {
      spools.delete(spool);
      await spool.close();
      continue;
    }
    attempts = 0;
    const { state } = machine;
    const inParts = wasInParts || isInParts(state, range);
    await estimate();
    yield { spool, state, damaged: outcome.damaged, inParts };
  }
}

/** What the connections that have got their final message covered, and how long they took. */
interface Pace {
  ms: number;
  coveredMs: number;
}

interface RangeRun extends Pick<ConnectionRun, 'signal' | 'progress'> {
  readonly account: Account;
  readonly url: URL;
  readonly log: ConnectLog;
  readonly machine: ReplayMachine;
  readonly pace: Pace;
}

/** How a connection ended. */
interface Outcome {
  /** `undefined` where its activities are confirmed. */
  readonly failure: MillraceError | undefined;
  readonly damaged: readonly Damaged[];
  /** Refusals in a row, up to this connection. */
  readonly refusals: number;
}

/** Makes one connection, and reports its end to the machine. @throws The error, if a retry cannot help. */
async function tryRange(
  run: RangeRun,
  range: Window,
  spool: ReplaySpool,
  refusalsBefore: number,
): Promise<Outcome> {
  const { account, machine, pace, signal } = run;
  const at = account.timing.now();
  try {
    const received = await receiveRange(run, range, at, spool);
    if (received.info !== undefined) {
      pace.ms += account.timing.now() - at;
      pace.coveredMs += range.to - range.from;
    }
    const failure = reportEnd(received, account, machine, range);
    return { failure, damaged: received.damaged, refusals: 0 };
  } catch (error) {
    signal.throwIfAborted();
    const refusals = error instanceof HttpError && !error.retryable ? refusalsBefore + 1 : 0;
    if (refusals === MAX_REFUSALS && !namesDates(error)) throw error;
    return { failure: reportFailure(error, account, machine, range), damaged: [], refusals };
  }
}

/**
 * Makes one connection, and stores what it delivers. The connection counts against the limit from `at`, or from when
 * its request is sent, where that takes long.
 *
 * @param at the time of the connection
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
    // Awaited below; until then, a rejection has no listener.
    moved.catch(() => {});
  };
  const counted = { ...permit, sent };
  try {
    const connection = await connectLive(account, withDates(url, range), counted, signal);
    return await receiveReplay(connection, spool, { signal, progress });
  } finally {
    // The next run may read the times as soon as this one has ended.
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

/** What the service counts together. Each share has its part of the limit. */
function budgetOf({ settings: { account, share } }: Account, url: URL): string {
  return JSON.stringify([url.origin, account, ...(share === undefined ? [] : [shareName(share)])]);
}

/** Reports to the machine how a connection ended. Returns the failure; `undefined` where its activities are confirmed. */
function reportEnd(
  received: Received,
  { timing }: Account,
  machine: ReplayMachine,
  range: Window,
): MillraceError | undefined {
  const { info, error } = received;
  const now = timing.now();
  if (info === undefined) {
    machine.cut(now, timing.random());
    return error;
  }
  if (machine.ended(range, info, received, now, timing.random())) return undefined;
  return new IncompleteError(info.message, { missing: [shownRange(range)] });
}

/** Reports a failed connection to the machine. @throws The error, if a retry cannot help. */
function reportFailure(
  error: unknown,
  { timing, clock, retry }: Account,
  machine: ReplayMachine,
  range: Window,
): MillraceError {
  const failure = connectFailure(error, retry.maxRetryAfterMs);
  if (failure === 'fatal' || !(error instanceof MillraceError)) throw error;
  const now = timing.now();
  const random = timing.random();
  const retryAfterMs = error instanceof HttpError ? error.retryAfterMs : undefined;
  if (failure === 'dates refused') machine.datesRefused(range, now, clock.now(), random);
  else if (failure === 'rate limited') machine.limited(now, retryAfterMs);
  else machine.refused(now, random, retryAfterMs);
  return error;
}

function withDates(url: URL, { from, to }: Window): URL {
  const dated = new URL(url);
  dated.searchParams.set('fromDate', formatTimestamp(from));
  dated.searchParams.set('toDate', formatTimestamp(to));
  return dated;
}
