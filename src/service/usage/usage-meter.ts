import { rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { RootDatabase } from 'lmdb';
import { DAY, floorTo, type Window } from '../../base/time.js';
import { absolutePath } from '../../storage/folder.js';
import { LmdbDatabase } from '../../storage/lmdb-database.js';
import { withAnyStorageError } from '../../storage/storage-error.js';
import { getOrMake } from '../cache.js';
import type { Clock } from '../clock.js';
import type { ServiceSettings } from '../service-options.js';
import { temporaryFolder } from '../temporary-folder.js';

interface MeterSettings extends Pick<ServiceSettings, 'limits' | 'onError'> {
  readonly stateFolder?: string | undefined;
}

/** Pending counts are written to disk at the latest when they contain this many ids. */
const MAX_PENDING_IDS = 4_000;
/** The time between writes to a state folder, in milliseconds of real time. */
const WRITE_EVERY_MS = 250;
/**
 * The number of days for which ids are kept, so that a post is counted once per day. If the clock is set back
 * by more days than this, posts may be counted twice.
 */
const DAYS_OF_IDS = 3;

interface Pending extends Pick<UsageChange, 'day' | 'product'> {
  readonly ids: Set<string>;
  requests: number;
}

/**
 * Counts delivered posts, each once per UTC day and product. Also counts requests for search and counts. Memory
 * is bounded, because the ids are on disk.
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
  #prunedOn = Number.NaN;

  constructor(clock: Clock, settings: MeterSettings) {
    this.#clock = clock;
    this.#settings = settings;
    this.#store = new UsageStore(settings.stateFolder);
  }

  /** Starts counting, also after `close`. */
  open(): void {
    this.#closed = false;
  }

  /** Counts posts for today by the service's clock. Does not throw; write errors go to `onError`. */
  delivered(product: ProductName, ids: readonly string[]): void {
    // A replay may still deliver posts while the service stops. These posts are not counted.
    if (this.#closed || ids.length === 0) return;
    // Writes the ids in small transactions, so that each blocks the event loop only briefly.
    for (let start = 0; start < ids.length; start += MAX_PENDING_IDS) {
      const { ids: pending } = this.#of(product);
      const before = pending.size;
      for (const id of ids.slice(start, start + MAX_PENDING_IDS)) pending.add(id);
      this.#pendingIds += pending.size - before;
      if (this.#pendingIds >= MAX_PENDING_IDS) this.#write();
    }
    this.#scheduleWrite();
  }

  requested(product: ProductName): void {
    if (this.#closed) return;
    this.#of(product).requests++;
    this.#scheduleWrite();
  }

  /** Returns the usage of each product on each UTC day. @throws StorageError if the counts cannot be read. */
  async days(window: Window): Promise<readonly DayUsage[]> {
    await this.#write();
    return this.#store.days(window);
  }

  /** Removes all counts. @throws StorageError */
  async reset(): Promise<void> {
    this.#takePending();
    await this.#write();
    await this.#store.prune(Number.POSITIVE_INFINITY, Number.POSITIVE_INFINITY);
  }

  /**
   * Stops counting until `open` is called. If there is a state folder, resolves once all counts are stored.
   */
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
      // Keeps totals for one month more than reports may cover.
      monthsLater(today, -this.#settings.limits.usageHistoryMonths - 1),
    );
  }
}

export function startOfMonth(ms: number): number {
  const date = new Date(ms);
  return Date.UTC(date.getUTCFullYear(), date.getUTCMonth());
}

/**
 * Returns the same day `months` later, or earlier if `months` is negative. If that month is shorter, returns
 * its last day.
 */
export function monthsLater(ms: number, months: number): number {
  const date = new Date(ms);
  const [year, month] = [date.getUTCFullYear(), date.getUTCMonth() + months];
  const lastDay = new Date(Date.UTC(year, month + 1, 0)).getUTCDate();
  const day = Math.min(date.getUTCDate(), lastDay);
  const start = Date.UTC(date.getUTCFullYear(), date.getUTCMonth(), date.getUTCDate());
  return Date.UTC(year, month, day) + (ms - start);
}

/**
 * The products whose usage is counted: each search product, each stream together with its replays, and jobs.
 * Stored usage refers to products by these numbers.
 */
export const PRODUCTS = {
  '30day': { number: 1, type: 'search' },
  fullarchive: { number: 2, type: 'search' },
  rulestream: { number: 3, type: 'rulestream' },
  sample10: { number: 4, type: 'sample10' },
  firehose: { number: 5, type: 'firehose' },
  mentions: { number: 6, type: 'mentions' },
  historical: { number: 7, type: 'historical' },
} as const;

export type ProductName = keyof typeof PRODUCTS;

export const PRODUCT_NAMES = Object.keys(PRODUCTS) as readonly ProductName[];

function productOf(number: number): ProductName | undefined {
  return PRODUCT_NAMES.find(name => PRODUCTS[name].number === number);
}

export interface DayUsage {
  /** The start of the day in epoch milliseconds. */
  readonly day: number;
  readonly product: ProductName;
  /** The number of activities, each counted once per day. */
  readonly activities: number;
  readonly requests: number;
}

export interface UsageChange {
  readonly day: number;
  readonly product: ProductName;
  readonly ids: Iterable<string>;
  readonly requests: number;
}

type Totals = Pick<DayUsage, 'activities' | 'requests'>;

const ID = 0x69;
const TOTAL = 0x74;
const LARGEST_ID = 2n ** 64n - 1n;
const EMPTY = Buffer.alloc(0);
const KEYS_PER_TRANSACTION = 5_000;

/**
 * The usage by day on disk (LMDB): the exact ids of delivered posts, and totals. Changes are transactions, so
 * that only complete changes are left if the process is killed or the power fails.
 */
export class UsageStore {
  readonly #folder: string | undefined;
  #opened: Promise<LmdbDatabase> | undefined;
  #temporary: string | undefined;

  /** @param stateFolder If undefined, a temporary folder is used, which `close` removes. */
  constructor(stateFolder: string | undefined) {
    this.#folder = stateFolder && join(stateFolder, 'usage');
  }

  /**
   * Adds all changes in one transaction. Resolves once they survive a power failure.
   *
   * @throws StorageError
   */
  async add(changes: readonly UsageChange[]): Promise<void> {
    const database = await this.#open();
    await this.#use('write to', () =>
      database.transaction(root => {
        for (const change of changes) addTo(root, change);
      }),
    );
  }

  /** Returns the stored usage for each product and UTC day that begins in a window. @throws StorageError */
  async days({ from, to }: Window): Promise<readonly DayUsage[]> {
    const database = await this.#open();
    return this.#use('read', () => {
      const days: DayUsage[] = [];
      for (const { key, value } of database.root.getRange(keysOf(TOTAL, { from, to }))) {
        const product = productOf(key.readUInt8(5));
        if (product === undefined) continue;
        const totals = JSON.parse(value.toString()) as Totals;
        days.push({ day: key.readUInt32BE(1) * DAY, product, ...totals });
      }
      return days;
    });
  }

  /**
   * Removes ids of days before `idsBefore`, and totals of days before `totalsBefore`.
   *
   * @throws StorageError
   */
  async prune(idsBefore: number, totalsBefore: number): Promise<void> {
    const database = await this.#open();
    const ranges = [
      keysOf(ID, { from: 0, to: idsBefore }),
      keysOf(TOTAL, { from: 0, to: totalsBefore }),
    ];
    for (const keys of ranges) {
      const range = { ...keys, limit: KEYS_PER_TRANSACTION };
      let removed: number;
      do {
        removed = await this.#use('write to', async () => {
          const keys = [...database.root.getKeys(range)].map(key => Buffer.from(key));
          await database.transaction(root => {
            for (const key of keys) root.remove(key);
          });
          return keys.length;
        });
      } while (removed === KEYS_PER_TRANSACTION);
    }
  }

  /** Resolves once everything is on disk. The store can be used again after that. */
  async close(): Promise<void> {
    const opened = this.#opened;
    this.#opened = undefined;
    const database = await opened?.catch(() => undefined); // the caller that opened it got the error
    await database?.close();
    if (this.#temporary !== undefined) await rm(this.#temporary, { recursive: true, force: true });
    this.#temporary = undefined;
  }

  #open(): Promise<LmdbDatabase> {
    if (this.#opened !== undefined) return this.#opened;
    const opened = this.#use('open', async () => {
      if (this.#folder === undefined) this.#temporary ??= await temporaryFolder('usage');
      return LmdbDatabase.open(absolutePath(this.#folder ?? (this.#temporary as string)));
    });
    this.#opened = opened;
    // After a failure, the next call opens the database again.
    opened.catch(() => {
      if (this.#opened === opened) this.#opened = undefined;
    });
    return opened;
  }

  #use<Result>(doing: string, work: () => Result | Promise<Result>): Promise<Result> {
    const path = this.#folder ?? this.#temporary ?? tmpdir();
    return withAnyStorageError(`${doing} the usage in`, path, work);
  }
}

function addTo(
  root: RootDatabase<Buffer, Buffer>,
  { day, product, ids, requests }: UsageChange,
): void {
  const { number } = PRODUCTS[product];
  const key = totalKey(day, number);
  const before = root.getBinary(key);
  const totals: Totals =
    before === undefined ? { activities: 0, requests: 0 } : JSON.parse(before.toString());
  let added = 0;
  for (const id of ids) {
    const idKey = keyOfId(day, number, id);
    if (idKey === undefined || root.doesExist(idKey)) continue;
    root.put(idKey, EMPTY);
    added++;
  }
  const total = { activities: totals.activities + added, requests: totals.requests + requests };
  root.put(key, Buffer.from(JSON.stringify(total)));
}

function totalKey(day: number, product: number): Buffer {
  return Buffer.concat([dayKey(TOTAL, day), Buffer.of(product)]);
}

function keyOfId(day: number, product: number, id: string): Buffer | undefined {
  const number = /^\d{1,20}$/.test(id) ? BigInt(id) : LARGEST_ID + 1n;
  if (number > LARGEST_ID) return undefined;
  const key = Buffer.allocUnsafe(14);
  key[0] = ID;
  key.writeUInt32BE(day / DAY, 1);
  key[5] = product;
  key.writeBigUInt64BE(number, 6);
  return key;
}

/** Returns the range of keys for the UTC days that begin in a window. `end` is exclusive. */
function keysOf(kind: number, { from, to }: Window): { start: Buffer; end: Buffer } {
  return { start: dayKey(kind, from), end: dayKey(kind, to) };
}

/** Returns the lowest key of a kind (ids or totals) for the first UTC day that begins at or after `ms`. */
function dayKey(kind: number, ms: number): Buffer {
  const key = Buffer.of(kind, 0, 0, 0, 0);
  key.writeUInt32BE(Math.min(Math.max(0, Math.ceil(ms / DAY)), 0xffff_ffff), 1);
  return key;
}
