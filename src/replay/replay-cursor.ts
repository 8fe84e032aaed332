import { cursorError } from '../base/check.js';
import { OptionError } from '../base/errors.js';
import { isRecord } from '../base/record.js';
import {
  type Dates,
  datesOf,
  floorTo,
  formatTimestamp,
  MINUTE,
  parseTimestamp,
  type Window,
  windowOf,
} from '../base/time.js';
import type { Cursor } from '../flow/flow.js';
import { changedOption, shown } from '../flow/flow-identity.js';
import { isCount, isFlag, isText, type Json, listOf, shaped } from '../json/type-guards.js';
import { IdWindow } from '../post/id-window.js';
import type { GapReason, OpenRange, ReplayGap, ReplayState } from './replay-machine.js';

export type ReplayIdentity = Readonly<Record<string, string | boolean>>;

const REASONS: readonly unknown[] = ['expired', 'failed', 'unverified'] satisfies GapReason[];

/**
 * Returns a cursor for the progress of a replay. It contains the minutes that are not confirmed yet, the
 * gaps, and the ids of delivered activities that may be received again.
 *
 * @param until For an incremental replay, the end of the window of this run. The next run continues from
 * there.
 */
export function replayCursor(
  request: ReplayIdentity,
  state: ReplayState,
  seen: SeenIds,
  until?: number,
): Cursor {
  return {
    source: 'replay',
    request,
    ...(until !== undefined && { until: formatTimestamp(until) }),
    open: state.open.map(withDates),
    gaps: state.gaps.map(withDates),
    chunkMinutes: state.chunk / MINUTE,
    ids: seen.state(),
  };
}

/** @throws OptionError If the cursor belongs to another request, or is damaged. */
export function parseReplayCursor(
  request: ReplayIdentity,
  cursor: Cursor,
): { readonly state: ReplayState; readonly ids: unknown; readonly until: number | undefined } {
  const json = JSON.parse(JSON.stringify(cursor)) as Json;
  if (!isRecord(json) || json.source !== 'replay' || !isRecord(json.request))
    throw cursorError('is not one of replay()');
  const name = changedOption(json.request, request);
  if (name !== undefined)
    throw new OptionError(
      'resume',
      `The cursor belongs to another replay: its ${name} was ${shown(json.request[name])}, and now it is ${shown(request[name])}. Use the same options, or start afresh without the cursor`,
    );
  const until = request.incremental === true ? parseTimestamp(String(json.until)) : undefined;
  const isDated = until !== undefined || request.incremental !== true;
  if (!isStored(json) || !isDated) throw cursorError('is damaged');
  const open = json.open.map(withWindow);
  const gaps = json.gaps.map(withWindow);
  if ([...open, ...gaps].some(({ from, to }) => from >= to)) throw cursorError('is damaged');
  return { state: { open, gaps, chunk: json.chunkMinutes * MINUTE }, ids: json.ids, until };
}

function withDates<T extends Window>({ from, to, ...rest }: T) {
  return { ...datesOf({ from, to }), ...rest };
}

function withWindow<T extends Dates>({ fromDate, toDate, ...rest }: T) {
  return { ...windowOf({ fromDate, toDate }), ...rest };
}

interface Stored {
  readonly open: readonly (Dates & Omit<OpenRange, 'from' | 'to'>)[];
  readonly gaps: readonly (Dates & Pick<ReplayGap, 'reason'>)[];
  readonly chunkMinutes: number;
}

const RANGE = { fromDate: isMinute, toDate: isMinute };
const isStored = shaped<Stored>({
  open: listOf(
    shaped<Stored['open'][number]>({
      ...RANGE,
      mismatches: isCount,
      failures: isCount,
      partial: isFlag,
    }),
  ),
  gaps: listOf(
    shaped<Stored['gaps'][number]>({ ...RANGE, reason: reason => REASONS.includes(reason) }),
  ),
  chunkMinutes: minutes => isCount(minutes) && minutes > 0,
});

function isMinute(date: unknown): boolean {
  return isText(date) && parseTimestamp(date) !== undefined;
}

/**
 * The maximum difference between the time of a post and the minute in which the stream delivers it, in
 * milliseconds.
 */
const MAX_DIFFERENCE_MS = 2 * MINUTE;
const NO_TIME = Number.NaN;

/**
 * The ids of delivered activities that may be received again, grouped by minute. They are kept only for
 * minutes that are requested again after some of their activities were delivered.
 */
export class SeenIds {
  readonly #minutes = new Map<number, IdWindow>();

  /**
   * Adds an id. Returns `false` if the id was added before. `at` is the time of the activity in epoch
   * milliseconds, or `NaN` if it has no time.
   */
  add(id: string, at: number): boolean {
    const minute = Number.isNaN(at) ? NO_TIME : floorTo(MINUTE, at);
    let ids = this.#minutes.get(minute);
    if (ids === undefined) {
      ids = new IdWindow(Number.POSITIVE_INFINITY);
      this.#minutes.set(minute, ids);
    }
    return ids.add(id);
  }

  /**
   * Removes the ids of all minutes that are not near any of these ranges, because activities of such minutes
   * are never received again.
   */
  keepOnly(ranges: readonly Window[]): void {
    for (const minute of this.#minutes.keys()) {
      const near = ranges.some(
        ({ from, to }) =>
          Number.isNaN(minute) ||
          (minute >= from - MAX_DIFFERENCE_MS && minute < to + MAX_DIFFERENCE_MS),
      );
      if (!near) this.#minutes.delete(minute);
    }
  }

  state(): { toJSON(): Json } {
    const minutes = [...this.#minutes].map(([minute, ids]) => [minute, ids.state()] as const);
    return {
      toJSON: () =>
        Object.fromEntries(
          minutes.map(([minute, ids]) => [
            Number.isNaN(minute) ? 'none' : formatTimestamp(minute),
            ids.toJSON(),
          ]),
        ),
    };
  }

  restore(state: unknown): void {
    try {
      if (typeof state !== 'object' || state === null) throw new TypeError('Expected an object');
      for (const [name, texts] of Object.entries(state)) {
        const minute = name === 'none' ? NO_TIME : parseTimestamp(name);
        if (minute === undefined || !Array.isArray(texts)) throw new TypeError(`Not ids: ${name}`);
        const ids = new IdWindow(Number.POSITIVE_INFINITY);
        ids.restore(texts);
        this.#minutes.set(minute, ids);
      }
    } catch (cause) {
      throw cursorError('is damaged: it does not have the ids that were seen', { cause });
    }
  }
}
