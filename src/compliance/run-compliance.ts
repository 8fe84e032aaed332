import { setMaxListeners } from 'node:events';
import { abortable, answerOf, LinkedAbort } from '../base/abortable.js';
import { Channel } from '../base/channel.js';
import { cursorError, optionError } from '../base/check.js';
import { type DataError, IncompleteError, type OptionError } from '../base/errors.js';
import {
  type Dates,
  datesOf,
  floorTo,
  formatTimestamp,
  HOUR,
  MINUTE,
  mergeRanges,
  SECOND,
  subtractRanges,
  type Window,
  windowOf,
} from '../base/time.js';
import { WakeUp } from '../base/wait.js';
import type { Batches, Cursor, Run } from '../flow/flow.js';
import { changedOption, shown } from '../flow/flow-identity.js';
import type { Account } from '../http/account.js';
import type { DamagedRecord, OnDamaged } from '../json/records.js';
import { isText, type Json, listOf, shaped } from '../json/type-guards.js';
import type { ComplianceEvent } from '../post/compliance-event.js';
import { EVENT_PARSER } from '../replay/replay.js';
import { parseReplayCursor } from '../replay/replay-cursor.js';
import type { ReplayWait } from '../replay/replay-wait.js';
import { type Gap, type ReplayRun, runReplay } from '../replay/run-replay.js';
import { maintainConnection } from './maintain-connection.js';

/**
 * Minutes whose events could not be fetched. `reason` is the replay's reason for the gap, or `not filled` if
 * there was no replay.
 */
export interface ComplianceGap extends Omit<Gap, 'reason'> {
  readonly reason: Gap['reason'] | 'not filled';
}

export interface ComplianceRun {
  readonly account: Account;
  readonly urls: readonly URL[];
  /** The result of `Account.serviceAt` for the first of `urls`. */
  readonly service: { readonly service?: string };
  /** The start in epoch milliseconds. `undefined` to start with new events. */
  readonly since: number | undefined;
  /** Creates the replay that fetches the events of a gap. Absent if gaps are only reported to `onGap`. */
  readonly replayOf:
    | ((window: Window) => Omit<ReplayRun<ComplianceEvent>, 'parse' | 'idOf' | 'timeOf'>)
    | undefined;
  readonly resume: Cursor | undefined;
  readonly untilCaughtUp: boolean;
  readonly onGap: (gap: ComplianceGap) => unknown;
  readonly onDamaged: OnDamaged | undefined;
}

/** When the unread events reach this many bytes, about 30,000 events, the connections are paused. */
const MAX_WAITING_BYTES = 8 * 2 ** 20;
/** The interval in milliseconds at which cursors are delivered while no events arrive. */
const QUIET_MS = 15 * SECOND;
/** The wait before a failed replay of a gap is repeated, in milliseconds. */
const RETRY_WAIT_MS = 5 * MINUTE;
/**
 * The maximum time by which `fromDate` may be later than the service's clock, in milliseconds. `fromDate` is
 * often the current time of this machine, whose clock may be ahead.
 */
const MAX_AHEAD_MS = HOUR;

export async function* runCompliance(job: ComplianceRun, run: Run): Batches<ComplianceEvent> {
  const { urls } = job;
  const account = job.account.withProgress(run.progress);
  const showLeft = ({ leftMs }: ReplayWait) => {
    if (leftMs !== undefined && run.progress !== undefined)
      run.progress.endsAt = performance.now() + leftMs;
  };
  // Progress shows the waits of a replay only in a run with `until`. In an endless run, live events continue
  // to arrive during these waits.
  const waits = job.untilCaughtUp ? { account, onWait: showLeft } : { account: job.account };
  const { timing } = account;
  const resume = run.resume ?? job.resume;
  const start = resume === undefined ? { until: job.since, gaps: [] } : parseCursor(job, resume);
  const queue = new Channel<ComplianceEvent>(MAX_WAITING_BYTES, ({ raw }) => raw.length);
  const ours = new LinkedAbort(run.signal);
  const { signal } = ours;
  // Each connection adds several listeners to the signal. Without this call, Node would warn of a memory
  // leak.
  setMaxListeners(0, signal);
  const gapFound = new WakeUp();
  const gaps = new ConnectionGaps(urls.length, start, () => {
    if (job.untilCaughtUp && gaps.areCaughtUp) queue.poke();
  });

  const fail = (error: unknown) => {
    queue.fail(error);
    ours.abort(error);
  };
  const damaged = async (record: DamagedRecord, error: DataError) => {
    try {
      if (job.onDamaged !== undefined) await answerOf(job.onDamaged(record, error), signal);
      else
        throw new IncompleteError(
          `The compliance stream sent a damaged record. ${error.message}. Pass \`onDamaged\`, or \`damaged\` to the sink, to skip such records`,
          { missing: ['one record'], cursor: cursorOf(job, gaps.state), cause: error },
        );
    } catch (thrown) {
      // Aborts all connections. Otherwise, `maintainConnection` might connect again after this error.
      fail(thrown);
      throw thrown;
    }
  };

  let told = timing.elapsed();
  const connections = urls.map((url, index) =>
    maintainConnection(account, url, signal, {
      connected: at => {
        if (resume === undefined && job.since !== undefined && job.since > at + MAX_AHEAD_MS)
          return fail(inFuture(job.since, at));
        gaps.connected(index, at);
        gapFound.wake();
      },
      delivered: until => {
        gaps.delivered(index, until);
        if (timing.elapsed() - told >= QUIET_MS) queue.poke();
      },
      damaged,
      events: events => queue.add(events),
    }),
  );
  const work = [
    ...connections,
    fillGaps({ ...job, ...waits, onDamaged: damaged }, gaps, queue, gapFound, signal),
  ];
  for (const one of work) one.catch(fail);
  try {
    while (await queue.ready()) {
      // Takes the items and the state in the same turn of the event loop. Otherwise a connection
      // could add events and change the state in between.
      const items = queue.takeAll();
      const state = { ...gaps.state };
      const isOver = job.untilCaughtUp && gaps.areCaughtUp;
      told = timing.elapsed();
      if (run.progress !== undefined) {
        run.progress.received += items.length;
        run.progress.reached = state.until;
      }
      yield { items, origin: urls[0]?.href, cursor: cursorOf(job, state) };
      if (isOver) return;
    }
  } finally {
    queue.end();
    ours.abort(new Error('The compliance stream is no longer read'));
    await Promise.allSettled(work);
    ours.unlink();
  }
}

function inFuture(since: number, now: number): OptionError {
  return optionError(
    'compliance',
    'fromDate',
    `must be in the past, but ${formatTimestamp(since)} is after the time of the service, ${formatTimestamp(now)}`,
  );
}

interface GapFilling extends ComplianceRun {
  readonly onWait?: ReplayRun<ComplianceEvent>['onWait'];
}

/** Fills the gaps one at a time. A replay fetches the events of each gap once the gap is old enough. */
async function fillGaps(
  { account, onWait, replayOf, onGap, onDamaged }: GapFilling,
  gaps: ConnectionGaps,
  queue: Channel<ComplianceEvent>,
  gapFound: WakeUp,
  signal: AbortSignal,
): Promise<void> {
  let failures = 0;
  while (true) {
    signal.throwIfAborted();
    const gap = gaps.oldest;
    if (gap === undefined) {
      await abortable(gapFound.next(), signal);
      continue;
    }
    if (replayOf === undefined) {
      await answerOf(onGap({ ...datesOf(gap), reason: 'not filled' }), signal);
      gaps.filled(gap);
      continue;
    }
    const replay = { ...replayOf(gap), ...EVENT_PARSER, account, onWait, onGap, onDamaged };
    try {
      for await (const { items, cursor } of runReplay(replay, { signal })) {
        await queue.add(items);
        if (cursor === undefined) continue;
        // Removes the replayed part of the gap from the run's cursors, so that a later run does not replay it
        // again.
        const { open } = parseReplayCursor(replay.identity, cursor).state;
        for (const done of subtractRanges(gap, open)) gaps.filled(done);
      }
      gaps.filled(gap);
      failures = 0;
    } catch (error) {
      signal.throwIfAborted();
      if (!(error instanceof IncompleteError && error.retryable)) throw error;
      failures++;
      const waitMs = RETRY_WAIT_MS;
      await answerOf(account.onRetry({ error, attempts: failures, waitMs }), signal);
      const end = account.beginWait({ reason: 'retry', waitMs, error, retry: failures });
      await account.timing.sleep(waitMs, signal).finally(end);
    }
  }
}

/**
 * Returns the cursor of the run. A run that starts with new events has no cursor until each
 * connection has been established once. Before that, no time is known from which a later run could
 * continue.
 */
function cursorOf(
  { urls, service }: ComplianceRun,
  { until, gaps }: ConnectionGapsState,
): Cursor | undefined {
  if (until === undefined) return undefined;
  // A cursor is created for each batch but rarely serialized, so its members are formatted only on
  // serialization.
  return {
    source: 'compliance',
    stream: { toJSON: () => streamOf(urls) },
    ...service,
    until: { toJSON: () => new Date(until).toISOString() },
    gaps: { toJSON: () => gaps.map(gap => ({ ...datesOf(gap) })) },
  };
}

function parseCursor({ urls, service: now }: ComplianceRun, cursor: Cursor): ConnectionGapsState {
  const json = JSON.parse(JSON.stringify(cursor)) as Record<string, Json> | null;
  const { source, stream, until, gaps, service } = json ?? {};
  if (source !== 'compliance' || stream !== streamOf(urls))
    throw cursorError(
      `is not one of this compliance stream, ${streamOf(urls)}: it belongs to ${JSON.stringify(stream ?? source ?? null)}`,
    );
  if (changedOption({ service }, now) !== undefined)
    throw cursorError(
      `is one of another service: it was ${shown(service)}, and now it is ${shown(now.service)}`,
    );
  const at = Date.parse(String(until));
  if (Number.isNaN(at) || !areRanges(gaps)) throw cursorError('is damaged');
  const windows = gaps.map(windowOf);
  if (windows.some(({ from, to }) => !(from < to))) throw cursorError('is damaged');
  return { until: at, gaps: windows };
}

const areRanges = listOf(shaped<Dates>({ fromDate: isText, toDate: isText }));

function streamOf(urls: readonly URL[]): string {
  return urls.map(({ pathname, search }) => pathname + search).join(' ');
}

/**
 * Gaps are extended by this many milliseconds on both sides. An event may arrive up to this long after the
 * time it states.
 */
const LATE = MINUTE;

interface ConnectionGapsState {
  /** The time up to which all connections have delivered every event, in epoch milliseconds. */
  readonly until: number | undefined;
  /** Whole minutes whose events have not been fetched yet. */
  readonly gaps: readonly Window[];
}

/**
 * Records the times in which a compliance stream had no connection. A replay must fetch the events of these
 * times. Uses no I/O and no clock: the caller passes times.
 */
export class ConnectionGaps {
  /**
   * For each connection, the time up to which it has delivered every event. Until the connection is first
   * established, this is the time from which the run needs events, or `undefined` if the run needs only new
   * events.
   */
  readonly #delivered: (number | undefined)[];
  /** The time at which each connection was established for the first time in this run. */
  readonly #begun = new Map<number, number>();
  #gaps: readonly Window[];
  readonly #onChange: () => void;

  /**
   * @param start The state to continue from. If it has `until`, the time from `until` to the first connection
   * is a gap.
   * @param onChange Called after each change.
   */
  constructor(
    connections: number,
    start: ConnectionGapsState = { until: undefined, gaps: [] },
    onChange: () => void = () => {},
  ) {
    this.#delivered = Array.from({ length: connections }, () => start.until);
    this.#gaps = mergeRanges(start.gaps, () => true);
    this.#onChange = onChange;
  }

  /**
   * Call this when a connection is established. Adds a gap: the time since all events of the connection were
   * last known to be delivered. At the first call for a connection, the gap starts where the run starts. If
   * the run starts with new events, there is no gap.
   */
  connected(connection: number, at: number): void {
    const before = this.#delivered[connection];
    this.#delivered[connection] = at;
    if (!this.#begun.has(connection)) this.#begun.set(connection, at);
    if (before !== undefined) {
      const gap = {
        from: floorTo(MINUTE, before - LATE),
        to: floorTo(MINUTE, Math.max(at, before) + LATE + MINUTE - 1),
      };
      this.#gaps = mergeRanges([...this.#gaps, gap], () => true);
    }
    this.#onChange();
  }

  /** Call this when all events of a connection up to the time `until` have been delivered. */
  delivered(connection: number, until: number): void {
    this.#delivered[connection] = Math.max(until, this.#delivered[connection] ?? until);
    this.#onChange();
  }

  filled(window: Window): void {
    this.#gaps = this.#gaps.flatMap(gap => subtractRanges(gap, [window]));
    this.#onChange();
  }

  /**
   * Whether all connections have been established in this run, and all events up to that moment have been
   * delivered, including the events in gaps.
   */
  get areCaughtUp(): boolean {
    const { until, gaps } = this.state;
    if (until === undefined || this.#begun.size < this.#delivered.length) return false;
    const last = Math.max(...this.#begun.values());
    return until >= last && gaps.every(({ from }) => from >= last);
  }

  get oldest(): Window | undefined {
    return this.#gaps[0];
  }

  get state(): ConnectionGapsState {
    const known = this.#delivered.filter(at => at !== undefined);
    const until = known.length < this.#delivered.length ? undefined : Math.min(...known);
    return { until, gaps: this.#gaps };
  }
}
