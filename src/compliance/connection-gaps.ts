import { mergeRanges, subtractRanges } from '../replay/minute-ranges.js';
import { floorTo, MINUTE, type Window } from '../time.js';

/** A gap is widened by this much on both sides, as an event may arrive this long after its own time. */
const LATE = MINUTE;

/** The state that a cursor holds. */
export interface ConnectionGapsState {
  /** The time up to which all connections have delivered everything, in epoch milliseconds. */
  readonly until: number | undefined;
  /** Whole minutes that are not filled yet. */
  readonly gaps: readonly Window[];
}

/**
 * The times without a connection of a compliance stream, whose events a replay must fetch. No I/O and
 * no clock: the caller passes times.
 */
export class ConnectionGaps {
  /**
   * The time up to which each connection has delivered everything; empty before the first connection.
   */
  readonly #delivered: (number | undefined)[];
  #gaps: readonly Window[];

  /** @param start with `until`, everything since then is missing until there is a connection. */
  constructor(connections: number, start: ConnectionGapsState = { until: undefined, gaps: [] }) {
    this.#delivered = Array.from({ length: connections }, () => start.until);
    this.#gaps = mergeRanges(start.gaps, () => true);
  }

  /** A connection is established; the time before it is a gap, unless it is the first. */
  connected(connection: number, at: number): void {
    const before = this.#delivered[connection];
    this.#delivered[connection] = at;
    if (before === undefined) return;
    const gap = {
      from: floorTo(MINUTE, before - LATE),
      to: floorTo(MINUTE, Math.max(at, before) + LATE + MINUTE - 1),
    };
    this.#gaps = mergeRanges([...this.#gaps, gap], () => true);
  }

  /** All events of a connection up to this time were delivered. */
  delivered(connection: number, until: number): void {
    this.#delivered[connection] = Math.max(until, this.#delivered[connection] ?? until);
  }

  filled(window: Window): void {
    this.#gaps = this.#gaps.flatMap(gap => subtractRanges(gap, [window]));
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
