import { DAY, floorTo, type Window } from '../../time.js';
import type { Clock } from '../clock.js';
import type { ProductName } from '../products.js';
import { monthsLater } from './months.js';
import { type DayUsage, type UsageChange, UsageStore } from './usage-store.js';

export interface UsageMeterOptions {
  readonly clock: Clock;
  readonly stateFolder: string | undefined;
  /** How far reports go back. */
  readonly historyMonths: number;
  onError(error: unknown): void;
}

/** Ids that wait to be counted; with more, the disk is due. */
const WAITING = 4_000;
/** Milliseconds of real time after which what waits is kept, where it is to outlive the process. */
const KEEP_EVERY_MS = 250;
/** Days whose ids are known still: who moves the clock back by more sees posts counted anew. */
const DAYS_OF_IDS = 3;

interface Waiting {
  readonly day: number;
  readonly product: ProductName;
  readonly ids: Set<string>;
  requests: number;
}

/**
 * What the service really delivered: posts by UTC day and product, each counted once (service.md 4.7),
 * and requests for search and counts. Memory is bounded: the ids are on disk.
 *
 * @example
 * context.usage.delivered('30day', posts.map(post => post.id));
 */
export class UsageMeter {
  readonly #options: UsageMeterOptions;
  readonly #store: UsageStore;
  #waiting = new Map<string, Waiting>();
  #waitingIds = 0;
  #counting: Promise<void> = Promise.resolve();
  #timer: NodeJS.Timeout | undefined;
  #closed = false;
  /** Day of which all that is out of date was forgotten. */
  #tidied = Number.NaN;

  constructor(options: UsageMeterOptions) {
    this.#options = options;
    this.#store = new UsageStore(options.stateFolder);
  }

  /** To be used again after `close`. */
  open(): void {
    this.#closed = false;
  }

  /** Counts posts, today by the service's clock. Never fails: what cannot be kept is told to `onError`. */
  delivered(product: ProductName, ids: readonly string[]): void {
    // A replay that ends with the service.
    if (this.#closed || ids.length === 0) return;
    // In parts: others have their turn between two of them.
    for (let start = 0; start < ids.length; start += WAITING) {
      const { ids: waiting } = this.#of(product);
      const before = waiting.size;
      for (const id of ids.slice(start, start + WAITING)) waiting.add(id);
      this.#waitingIds += waiting.size - before;
      if (this.#waitingIds >= WAITING) this.#count();
    }
    this.#plan();
  }

  /** Counts a request for search or counts. */
  requested(product: ProductName): void {
    if (this.#closed) return;
    this.#of(product).requests++;
    this.#plan();
  }

  /**
   * All that was counted on the days of a window.
   *
   * @throws StorageError when it cannot be read.
   */
  async days(window: Window): Promise<readonly DayUsage[]> {
    await this.#count();
    return this.#store.days(window);
  }

  /** All is kept when it resolves, where there is a state folder; what comes later does not count. */
  async close(): Promise<void> {
    this.#closed = true;
    if (this.#options.stateFolder === undefined) this.#take();
    await this.#count();
    await this.#store.close();
  }

  #of(product: ProductName): Waiting {
    const day = floorTo(DAY, this.#options.clock.now());
    const key = `${day} ${product}`;
    let waiting = this.#waiting.get(key);
    if (waiting === undefined) {
      waiting = { day, product, ids: new Set(), requests: 0 };
      this.#waiting.set(key, waiting);
    }
    return waiting;
  }

  #plan(): void {
    if (this.#options.stateFolder === undefined) return;
    this.#timer ??= setTimeout(() => this.#count(), KEEP_EVERY_MS).unref();
  }

  #take(): readonly UsageChange[] {
    const changes = [...this.#waiting.values()].map(({ ids, ...rest }) => ({
      ...rest,
      ids: [...ids],
    }));
    this.#waiting = new Map();
    this.#waitingIds = 0;
    return changes;
  }

  /** Takes in what waits, after what is being taken in. */
  #count(): Promise<void> {
    clearTimeout(this.#timer);
    this.#timer = undefined;
    const changes = this.#take();
    if (changes.length > 0)
      this.#counting = this.#counting
        .then(() => this.#store.add(changes))
        .then(() => this.#tidy())
        .catch(error => this.#options.onError(error));
    return this.#counting;
  }

  async #tidy(): Promise<void> {
    const today = floorTo(DAY, this.#options.clock.now());
    if (this.#tidied === today) return;
    this.#tidied = today;
    await this.#store.forget(
      { before: today - (DAYS_OF_IDS - 1) * DAY },
      // A month more than reports reach: their first day may be any of it.
      { before: monthsLater(today, -this.#options.historyMonths - 1) },
    );
  }
}
