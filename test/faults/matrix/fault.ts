import type { AccountOptions } from 'millrace';
import type { Counts, Expectation } from '../part.js';
import type { NamedMinutes } from './named-gaps.js';
import type { Row } from './rows.js';
import type { AimSetting } from './service-fault.js';
import type { WorldOptions } from './world.js';

export interface FaultSetting extends AimSetting {
  /** The input of the pipeline: the UUID of a job, or the path of a folder. */
  readonly input: string;
  readonly repeated?: number | undefined;
  readonly out: string;
}

export interface Planted {
  hits(): number;
  readonly account?: Partial<AccountOptions> | undefined;
  /** Whether the run may also complete, because the library retries the call that fails. */
  readonly mayRecover?: boolean | undefined;
  /** Whether the run may also end with a typed error. In that case, the next run must complete. */
  readonly mayFail?: boolean | undefined;
  /** Whether the fault may change a record in a way that cannot be detected. */
  readonly mayChange?: boolean | undefined;
  /** The minutes that gaps must report. If this is undefined, no gap may be reported. */
  readonly gap?: NamedMinutes | undefined;
  readonly what?: (() => string) | undefined;
  /**
   * Returns how far the client's clock is ahead each time the client reads it. If this is given,
   * the client does not learn the service's time.
   */
  readonly skewMs?: (() => number) | undefined;
  readonly consume?: ((index: number, bytes?: number) => Promise<void> | void) | undefined;
  readonly counts?: (() => Counts) | undefined;
  /**
   * How long the run must wait because of the fault, and how long it has waited. Both times are
   * measured with the service's clock.
   */
  readonly wait?: { readonly minMs: number; waitedMs(): number } | undefined;
  /** Whether a later run cannot complete either, because the service no longer has the data. */
  readonly isFinal?: boolean | undefined;
  lift(): Promise<void> | void;
}

export interface Fault {
  readonly name: string;
  /**
   * The moment at which the process that runs the script is killed. If this is given, `plant` does
   * nothing.
   */
  readonly kill?: 'random' | 'disk call' | 'commit' | undefined;
  /**
   * The maximum number of attempts of a trial. Each attempt plants the fault at another place,
   * until it takes effect. Needed if a run does not always get as far as a run without a fault.
   * @default 1
   */
  readonly draws?: number | undefined;
  /**
   * The size of the text added to each compliance event, in bytes.
   * @default 0
   */
  readonly eventBytes?: number | undefined;
  readonly world?: ((row: Row) => WorldOptions) | undefined;
  expects(row: Row): Expectation | { readonly none: string };
  plant(setting: FaultSetting): Promise<Planted> | Planted;
}
