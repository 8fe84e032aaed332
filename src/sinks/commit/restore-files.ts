import path from 'node:path';
import { StorageError } from '../../base/errors.js';
import { type FileSystem, openExisting, regularStatus } from '../../storage/file-system.js';
import { syncFolder } from '../../storage/folder.js';
import { storageError } from '../../storage/storage-error.js';
import type { FileCounts } from '../write/output-file.js';
import { PART } from '../write/output-names.js';
import { type Checkpoint, type CommittedFile, DAMAGED } from './checkpoint-text.js';
import type { Member } from './committer.js';

/**
 * Checks that all files of a complete checkpoint exist. Their content is not checked, because
 * `applyCompliance` may have removed posts.
 *
 * @throws StorageError
 */
export async function checkOutputs(
  fs: FileSystem,
  file: string,
  { files }: Checkpoint,
): Promise<void> {
  const missing: string[] = [];
  // Two kinds of files are not checked: the file of damaged records, and files that `onFile` has processed. The
  // caller may have moved or deleted them.
  for (const { path: output, handedOn, branch } of files)
    if (
      handedOn === undefined &&
      branch !== DAMAGED &&
      (await regularStatus(fs, output)) === undefined
    )
      missing.push(output);
  const [first] = missing;
  if (first !== undefined)
    throw new StorageError(
      `${first}${missing.length === 1 ? ' is' : ` and ${missing.length - 1} more files are`} missing, and the checkpoint ${file} says that all is written. Restore the missing files, or delete the checkpoint to write everything again.`,
      { path: first },
    );
}

/**
 * Returns the checkpoint with which a run continues the files of earlier runs. A finished file gets its
 * current size instead of the recorded one, because another program such as `applyCompliance` may have
 * changed it. The recorded size is kept if the file was moved away.
 */
export async function adoptFinished(fs: FileSystem, before: Checkpoint): Promise<Checkpoint> {
  const { cursor } = before;
  const files: CommittedFile[] = [];
  for (const file of before.files) {
    const { finished, handedOn, ...open } = file;
    const isOpen = before.state !== 'complete' && finished !== true;
    const size = isOpen ? undefined : (await regularStatus(fs, file.path))?.size;
    // If only the `.part` file exists, the previous run has already renamed the finished file back to `.part`.
    const isPart = size === undefined && (await regularStatus(fs, file.path + PART)) !== undefined;
    if (isOpen || isPart) {
      files.push(isPart || handedOn === undefined ? open : { ...open, handedOn });
      continue;
    }
    // If the file of damaged records is missing, the caller has handled its records and removed it. Starts a
    // new file.
    if (file.branch === DAMAGED && size === undefined) continue;
    const bytes = size ?? file.bytes;
    const isCompressed = file.lineBytes !== file.bytes;
    const lineBytes = isCompressed ? file.lineBytes : bytes;
    files.push({ ...file, bytes, lineBytes, finished: true });
  }
  return { state: 'running', cursor, files };
}

/**
 * Truncates each `.part` file to its size in the checkpoint, and throws if the file is shorter or missing.
 * Does not change files that an earlier run has already finished, but returns them.
 *
 * @param memberOf Returns the sink or log that writes a file.
 */
export async function restore(
  fs: FileSystem,
  file: string,
  { state, files }: Checkpoint,
  memberOf: (file: CommittedFile) => Member | undefined,
): Promise<Set<CommittedFile>> {
  const named = new Set<CommittedFile>();
  const folders = new Set<string>();
  for (const counts of files) {
    const part = counts.path + PART;
    try {
      if (counts.finished === true || counts.handedOn !== undefined) {
        named.add(counts);
        continue;
      }
      const size = (await regularStatus(fs, part))?.size;
      const { outputs, callOnFile } = memberOf(counts) ?? {};
      const isNamed =
        outputs?.endsFiles === true
          ? size !== counts.bytes
          : size === undefined && state === 'finishing';
      if (isNamed) {
        // An earlier run was killed after this file had got its final name. The new name may not be on disk
        // yet, so its folder must be synced.
        const size = await finishedSize(fs, file, counts, callOnFile !== undefined);
        if (size !== undefined) folders.add(path.dirname(counts.path));
        named.add(counts);
        continue;
      }
      if (size === undefined || size < counts.bytes) throw lost(file, part, size, counts.bytes);
      if (size > counts.bytes) await cutBack(fs, part, counts.bytes);
    } catch (error) {
      throw storageError('continue', part, error);
    }
  }
  for (const folder of folders) await syncFolder(folder, fs);
  return named;
}

async function finishedSize(
  fs: FileSystem,
  file: string,
  counts: FileCounts,
  callsOnFile: boolean,
): Promise<number | undefined> {
  const size = (await regularStatus(fs, counts.path))?.size;
  // The file may be missing because an interrupted call of `onFile` has moved or deleted it. That is not an
  // error here, because `onFile` is called again.
  const mayLack = size === undefined && callsOnFile;
  if (size !== counts.bytes && !mayLack) throw lost(file, counts.path, size, counts.bytes);
  return size;
}

async function cutBack(fs: FileSystem, part: string, bytes: number): Promise<void> {
  const handle = await openExisting(fs, part);
  try {
    await handle.truncate(bytes);
  } finally {
    await handle.close();
  }
}

function lost(file: string, part: string, size: number | undefined, bytes: number): StorageError {
  const found =
    size === undefined ? 'is missing' : `has ${size < bytes ? 'only ' : ''}${size} bytes`;
  return new StorageError(
    `${part} ${found}, but ${bytes} of its bytes are counted in the checkpoint ${file}. Put the file back, or delete the checkpoint to start again.`,
    { path: part },
  );
}
