import { DAY, floorTo, type Window } from '../../base/time.js';
import { getOrMake } from '../cache.js';
import type { Clock } from '../clock.js';
import type { ServiceSettings } from '../service-options.js';
import { type DayUsage, type ProductName, type UsageChange, UsageStore } from './usage-store.js';

interface MeterSettings extends Pick<ServiceSettings, 'limits' | 'onError'> {
  readonly stateFolder?: string | undefined;
}

/** Pending ids that trigger a write. */
const MAX_PENDING_IDS = 4_000;
/** Milliseconds of real time between writes to a state folder. */
const WRITE_EVERY_MS = 250;
/** Days whose ids are kept. After a clock is set back further, posts count again. */
const DAYS_OF_IDS = 3;

interface Pending extends Pick<UsageChange, 'day' | 'product'> {
  readonly ids: Set<string>;
  requests: number;
}

/**
 * Counts delivered posts, each once per UTC day and product, and requests for search and counts.
 * Memory is bounded: the ids are on disk.
 *
 * @example
 * context.usage.delivered('30day', posts.map(post => post.id));
 */
export class UsageMeter {
  readonly #clock: Clock;
  readonly #settings: MeterSettings;
  readonly #store: UsageStore;
  #pending = new Map<string, Pending>();
  #pendingIds = 0;
  #writing: Promise<void> = Promise.resolve();
  #timer: NodeJS.Timeout | undefined;
  #closed = false;
  /** The day of the last removal of old data. */
  #prunedOn = Number.NaN;

  constructor(clock: Clock, settings: MeterSettings) {
    this.#clock = clock;
    this.#settings = settings;
    this.#store = new UsageStore(settings.stateFolder);
  }

  /** Starts counting, also again after `close`. */
  open(): void {
    this.#closed = false;
  }

  /** Counts posts for today by the service's clock. Does not throw: write errors go to `onError`. */
  delivered(product: ProductName, ids: readonly string[]): void {
    // A replay can still end while the service stops.
    if (this.#closed || ids.length === 0) return;
    // Small changes, so that each transaction blocks only briefly.
    for (let start = 0; start < ids.length; start += MAX_PENDING_IDS) {
      const { ids: pending } = this.#of(product);
      const before = pending.size;
      for (const id of ids.slice(start, start + MAX_PENDING_IDS)) pending.add(id);
      this.#pendingIds += pending.size - before;
      if (this.#pendingIds >= MAX_PENDING_IDS) this.#write();
    }
    this.#scheduleWrite();
  }

  /** Counts a request for search or counts. */
  requested(product: ProductName): void {
    if (this.#closed) return;
    this.#of(product).requests++;
    this.#scheduleWrite();
  }

  /**
   * The counts of the days in a window.
   *
   * @throws StorageError if they cannot be read.
   */
  async days(window: Window): Promise<readonly DayUsage[]> {
    await this.#write();
    return this.#store.days(window);
  }

  /** Forgets all counts. @throws StorageError */
  async reset(): Promise<void> {
    this.#takePending();
    await this.#write();
    await this.#store.prune(Number.POSITIVE_INFINITY, Number.POSITIVE_INFINITY);
  }

  /** Resolves once all counts are stored, if there is a state folder. Later calls count nothing. */
  async close(): Promise<void> {
    this.#closed = true;
    if (this.#settings.stateFolder === undefined) this.#takePending();
    await this.#write();
    await this.#store.close();
  }

  #of(product: ProductName): Pending {
    const day = floorTo(DAY, this.#clock.now());
    const key = `${day} ${product}`;
    return getOrMake(this.#pending, key, () => ({ day, product, ids: new Set(), requests: 0 }));
  }

  #scheduleWrite(): void {
    if (this.#settings.stateFolder === undefined) return;
    this.#timer ??= setTimeout(() => this.#write(), WRITE_EVERY_MS).unref();
  }

  #takePending(): readonly UsageChange[] {
    const changes = [...this.#pending.values()];
    this.#pending = new Map();
    this.#pendingIds = 0;
    return changes;
  }

  /** Writes the pending counts after earlier writes. */
  #write(): Promise<void> {
    clearTimeout(this.#timer);
    this.#timer = undefined;
    const changes = this.#takePending();
    if (changes.length > 0)
      this.#writing = this.#writing
        .then(() => this.#store.add(changes))
        .then(() => this.#prune())
        .catch(error => this.#settings.onError(error));
    return this.#writing;
  }

  async #prune(): Promise<void> {
    const today = floorTo(DAY, this.#clock.now());
    if (this.#prunedOn === today) return;
    this.#prunedOn = today;
    await this.#store.prune(
      today - (DAYS_OF_IDS - 1) * DAY,
      // One month more than reports reach, because reports start on any day of a month.
      monthsLater(today, -this.#settings.limits.usageHistoryMonths - 1),
    );
  }
}

/** The start of the UTC month of an instant. */
export function startOfMonth(ms: number): number {
  const date = new Date(ms);
  return Date.UTC(date.getUTCFullYear(), date.getUTCMonth());
}

/** The same day `months` later, or earlier if negative; the last day if that month is shorter. */
export function monthsLater(ms: number, months: number): number {
  const date = new Date(ms);
  const [year, month] = [date.getUTCFullYear(), date.getUTCMonth() + months];
  const lastDay = new Date(Date.UTC(year, month + 1, 0)).getUTCDate();
  const day = Math.min(date.getUTCDate(), lastDay);
  const start = Date.UTC(date.getUTCFullYear(), date.getUTCMonth(), date.getUTCDate());
  return Date.UTC(year, month, day) + (ms - start);
}
