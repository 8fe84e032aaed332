import type { AccountOptions } from 'millrace';
import type { Counts, Expectation } from '../part.js';
import type { NamedMinutes } from './named-gaps.js';
import type { Row } from './rows.js';
import type { AimSetting } from './service-fault.js';
import type { WorldOptions } from './world.js';

export interface FaultSetting extends AimSetting {
  /** What the row reads. */
  readonly input: string;
  /** Records that the oracle's client got twice. */
  readonly repeated?: number | undefined;
  readonly out: string;
}

/** A fault that waits for its run. */
export interface Planted {
  /** How often it took effect: on the wire, on disk, or in this process. */
  hits(): number;
  readonly account?: Partial<AccountOptions> | undefined;
  /** Whether the run may also complete: a call that failed once may have been tried again. */
  readonly mayRecover?: boolean | undefined;
  /** Whether the run may also end with a typed error, as long as the next one completes it. */
  readonly mayFail?: boolean | undefined;
  /** Whether it may change what a record says in a way that nothing can tell. */
  readonly mayChange?: boolean | undefined;
  /** The minutes that gaps have to name; without it, none. */
  readonly gap?: NamedMinutes | undefined;
  /** What it hit, for messages. */
  readonly what?: (() => string) | undefined;
  /** How far the client's clock is ahead, each time that it is read; the client is not told the service's time then. */
  readonly skewMs?: (() => number) | undefined;
  readonly consume?: ((index: number, bytes?: number) => Promise<void> | void) | undefined;
  /** More that it counted. */
  readonly counts?: (() => Counts) | undefined;
  /** How long the run has waited because of it, and how long it has to, by the service's clock. */
  readonly wait?: { readonly minMs: number; waitedMs(): number } | undefined;
  /** A run after the fault cannot complete either: the service has nothing any more. */
  readonly isFinal?: boolean | undefined;
  /** Ends it, so that the run after it can complete. */
  lift(): Promise<void> | void;
}

export interface Fault {
  readonly name: string;
  /** The script runs in a process that is killed; `plant` has nothing to do. */
  readonly kill?: 'random' | 'disk call' | 'commit' | undefined;
  /**
   * How often a trial draws another place until the fault takes effect, where a run does not always get as far as the clean
   * one. @default 1
   */
  readonly draws?: number | undefined;
  /** Added to each compliance event. @default 0 */
  readonly eventBytes?: number | undefined;
  readonly world?: ((row: Row) => WorldOptions) | undefined;
  /** What a row does about it; a text is why there is nothing to try. */
  expects(row: Row): Expectation | { readonly none: string };
  plant(setting: FaultSetting): Promise<Planted> | Planted;
}
