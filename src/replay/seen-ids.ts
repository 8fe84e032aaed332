import { IdWindow } from '../activity/id-window.js';
import { cursorError } from '../check.js';
import type { Json } from '../json/json.js';
import { floorTo, formatTimestamp, MINUTE, parseTimestamp, type Window } from '../time.js';

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
