import { checkOptions, checkValue, flag, type OptionTable, required, text } from '../base/check.js';
import { StorageError } from '../base/errors.js';
import { isRecord } from '../base/record.js';
import type { Cursor } from '../flow/flow.js';
import { wrongItem } from '../flow/wrong-item.js';
import { isTexts } from '../json/type-guards.js';
import { type ComplianceEvent, isComplianceEvent } from '../post/compliance-event.js';
import { absolutePath } from '../storage/folder.js';
import { LmdbDatabase } from '../storage/lmdb-database.js';
import { anyStorageError } from '../storage/storage-error.js';

/** Options of `openTombstones`: whether the tombstones are opened only for look-ups. */
export interface TombstonesOptions {
  /**
   * Whether to allow only look-ups. Any number of processes may read while one other process records.
   * @default false
   */
  readonly readOnly?: boolean | undefined;
}

const FOLDER = required(text('the folder that holds the tombstones'));
const OPTIONS = { readOnly: flag('only look up', false) } satisfies OptionTable<TombstonesOptions>;

const POST = 0x70;
const USER = 0x75;
const CURSOR = 0x63;
const LARGEST_ID = 2n ** 64n - 1n;

/** The buffer for the key of a look-up. It is reused for every look-up, because LMDB copies the key. */
const looked = Buffer.alloc(9);

/**
 * The members of an LMDB root that tombstones use. They are declared here because the types of the package
 * lmdb would require compiler options in the user's project.
 */
interface TombstoneRoot {
  getBinary(key: Buffer): Buffer | undefined;
  getStats(): object;
  getKeysCount(range: { readonly start: Buffer; readonly end: Buffer }): number;
  put(key: Buffer, value: Buffer): Promise<boolean>;
}

interface TombstoneStore {
  readonly root: TombstoneRoot;
  transaction<T>(action: (root: TombstoneRoot) => T): Promise<T>;
  close(): Promise<void>;
}

/**
 * Stores on disk (LMDB) which posts and users were deleted, withheld or otherwise changed by compliance
 * events. 100 million ids take a few gigabytes on disk and little memory. Once a call of `record` has
 * resolved, its data survives a crash. One process may record while any number of processes look ids up.
 * Created by `openTombstones`.
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

  /** The tombstone of a post, or `undefined` if the post has none. */
  post(id: string): PostTombstone | undefined {
    return this.#get<PostTombstone>(POST, id);
  }

  /** The tombstone of a user, or `undefined` if the user has none. */
  user(id: string): UserTombstone | undefined {
    return this.#get<UserTombstone>(USER, id);
  }

  /**
   * Like `post`, for an id given as two 32-bit halves. Creates no string, so that it is fast: many ids are
   * looked up for each post.
   *
   * @internal
   */
  postAt(high: number, low: number): PostTombstone | undefined {
    return this.#read(keyAt(POST, high, low), decodeTombstone<PostTombstone>);
  }

  /** @internal */
  userAt(high: number, low: number): UserTombstone | undefined {
    return this.#read(keyAt(USER, high, low), decodeTombstone<UserTombstone>);
  }

  /**
   * Returns the cursor that `record` last stored for the source with this name. Returns `undefined` if there
   * is none.
   */
  cursor(source: string): Cursor | undefined {
    return this.#read(cursorKey(source), bytes => JSON.parse(bytes.toString()) as Cursor);
  }

  /** How many posts and users have a tombstone. */
  get size(): number {
    const { root } = this.#marks;
    const { entryCount } = root.getStats() as { readonly entryCount: number };
    const [start, end] = [Buffer.of(CURSOR), Buffer.of(CURSOR + 1)];
    return entryCount - root.getKeysCount({ start, end });
  }

  /**
   * Records events and the cursor of their source, in one transaction. Resolves once the events survive a
   * power failure. Events may be repeated and may arrive in any order.
   *
   * @throws StorageError
   * @throws DataError if any item is not a compliance event.
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

  /** Closes the files. */
  async close(): Promise<void> {
    await this.#marks.close();
  }

  /** Calls `close`, for `await using`. */
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
 * Opens a folder of tombstones, which record what compliance events have done to posts and users. Creates the
 * folder if it does not exist, unless `readOnly` is set.
 *
 * @throws OptionError
 * @throws StorageError if the folder cannot be used, or if `readOnly` is set and the folder has no
 * tombstones.
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
  // Resolved to an absolute path now, because the working folder may change before events are
  // recorded.
  folder = absolutePath(folder);
  try {
    return new Tombstones(folder, await LmdbDatabase.open(folder, { readOnly }), readOnly);
  } catch (cause) {
    throw anyStorageError(`${readOnly ? 'read' : 'open'} the tombstones in`, folder, cause);
  }
}

/** @throws DataError for the first item that is not a compliance event */
export function checkEvents(
  call: string,
  { items, origin }: { readonly items: readonly unknown[]; readonly origin?: string | undefined },
): void {
  const need = `${call}() records compliance events`;
  const refuse = (item: unknown) => wrongItem(item, { need, reads: 'compliance events', origin });
  if (!Array.isArray(items)) throw refuse(items);
  for (const item of items) if (!isComplianceEvent(item)) throw refuse(item);
}

/** Returns the LMDB key of an id: nine bytes, which sort in the order of the ids. */
function keyOf(kind: number, id: string): Buffer | undefined {
  if (!/^\d{1,20}$/.test(id)) return undefined;
  const number = BigInt(id);
  if (number > LARGEST_ID) return undefined;
  const key = Buffer.allocUnsafe(9);
  key[0] = kind;
  key.writeBigUInt64BE(number, 1);
  return key;
}

/** Returns the key of an id given as two 32-bit halves. The next call overwrites the key. */
function keyAt(kind: number, high: number, low: number): Buffer {
  looked[0] = kind;
  looked.writeUInt32BE(high, 1);
  looked.writeUInt32BE(low, 5);
  return looked;
}

function cursorKey(source: string): Buffer {
  return Buffer.concat([Buffer.of(CURSOR), Buffer.from(source)]);
}

/** A value, and the time of the last event that set it, in epoch milliseconds. */
type Timed<T> = readonly [at: number, what: T];

/** The state of a post after all recorded compliance events. */
export interface PostTombstone {
  /** Whether the post is deleted, which is permanent. */
  readonly deleted?: true;
  /** Whether a newer version of the post exists. This is permanent. */
  readonly edited?: true;
  readonly dropped?: Timed<boolean>;
  /**
   * The countries where the post is withheld, as two-letter codes in upper case; `XX` and `XY` mean all
   * countries.
   */
  readonly withheld?: Timed<readonly string[]>;
}

/** The state of a user after all recorded compliance events. */
export interface UserTombstone {
  readonly deleted?: Timed<boolean>;
  readonly protected?: Timed<boolean>;
  readonly suspended?: Timed<boolean>;
  readonly withheld?: Timed<readonly string[]>;
  /** The user's posts up to and including this id have permanently lost their locations. */
  readonly scrubbedUpTo?: string;
}

/** A change to the tombstone of one post or user. `change` returns the new tombstone. */
export type Change =
  | {
      readonly of: 'post';
      readonly id: string;
      readonly change: (mark: PostTombstone) => PostTombstone;
    }
  | {
      readonly of: 'user';
      readonly id: string;
      readonly change: (mark: UserTombstone) => UserTombstone;
    };

const USER_STATES = {
  user_delete: ['deleted', true],
  user_undelete: ['deleted', false],
  user_protect: ['protected', true],
  user_unprotect: ['protected', false],
  user_suspend: ['suspended', true],
  user_unsuspend: ['suspended', false],
} as const;

/**
 * Returns the changes that an event makes. Events may be repeated and may arrive in any order, for example
 * live events before replayed events. The result is the same, because the event with the latest time counts.
 */
export function changesOf(event: ComplianceEvent): readonly Change[] {
  const at = event.at?.getTime() ?? 0;
  switch (event.kind) {
    case 'delete':
      return [ofPost(event.postId, mark => ({ ...mark, deleted: true }))];
    case 'drop':
    case 'undrop': {
      const dropped = [at, event.kind === 'drop'] as const;
      return [
        ofPost(event.postId, mark => ({ ...mark, dropped: later(mark.dropped, dropped, either) })),
      ];
    }
    case 'status_withheld':
      return [ofPost(event.postId, withheldIn(event.countries, at))];
    case 'tweet_edit':
      return event.ids
        .filter(id => BigInt(id) < BigInt(event.postId))
        .map(id => ofPost(id, mark => ({ ...mark, edited: true })));
    case 'user_withheld':
      return [ofUser(event.userId, withheldIn(event.countries, at))];
    case 'scrub_geo':
      return [
        ofUser(event.userId, mark => ({
          ...mark,
          scrubbedUpTo: largerId(mark.scrubbedUpTo, event.upToId),
        })),
      ];
    case 'favorite_delete':
    case 'unknown':
      return [];
    default: {
      const [state, on] = USER_STATES[event.kind];
      const said = [at, on] as const;
      return [
        ofUser(event.userId, mark => ({ ...mark, [state]: later(mark[state], said, either) })),
      ];
    }
  }
}

/**
 * The one-byte encoding of a post that is deleted and has no other state. Most tombstones are of this kind.
 */
const DELETED = Buffer.from('D');

export function encodeTombstone(mark: PostTombstone | UserTombstone): Buffer {
  const keys = Object.keys(mark);
  if (keys.length === 1 && 'deleted' in mark && mark.deleted === true) return DELETED;
  return Buffer.from(JSON.stringify(Object.fromEntries(Object.entries(mark).sort())));
}

/** @throws Error if the bytes were not created by `encodeTombstone`. */
export function decodeTombstone<M extends PostTombstone | UserTombstone>(bytes: Uint8Array): M {
  if (bytes.length === 1 && bytes[0] === DELETED[0]) return { deleted: true } as M;
  const mark = JSON.parse(Buffer.from(bytes).toString()) as M | null;
  if (!isRecord(mark) || !Object.entries(mark).every(isState))
    throw new Error('A tombstone is damaged');
  return mark;
}

function isState([name, value]: readonly [string, unknown]): boolean {
  if (name === 'scrubbedUpTo') return typeof value === 'string' && /^\d{1,20}$/.test(value);
  if (name === 'edited' || (name === 'deleted' && !Array.isArray(value))) return value === true;
  if (!Array.isArray(value) || value.length !== 2 || !Number.isSafeInteger(value[0])) return false;
  if (name === 'withheld') return isTexts(value[1]);
  return /^(?:deleted|dropped|protected|suspended)$/.test(name) && typeof value[1] === 'boolean';
}

function largerId(a: string | undefined, b: string): string {
  return a === undefined || BigInt(b) > BigInt(a) ? b : a;
}

/** Returns the value with the later time. If the times are equal, returns both values combined by `merge`. */
function later<T>(a: Timed<T> | undefined, b: Timed<T>, merge: (a: T, b: T) => T): Timed<T> {
  if (a === undefined || b[0] > a[0]) return b;
  return b[0] < a[0] ? a : [b[0], merge(a[1], b[1])];
}

const either = (a: boolean, b: boolean) => a || b;
const union = (a: readonly string[], b: readonly string[]) => sorted([...a, ...b]);

function withheldIn(countries: readonly string[], at: number) {
  return <Mark extends PostTombstone | UserTombstone>(mark: Mark): Mark => ({
    ...mark,
    withheld: later(mark.withheld, [at, sorted(countries)], union),
  });
}

function ofPost(id: string, change: (mark: PostTombstone) => PostTombstone): Change {
  return { of: 'post', id, change };
}

function ofUser(id: string, change: (mark: UserTombstone) => UserTombstone): Change {
  return { of: 'user', id, change };
}

function sorted(countries: readonly string[]): readonly string[] {
  return [...new Set(countries)].sort();
}
