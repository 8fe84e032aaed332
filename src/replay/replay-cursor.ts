import { IdWindow } from '../activity/id-window.js';
import { cursorError } from '../check.js';
import { OptionError } from '../errors.js';
import type { Cursor } from '../flow/flow.js';
import { changedOption, shown } from '../flow/flow-difference.js';
import { isRecord } from '../is-record.js';
import { isCount, type Json } from '../json/json.js';
import { floorTo, formatTimestamp, MINUTE, parseTimestamp, type Window } from '../time.js';
import type { GapReason, OpenRange, ReplayGap, ReplayState } from './replay-machine.js';

/** The request that a cursor belongs to. */
export type ReplayIdentity = Readonly<Record<string, string>>;

const REASONS: readonly unknown[] = ['expired', 'failed', 'unverified'] satisfies GapReason[];

/**
 * The progress of a replay: minutes that are still to be confirmed or never will be, the times of
 * connections, and ids that may be received again.
 */
export function replayCursor(request: ReplayIdentity, state: ReplayState, seen: SeenIds): Cursor {
  return {
    source: 'replay',
    request,
    open: state.open.map(({ from, to, mismatches, failures, partial }) => ({
      fromDate: formatTimestamp(from),
      toDate: formatTimestamp(to),
      mismatches,
      failures,
      partial,
    })),
    gaps: state.gaps.map(({ from, to, reason }) => ({
      fromDate: formatTimestamp(from),
      toDate: formatTimestamp(to),
      reason,
    })),
    chunkMinutes: state.chunk / MINUTE,
    connects: state.connects.map(at => new Date(at).toISOString()),
    ids: seen.state(),
  };
}

/** @throws OptionError If the cursor belongs to another request, or is damaged. */
export function parseReplayCursor(
  request: ReplayIdentity,
  cursor: Cursor,
): { readonly state: ReplayState; readonly ids: unknown } {
  const json = JSON.parse(JSON.stringify(cursor)) as Json;
  if (!isRecord(json) || json.source !== 'replay' || !isRecord(json.request))
    throw cursorError('is not one of replay()');
  const name = changedOption(json.request, request);
  if (name !== undefined)
    throw new OptionError(
      'resume',
      `The cursor belongs to another replay: its ${name} was ${shown(json.request[name])}, and now it is ${shown(request[name])}. Use the same options, or start afresh without the cursor`,
    );
  try {
    const state: ReplayState = {
      open: listOf(json.open).map(openRange),
      gaps: listOf(json.gaps).map(gap),
      chunk: positive(json.chunkMinutes) * MINUTE,
      connects: listOf(json.connects).map(at => instant(Date.parse(String(at)))),
    };
    return { state, ids: json.ids };
  } catch (cause) {
    throw cursorError('is damaged', { cause });
  }
}

function openRange(value: Json): OpenRange {
  const { mismatches, failures, partial } = fieldsOf(value);
  if (typeof partial !== 'boolean') throw new TypeError('Expected a boolean');
  return {
    ...windowOf(value),
    mismatches: count(mismatches),
    failures: count(failures),
    partial,
  };
}

function gap(value: Json): ReplayGap {
  const { reason } = fieldsOf(value);
  if (!REASONS.includes(reason)) throw new TypeError('Expected a reason');
  return { ...windowOf(value), reason: reason as GapReason };
}

function windowOf(value: Json): { from: number; to: number } {
  const { fromDate, toDate } = fieldsOf(value);
  const from = instant(parseTimestamp(String(fromDate)));
  const to = instant(parseTimestamp(String(toDate)));
  if (from >= to) throw new TypeError('Expected minutes in their order');
  return { from, to };
}

function instant(ms: number | undefined): number {
  if (ms === undefined || Number.isNaN(ms)) throw new TypeError('Expected a time');
  return ms;
}

function count(value: Json | undefined): number {
  if (!isCount(value)) throw new TypeError('Expected a count');
  return value;
}

function positive(value: Json | undefined): number {
  const number = count(value);
  if (number === 0) throw new TypeError('Expected a count above 0');
  return number;
}

function listOf(value: Json | undefined): readonly Json[] {
  if (!Array.isArray(value)) throw new TypeError('Expected a list');
  return value;
}

function fieldsOf(value: Json): { readonly [key: string]: Json } {
  if (!isRecord(value)) throw new TypeError('Expected an object');
  return value;
}

/**
 * The maximum difference between the time of a post and the minute of the stream in which it is
 * delivered.
 */
const APART = 2 * MINUTE;
/** The key of activities without a time. */
const NO_TIME = Number.NaN;

/**
 * The ids of delivered activities that may be received again, by the minute of their time. Keeps only
 * minutes that are requested again after some of their activities were delivered.
 */
export class SeenIds {
  readonly #minutes = new Map<number, IdWindow>();

  /**
   * Returns `false` if the id was added before. `at` is in epoch milliseconds, `NaN` without a time.
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

  /** Removes ids outside these ranges, which cannot be received again. */
  keepOnly(ranges: readonly Window[]): void {
    for (const minute of this.#minutes.keys()) {
      const near = ranges.some(
        ({ from, to }) => Number.isNaN(minute) || (minute >= from - APART && minute < to + APART),
      );
      if (!near) this.#minutes.delete(minute);
    }
  }

  state(): { toJSON(): Json } {
    const minutes = [...this.#minutes].map(([minute, ids]) => [minute, ids.state()] as const);
    return {
      toJSON: () =>
        Object.fromEntries(minutes.map(([minute, ids]) => [nameOf(minute), ids.toJSON()])),
    };
  }

  /** Adds the ids of a saved `state`. */
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

function nameOf(minute: number): string {
  return Number.isNaN(minute) ? 'none' : formatTimestamp(minute);
}
