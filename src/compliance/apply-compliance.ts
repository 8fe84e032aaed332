import { availableParallelism } from 'node:os';
import path from 'node:path';
import pLimit from 'p-limit';
import {
  checkOptions,
  checkValue,
  flag,
  func,
  type OptionTable,
  required,
  signal,
  text,
} from '../base/check.js';
import { compressionOf } from '../gzip/compression.js';
import { lacksZstd, MAGIC_BYTES, nodeZstd } from '../gzip/zstd.js';
import { firstBytes } from '../storage/file-system.js';
import {
  checkedMatch,
  filesBelow,
  isCheckpointFile,
  STORED_POSTS,
} from '../storage/files-below.js';
import { syncFolder } from '../storage/folder.js';
import { withAnyStorageError, withStorageError } from '../storage/storage-error.js';
import type { HiddenReason, HidingOptions } from './hidden-posts.js';
import { rewriteFile } from './rewrite-file.js';
import type { Tombstones } from './tombstones.js';
import { checkTombstones, HIDING_OPTIONS } from './without-deleted.js';

/** Options of `applyCompliance`: which files to rewrite, which posts to hide, and what remains of a hidden post. */
export interface ApplyComplianceOptions extends HidingOptions {
  /**
   * Selects files by their path relative to the folder, with `/` as the separator.
   * @default files that end in `.json`, `.jsonl` or `.ndjson`, optionally followed by `.gz` or `.zst`
   */
  readonly match?: ((name: string) => boolean) | undefined;
  /**
   * If true, changes nothing. The result then counts the posts that would be removed and changed, and
   * `rewritten` lists the files that would be rewritten.
   * @default false
   */
  readonly dryRun?: boolean | undefined;
  /** Ends the call, which then rejects with the signal's reason. No file is left incomplete. */
  readonly signal?: AbortSignal | undefined;
}

/** A rewritten file, and how many of its posts were removed, masked or changed. */
export interface RewrittenFile {
  readonly path: string;
  /** The number of posts that were removed or masked. */
  readonly removed: number;
  /** The number of posts that lost their geo data or a quoted post. */
  readonly changed: number;
}

/**
 * The result of `applyCompliance`: how many posts were removed and changed, and which files were rewritten.
 */
export interface AppliedCompliance {
  /** The number of files read. */
  readonly files: number;
  readonly posts: number;
  /** How many posts were removed or masked, for each reason. */
  readonly removed: Readonly<Partial<Record<HiddenReason, number>>>;
  /** The number of posts that lost their geo data or a quoted post. */
  readonly changed: number;
  /** The rewritten files. All other files are unchanged. */
  readonly rewritten: readonly RewrittenFile[];
}

/**
 * The maximum number of files that are rewritten concurrently. Node's thread pool has 4 threads by default.
 */
const MAX_AT_ONCE = 4;

const FOLDER = required(text('the folder of the stored posts'));
export const APPLY_OPTIONS = {
  ...HIDING_OPTIONS,
  match: func<(name: string) => boolean>('which files of the folder'),
  dryRun: flag('change nothing, and only count', false),
  signal: signal(),
} satisfies OptionTable<ApplyComplianceOptions>;

/**
 * Removes from stored files the posts, and the parts of posts, that `withoutDeleted` removes from a flow.
 * Rewrites only files that contain such posts, up to 4 at a time, each atomically. After a crash, every file
 * is either unchanged or finished, and the next run continues with the unchanged files. A second run changes
 * nothing if no tombstones were recorded since the first run. Updates the post count in the `info` line at
 * the end of a job file. A rewritten file keeps its compression: gzip, zstd or none. Symbolic links below the
 * folder are not followed. The checkpoints that the sink `files` has written are not changed.
 *
 * @throws OptionError, StorageError; DataError if a file is damaged. Before any file changes, also throws a
 *   DataError if a file is zstd and Node is older than 22.15, which cannot read zstd.
 * @example
 * const { removed, rewritten } = await applyCompliance('downloads', await openTombstones('tombstones'));
 * console.log(removed, `in ${rewritten.length} files`);
 */
export async function applyCompliance(
  archiveFolder: string,
  tombstones: Tombstones,
  options: ApplyComplianceOptions = {},
): Promise<AppliedCompliance> {
  checkValue('applyCompliance', 'archiveFolder', FOLDER, archiveFolder);
  checkTombstones('applyCompliance', tombstones);
  const checked = checkOptions('applyCompliance', APPLY_OPTIONS, options);
  const { match = (name: string) => STORED_POSTS.test(name), signal, ...hiding } = checked;
  const names: string[] = [];
  for (const name of await filesIn(archiveFolder, checkedMatch('applyCompliance', match))) {
    const file = path.join(archiveFolder, name);
    if (!(await reading(file, isCheckpointFile(file)))) names.push(name);
  }
  if (nodeZstd === undefined)
    for (const name of names) {
      signal?.throwIfAborted();
      await refuseZstd(path.join(archiveFolder, name));
    }
  const removed: Partial<Record<HiddenReason, number>> = {};
  const rewritten: RewrittenFile[] = [];
  let [posts, changed] = [0, 0];
  const outcomes = await eachInPool(names, name => {
    signal?.throwIfAborted();
    return rewriteFile(path.join(archiveFolder, name), tombstones, hiding, signal);
  });
  for (const [index, outcome] of outcomes.entries()) {
    posts += outcome.posts;
    changed += outcome.changed;
    let gone = 0;
    for (const [reason, count] of outcome.removed) {
      removed[reason] = (removed[reason] ?? 0) + count;
      gone += count;
    }
    const file = path.join(archiveFolder, names[index]!);
    if (gone + outcome.changed > 0)
      rewritten.push({ path: file, removed: gone, changed: outcome.changed });
  }
  if (hiding.dryRun) return { files: names.length, posts, removed, changed, rewritten };
  // A previous run may have been killed after it rewrote files but before it synced their names. This run
  // treats those files as done, so it syncs the folders of all files.
  for (const folder of new Set(names.map(name => path.dirname(path.join(archiveFolder, name)))))
    await withStorageError('sync the folder', folder, () => syncFolder(folder));
  return { files: names.length, posts, removed, changed, rewritten };
}

/**
 * Runs `action` for several items concurrently. The concurrency pays because `action` inflates and compresses
 * in the thread pool. After a failure, starts no more items and waits for those that were started.
 */
async function eachInPool<Item, Result>(
  items: readonly Item[],
  action: (item: Item) => Promise<Result>,
): Promise<Result[]> {
  const limit = pLimit(Math.min(availableParallelism(), MAX_AT_ONCE));
  const failure = new AbortController();
  const one = async (item: Item) => {
    failure.signal.throwIfAborted();
    try {
      return await action(item);
    } catch (error) {
      failure.abort(error);
      throw error;
    }
  };
  const ended = await Promise.allSettled(items.map(item => limit(() => one(item))));
  failure.signal.throwIfAborted();
  return ended.flatMap(result => (result.status === 'fulfilled' ? [result.value] : []));
}

async function refuseZstd(file: string): Promise<void> {
  if (compressionOf(await reading(file, firstBytes(file, MAGIC_BYTES))) === 'zstd')
    throw lacksZstd(file, '. No file was changed');
}

function reading<T>(file: string, action: Promise<T>): Promise<T> {
  return withAnyStorageError('read', file, () => action);
}

/**
 * Lists regular files only. `folder` may be a symbolic link, but links below it are skipped, because they may
 * point anywhere.
 */
function filesIn(folder: string, match: (name: string) => boolean): Promise<string[]> {
  return filesBelow(folder, {
    match: (name, isRegular) => isRegular && match(name),
    hiddenFolders: true,
  });
}
