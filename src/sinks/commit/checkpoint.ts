import path from 'node:path';
import { crc32 } from 'node:zlib';
import { isRecord } from '../../base/record.js';
import type { Cursor } from '../../flow/flow.js';
import { isCount } from '../../json/json.js';
import { type FileSystem, type OpenFile, writeAll } from '../../storage/file-system.js';
import { makeSyncedFolder } from '../../storage/folder.js';
import { regularStatus } from '../../storage/regular-file.js';
import { replaceFileOn } from '../../storage/replace-file.js';
import { storageError } from '../../storage/storage-error.js';
import { DAMAGED, type FileCounts } from '../write/output-file.js';
import {
  type CheckpointOwner,
  checkedText,
  checkOf,
  completedOf,
  headOf,
} from './checkpoint-text.js';

/**
 * `running`: the files are parts that a run resumes from the cursor. `finishing`: all lines are
 * written, and some files have their final names. `complete`: nothing is left to do.
 */
export type CheckpointState = 'running' | 'finishing' | 'complete';

export interface Checkpoint {
  readonly state: CheckpointState;
  readonly cursor: Cursor | undefined;
  readonly files: readonly CommittedFile[];
  /** When all was written. */
  readonly completed?: Date | undefined;
}

/** A file in a checkpoint. */
export interface CommittedFile extends FileCounts {
  /** Of several branches that commit together, the number of the one that writes it; `DAMAGED` for what none can use. */
  readonly branch?: number | typeof DAMAGED | undefined;
  /** Of damaged records: those from this byte on may be reported again, because they lie after the cursor. */
  readonly settled?: number | undefined;
  /** Whether an earlier run has finished it, and none has added to it since: others may have changed or moved it. */
  readonly finished?: true | undefined;
}

/** The length of a block of the text, in UTF-16 units. */
const BLOCK_LENGTH = 64 * 1024;
/** The temporary file that becomes the checkpoint by a rename. */
export function temporaryPath(file: string): string {
  return `${file}.tmp`;
}

/** Reads the checkpoint; throws where it is damaged or belongs to another run. */
export async function readCheckpoint(
  fs: FileSystem,
  file: string,
  owner: CheckpointOwner,
): Promise<Checkpoint | undefined> {
  let text: string;
  try {
    // The next commit could not replace what a link points to.
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

export interface CheckpointText {
  readonly state: CheckpointState;
  readonly owner: CheckpointOwner;
  /** As JSON, or `null`. */
  readonly cursor: string;
  readonly files: readonly CommittedFile[];
  readonly completed?: Date | undefined;
}

/** Replaces the checkpoint atomically. */
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

/** Creates the checkpoint's folder and syncs its name to disk. */
export async function prepareFolder(fs: FileSystem, file: string): Promise<void> {
  const folder = path.dirname(file);
  try {
    await makeSyncedFolder(folder, { fs });
  } catch (error) {
    throw storageError('make the folder', folder, error);
  }
}

/** Prints in blocks: the whole text, of many thousands of files, takes as much memory as all else that is kept of them. */
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

/** Whether what a file says has the types of a checkpoint: a wrong count would truncate files in the wrong place. */
function isCheckpoint({ state, cursor, files }: Record<string, unknown>): boolean {
  return (
    (state === 'running' || state === 'finishing' || state === 'complete') &&
    cursor !== undefined &&
    Array.isArray(files) &&
    files.every(isCommittedFile)
  );
}

/** Whether it is the entry of a file. */
export function isCommittedFile(file: unknown): boolean {
  if (!isRecord(file)) return false;
  const { path, posts, bytes, lineBytes = bytes, branch = 0, finished = true, settled = 0 } = file;
  return (
    finished === true &&
    typeof path === 'string' &&
    path !== '' &&
    [posts, bytes, lineBytes, settled].every(isCount) &&
    (branch === DAMAGED || isCount(branch))
  );
}
