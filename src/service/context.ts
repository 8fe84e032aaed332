import type { Format } from '../activity/activity.js';
import type { Archive } from './archive/archive.js';
import type { Clock } from './clock.js';
import type { Faults } from './http/planted-faults.js';
import type { Quotas } from './http/quotas.js';
import type { RequestLog } from './http/request-log.js';
import type { ProductName } from './products.js';
import type { Settings } from './service-options.js';

/** What the endpoints of all families share. */
export interface ServiceContext {
  readonly settings: Settings;
  readonly clock: Clock;
  readonly faults: Faults;
  /** Every rate that is counted. */
  readonly quotas: Quotas;
  /** Counts what was delivered. */
  readonly usage: UsageCounter;
  /** The last requests, for the console. */
  readonly requests: RequestLog;
  /**
   * Opened on first use, without what compliance events hide. Without a format, that of the archive
   * itself.
   *
   * @throws OptionError for a format that the archive does not have.
   */
  archive(format?: Format): Promise<Archive>;
  /** Waits until all is done that is due by the clock, or for so many milliseconds of real time. */
  settled(atMostMs?: number): Promise<void>;
}

/** Takes what the families deliver, for the usage report. */
export interface UsageCounter {
  /** Posts that were sent or written, by id; each counts once a day and product. */
  delivered(product: ProductName, ids: readonly string[]): void;
  /** One request for search or counts. */
  requested(product: ProductName): void;
}
