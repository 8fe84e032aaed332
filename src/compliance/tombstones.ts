import { type ComplianceEvent, isComplianceEvent } from '../activity/compliance-event.js';
import { wrongItem } from '../activity/wrong-item.js';
import { checkOptions, checkValue, flag, type OptionTable, required, text } from '../check.js';
import { StorageError } from '../errors.js';
import type { Cursor } from '../flow/flow.js';
import { LmdbDatabase } from '../storage/lmdb-database.js';
import { anyStorageError } from '../storage/storage-error.js';
import { absolutePath } from '../storage/working-folder.js';
import {
  changesOf,
  decodeTombstone,
  encodeTombstone,
  type PostTombstone,
  type UserTombstone,
} from './tombstone.js';

/** Whether `openTombstones` opens for recording or only for look-ups. */
export interface TombstonesOptions {
  /** Only look-ups. Any number of processes may read while one other process records. @default false */
  readonly readOnly?: boolean | undefined;
}

const FOLDER = required(text('the folder that holds the tombstones'));
const OPTIONS = {
  readOnly: flag('only look up', false),
} satisfies OptionTable<TombstonesOptions>;

const POST = 0x70;
const USER = 0x75;
const CURSOR = 0x63;
/** Ids have 64 bits. */
const LARGEST_ID = 2n ** 64n - 1n;

/** The used part of an LMDB root. The types of lmdb would require compiler options of the consumer. */
interface TombstoneRoot {
  getBinary(key: Buffer): Buffer | undefined;
  getStats(): object;
  getKeysCount(range: { readonly start: Buffer; readonly end: Buffer }): number;
  put(key: Buffer, value: Buffer): Promise<boolean>;
}

/** As `LmdbDatabase` is. */
interface TombstoneStore {
  readonly root: TombstoneRoot;
  transaction<T>(action: (root: TombstoneRoot) => T): Promise<T>;
  close(): Promise<void>;
}

/**
 * The tombstones of posts and users, on disk (LMDB): a hundred million ids take a few gigabytes there
 * and little memory. A crash leaves the state after the last `record` that resolved. One process
 * records, and any number look up at the same time. Opened by `openTombstones`.
 */
export class Tombstones {
  readonly folder: string;
  readonly #marks: TombstoneStore;
  readonly #readOnly: boolean;

  /** @internal */
  constructor(folder: string, marks: TombstoneStore, readOnly: boolean) {
    this.folder = folder;
    this.#readOnly = readOnly;
    this.#marks = marks;
  }

  /** The tombstone of a post. */
  post(id: string): PostTombstone | undefined {
    return this.#get<PostTombstone>(POST, id);
  }

  /** The tombstone of a user. */
  user(id: string): UserTombstone | undefined {
    return this.#get<UserTombstone>(USER, id);
  }

  /** The cursor of the source with that name, from the last `record` that had one. */
  cursor(source: string): Cursor | undefined {
    return this.#read(cursorKey(source), bytes => JSON.parse(bytes.toString()) as Cursor);
  }

  /** The number of posts and users with a tombstone. */
  get size(): number {
    const { root } = this.#marks;
    const { entryCount } = root.getStats() as { readonly entryCount: number };
    const [start, end] = [Buffer.of(CURSOR), Buffer.of(CURSOR + 1)];
    return entryCount - root.getKeysCount({ start, end });
  }

  /**
   * Records events and the cursor of their source after them, all or none. Resolves once they
   * survive a power cut. Events may be repeated, and in any order.
   *
   * @throws StorageError
   * @throws DataError For anything except compliance events.
   */
  async record(
    events: readonly ComplianceEvent[],
    at?: { readonly source: string; readonly cursor: Cursor } | undefined,
  ): Promise<void> {
    if (this.#readOnly)
      throw new StorageError(
        `The tombstones in ${this.folder} were opened with \`readOnly\`. To record, open them without it`,
        { path: this.folder },
      );
    checkEvents('Tombstones.record', { items: events });
    const changes = events.flatMap(changesOf);
    try {
      await this.#marks.transaction(root => {
        for (const { of, id, change } of changes) {
          const key = keyOf(of === 'post' ? POST : USER, id);
          if (key === undefined) continue;
          const before = root.getBinary(key);
          const after = encodeTombstone(
            change(before === undefined ? {} : decodeTombstone(before)),
          );
          if (before === undefined || !after.equals(before)) root.put(key, after);
        }
        if (at !== undefined)
          root.put(cursorKey(at.source), Buffer.from(JSON.stringify(at.cursor)));
      });
    } catch (cause) {
      throw anyStorageError('write to the tombstones in', this.folder, cause);
    }
  }

  /** Closes the files. Everything for which `record` has resolved is kept. */
  async close(): Promise<void> {
    await this.#marks.close();
  }

  /** Same as `close`, for `await using`. */
  [Symbol.asyncDispose](): Promise<void> {
    return this.close();
  }

  #get<M extends PostTombstone | UserTombstone>(kind: number, id: string): M | undefined {
    const key = keyOf(kind, id);
    return key === undefined ? undefined : this.#read(key, decodeTombstone<M>);
  }

  #read<T>(key: Buffer, decode: (bytes: Buffer) => T): T | undefined {
    try {
      const bytes = this.#marks.root.getBinary(key);
      return bytes === undefined ? undefined : decode(bytes);
    } catch (cause) {
      throw anyStorageError('read the tombstones in', this.folder, cause);
    }
  }
}

/**
 * Opens the tombstones in a folder, which is created if it does not exist.
 *
 * @throws OptionError
 * @throws StorageError If the folder cannot be used, or has no tombstones to read.
 * @example
 * await using tombstones = await openTombstones('tombstones');
 * await pipeline(compliance(account()), intoTombstones(tombstones));
 */
export async function openTombstones(
  folder: string,
  options: TombstonesOptions = {},
): Promise<Tombstones> {
  checkValue('openTombstones', 'folder', FOLDER, folder);
  const { readOnly } = checkOptions('openTombstones', OPTIONS, options);
  // Resolved now, because the working folder may change before events are recorded.
  folder = absolutePath(folder);
  try {
    return new Tombstones(folder, await LmdbDatabase.open(folder, { readOnly }), readOnly);
  } catch (cause) {
    throw anyStorageError(`${readOnly ? 'read' : 'open'} the tombstones in`, folder, cause);
  }
}

/** @throws DataError for the first item that is not a compliance event. */
export function checkEvents(
  call: string,
  { items, origin }: { readonly items: readonly unknown[]; readonly origin?: string | undefined },
): void {
  const need = `${call}() records compliance events`;
  const refuse = (item: unknown) => wrongItem(item, { need, reads: 'compliance events', origin });
  if (!Array.isArray(items)) throw refuse(items);
  for (const item of items) if (!isComplianceEvent(item)) throw refuse(item);
}

/** A key of nine bytes, which sorts by id. */
function keyOf(kind: number, id: string): Buffer | undefined {
  if (!/^\d{1,20}$/.test(id)) return undefined;
  const number = BigInt(id);
  if (number > LARGEST_ID) return undefined;
  const key = Buffer.allocUnsafe(9);
  key[0] = kind;
  key.writeBigUInt64BE(number, 1);
  return key;
}

function cursorKey(source: string): Buffer {
  return Buffer.concat([Buffer.of(CURSOR), Buffer.from(source)]);
}
