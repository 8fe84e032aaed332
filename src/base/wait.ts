import { setTimeout as delay } from 'node:timers/promises';
import type { MillraceError } from './errors.js';

/** The longest delay of Node's timers. A longer one fires after 1 ms, with a warning. */
export const MAX_TIMER_MS = 2 ** 31 - 1;

/** Resolves after any number of milliseconds; rejects with the signal's reason on an abort. */
export async function sleep(ms: number, signal?: AbortSignal): Promise<void> {
  try {
    for (let left = ms; left > 0; left -= MAX_TIMER_MS)
      await delay(Math.min(left, MAX_TIMER_MS), undefined, { signal });
  } catch (error) {
    signal?.throwIfAborted();
    throw error;
  }
  signal?.throwIfAborted();
}

/** A wait of a source or of `throttle`, for messages and progress. */
export interface Wait {
  /**
   * `rate limit`: the service takes a number of requests in a span of time; `connect limit`: the same
   * for connections to a stream; `too recent`: it replays minutes once they are half an hour old;
   * `retry`: after a failure; `servers`: servers of a stream are out of reach, without a leader or without space, and
   * are asked again and again; `throttle`: for the operator of this name.
   */
  readonly reason: 'rate limit' | 'connect limit' | 'too recent' | 'retry' | 'servers' | 'throttle';
  /** With `rate limit` and `connect limit`: the option of the account that has the limit, such as `limits.replay`. */
  readonly setting?: string | undefined;
  /** When it ends, by the service's clock; with `servers`, when the run gives up. */
  readonly until: Date;
  /** How long it lasts, in milliseconds, from its start. */
  readonly waitMs: number;
  /** With `retry` and `servers`: the failure. */
  readonly error?: MillraceError | undefined;
  /** With `retry` and `servers`: which retry comes next, from 1. */
  readonly retry?: number | undefined;
}

/** Called when a wait begins. It returns a function, which is called when the wait ends. */
export type OnWait = (wait: Wait) => () => void;

/**
 * Lets one reader sleep until there may be something for it. A call of `wake` while nobody waits is not
 * remembered: the reader looks for what it needs first, and waits in the same turn.
 */
export class WakeUp {
  #resolve: () => void = () => {};

  /** Resolves at the next call of `wake`. */
  next(): Promise<void> {
    return new Promise(resolve => {
      this.#resolve = resolve;
    });
  }

  wake(): void {
    this.#resolve();
  }
}

/**
 * The wait before try `failures + 1`: it doubles from `firstMs` to `maxMs`, and is random from half of that up. At least
 * half, because a random wait from 0 up may be only 3 ms, and a failing service needs a pause.
 *
 * @param failures tries in a row that failed, from 1
 * @param random from 0 up to 1
 */
export function backoffMs(
  failures: number,
  { firstMs, maxMs, random }: { firstMs: number; maxMs: number; random: number },
): number {
  return jittered(Math.min(maxMs, firstMs * 2 ** (failures - 1)), random);
}

/** A random wait from half of `longestMs` up, so that clients which failed together do not come back together. */
export function jittered(longestMs: number, random: number): number {
  return longestMs * (0.5 + random / 2);
}
