import path from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import type { ComplianceEvent, ComplianceGap, Tombstones } from 'millrace';
import type { Counts, Trial } from '../part.js';
import { ComplianceEvents } from './compliance.js';
import type { Planted } from './fault.js';
import { type Minutes, mustName } from './named-gaps.js';
import { RowRun } from './row-run.js';
import { mustHaveWaited, type Target } from './try-fault.js';

/** This limit only detects hangs. */
const MAX_LATE_MS = 60_000;

/**
 * Runs a trial of the compliance stream. The stream is endless, so the trial stops it when all
 * events are recorded.
 */
export async function tryCompliance(
  { row, fault, cell, clean, library, cache }: Target,
  { random, folder, signal }: Trial,
): Promise<Counts> {
  const run = await RowRun.open(row, { folder, cache, library }, fault.world?.(row));
  const events = new ComplianceEvents(run.world, random, { bytes: fault.eventBytes });
  let planted: Planted | undefined;
  try {
    // These events are sent before the stream connects, so a replay delivers them later.
    events.burst();
    const setting = { row, world: run.world, random, clean, input: '', out: run.out };
    planted = await fault.plant(setting);
    const min = planted.gap?.minutes();
    const gaps: ComplianceGap[] = [];
    const endsRun = cell.expects === 'error';
    const { mayChange } = planted;
    // A gap with the reason `unverified` contains no lost events. Their number only never matched
    // the number that the service reported.
    const isDelivered = planted.gap?.reason === 'unverified';
    const arriveAll = () =>
      untilArrived(run, events, {
        planted,
        gaps,
        signal,
        endsRun,
        mayChange,
        isDelivered,
        mustName: min,
      });
    if (endsRun || planted.mayFail) {
      const error = await run.typedErrorOf(arriveAll);
      if (endsRun && error === undefined && planted.hits() > 0)
        throw new Error('The stream went on as if nothing had been');
      if (endsRun || error !== undefined) {
        await planted.lift();
        await untilArrived(run, events, { gaps, signal, mayChange });
      }
    } else await arriveAll();
    mustHaveWaited(planted);
    const { gap } = planted;
    if (gap !== undefined && min !== undefined)
      mustName(gaps, { reason: gap.reason, min, max: gap.minutes() });
    else if (gaps.length > 0) throw new Error(`Gaps: ${JSON.stringify(gaps)}`);
    await events.mustBeIn(path.join(run.out, 'tombstones'), isDelivered ? [] : gaps, mayChange);
    const hits = Math.min(1, planted.hits());
    return { hits, gaps: gaps.length, ...planted.counts?.(), items: events.count };
  } finally {
    await planted?.lift();
    await run.close();
  }
}

async function untilArrived(
  run: RowRun,
  events: ComplianceEvents,
  {
    planted,
    gaps,
    signal,
    endsRun = false,
    ...expected
  }: {
    planted?: Planted | undefined;
    gaps: ComplianceGap[];
    signal: AbortSignal;
    endsRun?: boolean;
    mustName?: Minutes | undefined;
    isDelivered?: boolean | undefined;
    mayChange?: boolean | undefined;
  },
): Promise<void> {
  const stop = new AbortController();
  const done = new Error('All events are there');
  let tombstones: Tombstones | undefined;
  const onTombstones = (store: Tombstones) => {
    tombstones = store;
  };
  const onEvent = ({ raw }: ComplianceEvent) => events.received(raw.toString());
  const running = run.run({ planted, signal: stop.signal, gaps, onEvent, onTombstones }).then(
    () => new Error('The stream ended'),
    (error: unknown) => error,
  );
  // Stops waiting for the events once the run has ended.
  const over = running.then(error => {
    tombstones = undefined;
    stop.abort(error);
  });
  const arrived = events.arrive(() => tombstones, AbortSignal.any([signal, stop.signal]), {
    gaps,
    ...expected,
  });
  const failure = await arrived.then(
    () => undefined,
    (error: unknown) => error,
  );
  // A replay may have delivered all events before the stream has received the record that ends the
  // run. More events let the stream reach that record.
  if (failure === undefined && endsRun) {
    events.more();
    await Promise.race([over, sleep(MAX_LATE_MS, undefined, { ref: false })]);
  }
  // The tombstones are closed together with the run.
  tombstones = undefined;
  if (failure === undefined) stop.abort(done);
  else if (!stop.signal.aborted) stop.abort(failure);
  await over;
  const error = await running;
  if (error !== done) throw error;
}
