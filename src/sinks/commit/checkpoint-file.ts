import path from 'node:path';
import { crc32 } from 'node:zlib';
import type { Cursor } from '../../flow/flow.js';
import {
  type FileSystem,
  type OpenFile,
  regularStatus,
  writeAll,
} from '../../storage/file-system.js';
import { makeSyncedFolder } from '../../storage/folder.js';
import { type Lock, recoveryLockPath, takeLock } from '../../storage/lock.js';
import { replaceFileOn } from '../../storage/replace-file.js';
import { storageError } from '../../storage/storage-error.js';
import type { FileCounts } from '../write/output-file.js';
import {
  type Checkpoint,
  type CheckpointOwner,
  type CheckpointState,
  type CheckpointText,
  type CommittedFile,
  checkedText,
  checkOf,
  completedOf,
  DAMAGED,
  headOf,
  isCommittedFile,
} from './checkpoint-text.js';

/** Stores a checkpoint, and holds a lock so that no other run can use the checkpoint. */
export interface CheckpointStore {
  readonly name: string;
  /** The name of the store as it appears in messages, after `the checkpoint`. */
  readonly shownName: string;
  /** All paths that the store uses. No output file may have one of these paths. */
  readonly paths: readonly string[];
  /** The minimum time between two commits in milliseconds; `undefined` if there is no minimum. */
  readonly everyMs: number | undefined;
  /** Whether the store holds so many rows that a commit is due, even if no output file needs a commit yet. */
  readonly isFull: boolean;
  readonly hasNew: boolean;
  readonly rows: number | undefined;
  read(): Promise<Checkpoint | undefined>;
  /** Called when a commit starts. Rows that arrive later belong to the next commit. */
  begin(): void;
  /**
   * Replaces the whole checkpoint.
   *
   * @param advice Tells the user what happens if the script is run again. Error messages end with this text.
   * @throws StorageError if writing fails, or if another run has taken over the checkpoint.
   */
  replace(content: Omit<CheckpointText, 'owner'>, advice: string): Promise<void>;
  close(): Promise<void>;
}

export function lockPath(checkpoint: string): string {
  return `${checkpoint}.lock`;
}

export function checkpointPaths(checkpoint: string): string[] {
  return [checkpoint, temporaryPath(checkpoint), ...lockPaths(lockPath(checkpoint))];
}

export function lockPaths(lock: string): string[] {
  return [lock, recoveryLockPath(lock)];
}

export class CheckpointFile implements CheckpointStore {
  readonly name: string;
  readonly everyMs = undefined;
  readonly isFull = false;
  readonly hasNew = false;
  readonly rows = undefined;
  readonly #fs: FileSystem;
  readonly #owner: CheckpointOwner;
  readonly #lock: Lock;

  private constructor(fs: FileSystem, file: string, owner: CheckpointOwner, lock: Lock) {
    this.#fs = fs;
    this.name = file;
    this.#owner = owner;
    this.#lock = lock;
  }

  /**
   * Creates the checkpoint's folder, and locks the checkpoint.
   *
   * @param folder The folder against which relative paths are resolved.
   */
  static async open(
    fs: FileSystem,
    { file, folder, owner }: { file: string; folder: string; owner: CheckpointOwner },
  ): Promise<CheckpointFile> {
    await prepareFolder(fs, path.resolve(folder, file));
    return new CheckpointFile(fs, file, owner, await takeLock(lockPath(file), { fs }));
  }

  get shownName(): string {
    return this.name;
  }

  get paths(): readonly string[] {
    return checkpointPaths(this.name);
  }

  read(): Promise<Checkpoint | undefined> {
    return readCheckpoint(this.#fs, this.name, this.#owner);
  }

  begin(): void {}

  async replace(content: Omit<CheckpointText, 'owner'>, advice: string): Promise<void> {
    await this.#lock.check();
    try {
      await writeCheckpoint(this.#fs, this.name, { ...content, owner: this.#owner });
    } catch (error) {
      throw storageError('write the checkpoint', this.name, error, advice);
    }
  }

  async close(): Promise<void> {
    await this.#lock.release();
  }
}

/** The number of UTF-16 units in each block of a printed checkpoint. */
const BLOCK_LENGTH = 64 * 1024;
export function temporaryPath(file: string): string {
  return `${file}.tmp`;
}

/** @throws StorageError if the checkpoint is damaged or belongs to another run. */
export async function readCheckpoint(
  fs: FileSystem,
  file: string,
  owner: CheckpointOwner,
): Promise<Checkpoint | undefined> {
  let text: string;
  try {
    // `regularStatus` refuses a symbolic link. Otherwise, the next commit would replace the link instead of
    // the file that the link points to.
    if ((await regularStatus(fs, file)) === undefined) return undefined;
    text = await fs.readFile(file, 'utf8');
  } catch (error) {
    throw storageError('read the checkpoint', file, error);
  }
  const place = { path: file, subject: `The checkpoint ${file}` };
  const checkpoint = checkedText(text, place, owner, isCheckpoint);
  return {
    state: checkpoint.state as CheckpointState,
    cursor: (checkpoint.cursor ?? undefined) as Cursor | undefined,
    files: (checkpoint.files as (Omit<CommittedFile, 'lineBytes'> & { lineBytes?: number })[]).map(
      counts => ({ ...counts, lineBytes: counts.lineBytes ?? counts.bytes }),
    ),
    completed: completedOf(checkpoint),
  };
}

export async function writeCheckpoint(
  fs: FileSystem,
  file: string,
  checkpoint: CheckpointText,
): Promise<void> {
  const write = async (aside: OpenFile) => {
    let position = 0;
    for (const block of print(checkpoint)) {
      await writeAll(aside, block, position);
      position += block.length;
    }
  };
  await replaceFileOn(fs, file, write, { mode: 0o600, aside: temporaryPath(file) });
}

export async function prepareFolder(fs: FileSystem, file: string): Promise<void> {
  const folder = path.dirname(file);
  try {
    await makeSyncedFolder(folder, { fs });
  } catch (error) {
    throw storageError('create the folder', folder, error);
  }
}

/**
 * Prints a checkpoint in blocks. If it lists many thousands of files, a single string would take as much
 * memory as the list.
 */
function* print({ state, owner, cursor, files, completed }: CheckpointText): Generator<Uint8Array> {
  const output = files.filter(({ branch }) => branch !== DAMAGED);
  const total = (count: (file: FileCounts) => number) =>
    output.reduce((sum, file) => sum + count(file), 0);
  let sum = 0;
  let text = `${headOf(state, owner, completed)}  "posts": ${total(file => file.posts)},
  "bytes": ${total(file => file.bytes)},
  "cursor": ${cursor},
  "files": [`;
  for (const [index, { path: name, ...counted }] of files.entries()) {
    const { posts, bytes, lineBytes, branch, finished, handedOn, settled } = counted;
    const counts = JSON.stringify({
      path: name,
      posts,
      bytes,
      branch,
      finished,
      handedOn,
      settled,
      ...(lineBytes === bytes ? {} : { lineBytes }),
    });
    text += `${index === 0 ? '' : ','}\n    ${counts}`;
    if (text.length < BLOCK_LENGTH) continue;
    sum = crc32(text, sum);
    yield Buffer.from(text);
    text = '';
  }
  text += `${files.length === 0 ? '' : '\n  '}],\n`;
  sum = crc32(text, sum);
  yield Buffer.from(text + checkOf(sum));
}

/**
 * Returns whether the members of a parsed checkpoint file have the right types. With a wrong byte count, the
 * next run would truncate output files at the wrong position.
 */
function isCheckpoint({ state, cursor, files }: Record<string, unknown>): boolean {
  return (
    (state === 'running' || state === 'finishing' || state === 'complete') &&
    cursor !== undefined &&
    Array.isArray(files) &&
    files.every(isCommittedFile)
  );
}
