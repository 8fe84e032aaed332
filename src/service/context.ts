import type { Format } from '../activity/activity.js';
import type { Archive } from './archive/archive.js';
import type { Clock } from './clock.js';
import type { OpenStream } from './http/open-stream.js';
import type { Faults } from './http/planted-faults.js';
import type { Quotas } from './http/quotas.js';
import type { RequestLog } from './http/request-log.js';
import type { ProductName } from './products.js';
import type { Settings } from './service-options.js';

/** The objects that the endpoints of all families use. */
export interface ServiceContext {
  readonly settings: Settings;
  readonly clock: Clock;
  readonly faults: Faults;
  /** The rate limits. */
  readonly quotas: Quotas;
  /** Counts delivered posts and requests. */
  readonly usage: UsageCounter;
  /** The last requests, for the console. */
  readonly requests: RequestLog;
  /** The connections to streams. */
  readonly streams: Set<OpenStream>;
  /**
   * The archive, without posts that compliance events hide. Opened on first use. By default in the
   * archive's own format.
   *
   * @throws OptionError for a format that the archive does not have.
   */
  archive(format?: Format): Promise<Archive>;
  /** Waits until everything due by the clock is done, at most `maxMs` milliseconds of real time. */
  settled(maxMs?: number): Promise<void>;
}

/** Counts the deliveries of all families for the usage report. */
export interface UsageCounter {
  /** Counts posts that were sent or written, by id; each once a day and product. */
  delivered(product: ProductName, ids: readonly string[]): void;
  /** Counts one request for search or counts. */
  requested(product: ProductName): void;
}
