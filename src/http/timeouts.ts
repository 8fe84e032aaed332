import { milliseconds, type OptionTable } from '../check.js';
import { SECOND } from '../time.js';

/** How long to wait for a service, in milliseconds. */
export interface Timeouts {
  /** Until a connection is made. @default 10_000 */
  readonly connectMs: number;
  /** From the start of a request until its response begins. @default 90_000 */
  readonly responseMs: number;
  /**
   * Between two arrivals of bytes, heartbeats included. Streams need more than 30 s, since the service
   * may send nothing for that long.
   * @default 40_000
   */
  readonly silenceMs: number;
}

export const TIMEOUTS = {
  connectMs: milliseconds('until a connection is made', { default: 10 * SECOND }),
  responseMs: milliseconds('until a response begins', { default: 90 * SECOND }),
  silenceMs: milliseconds('between two arrivals of bytes', { default: 40 * SECOND }),
} satisfies OptionTable<Partial<Timeouts>>;
