import { ConnectionError, HttpError, type MillraceError } from '../base/errors.js';
import { HOUR, MINUTE, SECOND } from '../base/time.js';
import type { Progress } from './progress.js';

interface Sample {
  readonly at: number;
  readonly items: number;
}

/** How an incomplete run has ended. `interrupted` means that the run was aborted. */
export type HowEnded = 'failed' | 'interrupted';

export const SEPARATOR = ', ';

/**
 * The remaining time is not shown if it is shorter than this. A run that takes longer than expected would
 * otherwise show `0.0 s left`.
 */
const MIN_LEFT_MS = SECOND;

/** The time span over which the rate is measured, in milliseconds. */
const RATE_OVER_MS = 5 * SECOND;

/**
 * Formats the counts of a run as text, including the rate and the remaining time. Both are computed from
 * earlier counts.
 */
export class ProgressText {
  readonly #progress: Progress;
  readonly #started = performance.now();
  #samples: Sample[];
  /** The first known completed fraction of the run, and its time. In a resumed run, the fraction is not 0. */
  #first: { readonly at: number; readonly fraction: number } | undefined;

  constructor(progress: Progress) {
    this.#progress = progress;
    this.#samples = [{ at: this.#started, items: 0 }];
  }

  /**
   * Describes the progress while the run continues. The most important part comes first, because a narrow
   * terminal has no space for the rest.
   */
  running(): string {
    const now = performance.now();
    const { fraction, note, behind } = this.#progress.counts();
    const wait = this.#wait();
    const left = this.#left(now);
    return [
      ...(note === undefined ? [] : [note]),
      ...(wait === undefined ? [] : [wait]),
      ...(fraction === undefined ? [] : [`${Math.floor(fraction * 100)} %`]),
      ...(left === undefined || left < MIN_LEFT_MS ? [] : [`${duration(left)} left`]),
      ...(behind === undefined ? [] : [`${whole(behind)} messages behind`]),
      `${this.#rate(now)}/s`,
      this.#counts(),
    ].join(SEPARATOR);
  }

  done(): string {
    const { note } = this.#progress;
    const told = note === undefined ? '' : `${note}, `;
    return `done in ${duration(performance.now() - this.#started)}, ${told}${this.#counts()}`;
  }

  failed(how: HowEnded = 'failed'): string {
    return `${how} after ${duration(performance.now() - this.#started)}, ${this.#counts()}`;
  }

  #wait(): string | undefined {
    const { wait, waitLeftMs } = this.#progress;
    if (wait === undefined || wait.waitMs < SECOND) return undefined;
    const isShort = waitLeftMs < MINUTE;
    const left = `${Math.ceil(waitLeftMs / SECOND)} s`;
    const until = `${wait.until.toISOString().slice(11, 16)} UTC`;
    if (wait.reason === 'retry')
      return `retry ${wait.retry} ${isShort ? `in ${left}` : `at ${until}`}: ${failure(wait.error)}`;
    const setting = wait.setting === undefined ? '' : ` (${wait.setting})`;
    const waiting = `waiting for ${WAITS_FOR[wait.reason]}${setting} ${isShort ? `for ${left}` : `until ${until}`}`;
    return wait.reason === 'servers' ? `${waiting} at most: ${failure(wait.error)}` : waiting;
  }

  #counts(): string {
    const { received, receivedBytes, written, writtenBytes, dropped, reached, branches } =
      this.#progress.counts();
    const each = branches.length === 0 ? [written] : branches.map(branch => branch.written);
    const by = [...dropped].map(([name, items]) => `${whole(items)} by ${name}`);
    return [
      `received ${whole(received)}${receivedBytes === 0 ? '' : ` (${size(receivedBytes)})`}`,
      `written ${each.map(whole).join(' + ')}${writtenBytes === 0 ? '' : ` (${size(writtenBytes)})`}`,
      ...(reached === undefined ? [] : [`at ${minute(reached)}`]),
      ...(by.length === 0 ? [] : [`dropped ${by.join(' and ')}`]),
    ].join(', ');
  }

  /**
   * Returns the number of items written per second. While nothing is written, returns the number
   * received per second.
   */
  #rate(now: number): string {
    const { written, received } = this.#progress.counts();
    this.#samples.push({ at: now, items: written === 0 ? received : written });
    while ((this.#samples[1]?.at ?? now) <= now - RATE_OVER_MS) this.#samples.shift();
    const [oldest = { at: now, items: 0 }] = this.#samples;
    const last = this.#samples.at(-1) ?? oldest;
    const items = Math.max(0, last.items - oldest.items);
    return whole(Math.round((items * SECOND) / Math.max(1, last.at - oldest.at)));
  }

  #left(now: number): number | undefined {
    const { fraction, leftMs } = this.#progress;
    if (leftMs !== undefined) return leftMs;
    // The remaining time cannot be estimated during a wait, because the rate so far does not tell how long
    // later waits will be.
    if (fraction === undefined || this.#wait() !== undefined) return undefined;
    this.#first ??= { at: now, fraction };
    const done = fraction - this.#first.fraction;
    if (done <= 0) return undefined;
    return ((now - this.#first.at) * (1 - fraction)) / done;
  }
}

const WAITS_FOR = {
  'rate limit': 'the rate limit',
  'connect limit': 'the connection limit',
  'too recent': 'minutes to become available',
  servers: 'the servers',
  throttle: 'throttle()',
} as const;

/** Describes a failure in few words and without advice, because a narrow terminal has no space for more. */
function failure(error: MillraceError | undefined): string {
  if (error instanceof HttpError) return String(error.status);
  if (error instanceof ConnectionError) return `connection ${error.failure}`;
  return error?.message.split('. ')[0] ?? 'failed';
}

function whole(count: number): string {
  return count.toLocaleString('en-US');
}

function size(bytes: number): string {
  const units = ['B', 'kB', 'MB', 'GB', 'TB'];
  let value = bytes;
  let unit = 0;
  while (value >= 999.5 && unit < units.length - 1) {
    value /= 1000;
    unit++;
  }
  return `${unit === 0 || value >= 99.5 ? Math.round(value) : value.toFixed(1)} ${units[unit]}`;
}

function duration(ms: number): string {
  if (ms < MINUTE)
    return `${ms < 10 * SECOND ? (ms / SECOND).toFixed(1) : Math.round(ms / SECOND)} s`;
  if (ms < HOUR) return `${Math.floor(ms / MINUTE)} min ${Math.floor((ms % MINUTE) / SECOND)} s`;
  return `${Math.floor(ms / HOUR)} h ${Math.floor((ms % HOUR) / MINUTE)} min`;
}

export function shownTime(at: Date | undefined): string {
  return at === undefined ? 'an earlier run' : minute(at.getTime());
}

function minute(ms: number): string {
  return `${new Date(ms).toISOString().slice(0, 16).replace('T', ' ')} UTC`;
}
