import { createHash } from 'node:crypto';
import type { Stats } from 'node:fs';
import { stat } from 'node:fs/promises';
import { join, relative, sep } from 'node:path';
import {
  checkOptions,
  cursorError,
  flag,
  type OptionTable,
  optionError,
  special,
} from '../base/check.js';
import { StorageError } from '../base/errors.js';
import { isRecord } from '../base/record.js';
import {
  environmentShard,
  hasFile,
  SHARD_OPTION,
  type Shard,
  shardMember,
  shardName,
} from '../base/shard.js';
import { fileFlow } from '../files/engine.js';
import type { Decoder, SourceFile } from '../files/file-source.js';
import type { Cursor, Flow, Run } from '../flow/flow.js';
import { withInternals } from '../flow/internals.js';
import type { Progress } from '../flow/progress.js';
import { workAhead } from '../flow/read-ahead.js';
import type { FileBytes } from '../json/records.js';
import { isCount } from '../json/type-guards.js';
import {
  checkedMatch,
  filesBelow,
  isCheckpointFile,
  STORED_FILES,
} from '../storage/files-below.js';
import { absolutePath } from '../storage/folder.js';
import {
  blocksOfFile,
  checkGrowth,
  decodeOrRead,
  type LocalFile,
  readLocalFile,
  withReadError,
} from './read-local-file.js';

/** The maximum size of a file that is read as a whole. Larger files are read in blocks. */
const MAX_WHOLE_BYTES = 8 * 1024 * 1024;
const MAX_FILES_AHEAD = 4;
const AHEAD_BYTES = 8 * 1024 * 1024;

/** Options of `localFiles`: which files of a folder it reads. */
export interface LocalFilesOptions {
  /**
   * Selects the files to read from a folder. It is matched against the path of a file below the folder, with
   * `/` as the separator. A file that is itself listed in `paths` is always read.
   * @default files whose names end in `.gz`, `.zst`, `.json`, `.jsonl` or `.ndjson`, except checkpoints of
   * `files`
   */
  readonly match?: RegExp | ((path: string) => boolean) | undefined;
  /**
   * The part of the files that this process reads. The last two segments of a path decide which part a file
   * belongs to. Therefore, all processes must have the same names below their folders.
   * @default `MILLRACE_SHARD`, such as 2/8; without it, all files
   */
  readonly shard?: Shard | undefined;
  /**
   * Whether each run reads only the files that no earlier run has read, for example in a cron job. The new
   * files may be anywhere among the old files, and a run may find no new files. The checkpoint keeps the
   * name, size and time of each file that was read. A file that has grown since then is an error. A file that
   * was rewritten with the same or a smaller size is not read again. `changedFiles` in the result counts
   * these files, and the progress note names one of them.
   * @default false
   */
  readonly incremental?: boolean | undefined;
}

const OPTIONS = {
  match: special<RegExp | ((path: string) => boolean), RegExp>(
    'which files of a folder to read',
    'a regular expression or a function of a path',
    value => value instanceof RegExp || typeof value === 'function',
    STORED_FILES,
  ),
  shard: SHARD_OPTION,
  incremental: flag('whether only files that are new are read'),
} satisfies OptionTable<LocalFilesOptions>;

/**
 * Reads the bytes of local files, with a cursor at the end of each file. A folder is read including its
 * subfolders, sorted by path, but without hidden files and folders, and without symbolic links to folders. A
 * list is read in the given order.
 *
 * A resumed run continues after the last file that was finished. It reads all files that sort after that
 * file, even new ones. If the name or size of an earlier file has changed, the cursor is refused, unless the
 * source is `incremental`.
 *
 * @param paths A folder, a file, or a list of folders and files.
 * @throws OptionError Immediately, for invalid arguments.
 * @throws StorageError From the flow, for a file or folder that is missing or cannot be read, a folder in
 * which no file matches, or a file that matches but whose name is not UTF-8.
 * @example
 * pipeline(localFiles('archive'), gunzip(), jsonLines(), activities(), files({ path: 'all.jsonl' }));
 */
export function localFiles(
  paths: string | readonly string[],
  options: LocalFilesOptions = {},
): Flow<FileBytes> {
  const roots = typeof paths === 'string' ? [paths] : Array.isArray(paths) ? [...paths] : [];
  if (roots.length === 0 || roots.some(path => typeof path !== 'string' || path === ''))
    throw optionError('localFiles', 'paths', 'must be a folder, a file, or a list of them');
  const {
    match,
    shard = environmentShard('localFiles'),
    incremental = false,
  } = checkOptions('localFiles', OPTIONS, options);
  const matches =
    match instanceof RegExp
      ? (path: string) => path.search(match) !== -1
      : checkedMatch('localFiles', match);
  const selection = { matches, checkpoints: match !== STORED_FILES, shard, incremental };
  const step = {
    step: 'localFiles',
    paths: roots,
    match: match instanceof RegExp ? `${match}` : '(a function)',
    ...shardMember(shard),
    ...(incremental && { incremental }),
  };
  const reads = (file: string) => roots.some(root => isBelow(absolutePath(root), file, matches));
  return fileFlow(
    (run, decoder) => read(roots, selection, run, decoder),
    [withInternals(step, { reads })],
  );
}

/** Whether a file is in a folder, with a name that is read from that folder. Both paths are absolute. */
function isBelow(folder: string, file: string, matches: (name: string) => boolean): boolean {
  const parts = relative(folder, file).split(sep);
  // The path from the folder to a file outside it begins with `..`, and files whose names begin with a dot are
  // not read. The path is empty if the folder is the file itself.
  if (parts.some(part => part === '' || part.startsWith('.'))) return false;
  return matches(parts.join('/'));
}

/**
 * The maximum number of files whose sizes are read concurrently. Reading the sizes of a million files at once
 * would take gigabytes of memory.
 */
const STATS_AT_ONCE = 256;

/**
 * Returns the name by which a cursor identifies a file. The name below a folder is not enough, because two
 * folders of a list may contain the same names.
 */
type KeyOf = (file: LocalFile) => string;

interface Selection {
  readonly matches: (name: string) => boolean;
  /** Whether to also read checkpoints that match. */
  readonly checkpoints: boolean;
  readonly shard: Shard | undefined;
  readonly incremental: boolean;
}

async function* read(
  roots: readonly string[],
  selection: Selection,
  { resume, progress, signal }: Run,
  decoder: Decoder | undefined,
): AsyncGenerator<SourceFile, void, undefined> {
  const { shard, incremental } = selection;
  const found = (await Promise.all(roots.map(root => filesAt(root, selection)))).flat();
  const keyOf: KeyOf = ({ name, path }) => (roots.length === 1 ? name : path);
  const own = found.filter(file => shard === undefined || hasFile(shard, file.path));
  const before = incremental ? filesRead(resume, roots) : undefined;
  const files = before === undefined ? own : newFiles(before, own, keyOf, progress);
  const total = bytesOf(files);
  const expect = (coming: readonly LocalFile[]) =>
    decoder?.expect({
      count: coming.filter(({ size }) => size <= MAX_WHOLE_BYTES).length,
      bytes: bytesOf(coming),
    });
  // If the files to read are known, the threads start now, while the cursors are created. If the run resumes
  // from a cursor, only few files may be left, so the threads start later.
  const isKnown = resume === undefined || before !== undefined;
  if (isKnown) expect(files);
  const cursors =
    before === undefined
      ? cursorsOf(files, shard, keyOf)
      : files.map((_, index) => incrementalCursor(before, files, keyOf, index + 1));
  const first = isKnown ? 0 : placeOf(resume, cursors, roots);
  const rest = files.slice(first);
  if (!isKnown) expect(rest);
  let done = bytesOf(files.slice(0, first));

  const begin = (file: LocalFile) => {
    if (file.size > MAX_WHOLE_BYTES) return undefined;
    return decoder === undefined ? readLocalFile(file) : decodeOrRead(decoder, file, signal);
  };
  const ahead =
    decoder === undefined
      ? workAhead(rest, begin, MAX_FILES_AHEAD, ({ size }) =>
          Math.max(1, size / (AHEAD_BYTES / MAX_FILES_AHEAD)),
        )
      : workAhead(rest, begin, decoder.ahead);
  let next = first;
  if (before !== undefined && files.length === 0)
    yield {
      origin: roots[0]!,
      cursor: incrementalCursor(before, files, keyOf),
      blocks: givenBlocks(),
    };
  for await (const { item: file, result } of ahead) {
    const { path: origin } = file;
    const cursor = cursors[next++]!;
    if (incremental && result !== undefined) await checkGrowth(file);
    if (result === undefined)
      yield { origin, cursor, blocks: blocksOfFile(file, incremental, count) };
    else if (result instanceof Uint8Array) {
      count(result.length);
      yield { origin, cursor, blocks: givenBlocks(result) };
    } else {
      count(file.size);
      yield { origin, cursor, decoded: result };
    }
  }

  function count(bytes: number): void {
    if (progress === undefined) return;
    done += bytes;
    progress.received++;
    progress.receivedBytes += bytes;
    if (total > 0) progress.fraction = Math.min(1, done / total);
  }
}

async function* givenBlocks(...blocks: readonly Uint8Array[]): AsyncGenerator<Uint8Array> {
  yield* blocks;
}

/** The size and modification time of a file when it was read. Checkpoints of earlier versions have only the size. */
type ReadFile = number | readonly [size: number, modifiedMs: number];

type FilesRead = Map<string, ReadFile>;

/**
 * Returns the files that earlier runs have read, as the cursor records them.
 *
 * @throws OptionError if the cursor is damaged, or if a different source created it.
 */
function filesRead(resume: Cursor | undefined, roots: readonly string[]): FilesRead {
  if (resume === undefined) return new Map();
  const { source, read } = JSON.parse(JSON.stringify(resume));
  if (source !== 'local-files' || !isRecord(read) || !Object.values(read).every(isReadFile))
    throw cursorError('is not one of localFiles() with `incremental`, or is damaged');
  const isBelow = (key: string) => roots.some(root => !relative(root, key).startsWith('..'));
  if (roots.length > 1 && !Object.keys(read).every(isBelow))
    throw cursorError(
      'has names of files without their folders, as earlier versions of localFiles() wrote them: it does not say which of several folders was read. Delete the checkpoint to start again',
    );
  return new Map(Object.entries(read as Record<string, ReadFile>));
}

function isReadFile(value: unknown): value is ReadFile {
  return isCount(value) || (Array.isArray(value) && value.length === 2 && value.every(isCount));
}

/**
 * Returns the files that no earlier run has read, without duplicates. If files have changed since an earlier
 * run read them, does not return them again, but reports them to `progress` in one message.
 *
 * @throws StorageError if a file has grown since it was read.
 */
function newFiles(
  before: FilesRead,
  files: readonly LocalFile[],
  keyOf: KeyOf,
  progress: Progress | undefined,
): LocalFile[] {
  const found = new Map<string, LocalFile>();
  const changed: string[] = [];
  for (const file of files) {
    const key = keyOf(file);
    const then = before.get(key);
    if (then === undefined) found.set(key, file);
    else if (hasChanged(then, file)) {
      changed.push(file.path);
      before.set(key, asRead(file));
    }
  }
  if (changed.length > 0 && progress !== undefined) {
    const others = changed.length === 1 ? '' : ` and ${changed.length - 1} more`;
    progress.changedFiles += changed.length;
    progress.tell(
      `${changed[0]}${others} changed after an earlier run read ${others === '' ? 'it' : 'them'}: not read again`,
    );
  }
  return [...found.values()];
}

/** @throws StorageError if the file has grown. */
function hasChanged(then: ReadFile, { path, size, modifiedMs }: LocalFile): boolean {
  const [sizeThen, modifiedThen = modifiedMs] = typeof then === 'number' ? [then] : then;
  if (size > sizeThen)
    throw new StorageError(
      `${path} has grown since it was read, from ${sizeThen} to ${size} bytes: what was added would be missed. Read files once nothing is added to them, such as those of days that are over, see the option \`match\``,
      { path },
    );
  return size < sizeThen || modifiedMs !== modifiedThen;
}

function asRead({ size, modifiedMs }: LocalFile): ReadFile {
  return [size, modifiedMs];
}

function incrementalCursor(
  before: FilesRead,
  files: readonly LocalFile[],
  keyOf: KeyOf,
  count = 0,
): Cursor {
  const read = () => {
    const added = files.slice(0, count).map(file => [keyOf(file), asRead(file)] as const);
    return Object.fromEntries([...before, ...added]);
  };
  return { source: 'local-files', read: { toJSON: read } };
}

/**
 * Returns the cursor after each file. A cursor names its file, and has a hash of all files up to that file.
 */
function cursorsOf(files: readonly LocalFile[], shard: Shard | undefined, keyOf: KeyOf): Cursor[] {
  let done = shard === undefined ? '' : shardName(shard);
  return files.map((file, index) => {
    const last = keyOf(file);
    done = createHash('sha256').update(`${done}\n${file.size} ${last}`).digest('hex').slice(0, 16);
    return { source: 'local-files', files: index + 1, last, done };
  });
}

/**
 * Returns the number of files that were read before the cursor. Throws if they are not the same files as when
 * the cursor was created.
 */
function placeOf(resume: Cursor, cursors: readonly Cursor[], roots: readonly string[]): number {
  const cursor = cursors[Number(resume.files) - 1];
  if (resume.source !== 'local-files' || cursor === undefined || cursor.done !== resume.done)
    throw new StorageError(
      `The cursor does not belong to ${roots.join(', ')}: the files up to ${String(resume.last)} are not the ones that were read. Delete the checkpoint to start again`,
      { path: roots[0]! },
    );
  return Number(resume.files);
}

async function filesAt(
  root: string,
  { matches, checkpoints, incremental }: Selection,
): Promise<LocalFile[]> {
  const stats = await withReadError(root, stat(root));
  if (stats.isFile()) return [{ path: root, name: root, ...listed(stats) }];
  if (!stats.isDirectory())
    throw new StorageError(`${root} is neither a file nor a folder`, { path: root });
  const names = await filesBelow(root, { match: matches });
  const regular: LocalFile[] = [];
  for (let first = 0; first < names.length; first += STATS_AT_ONCE) {
    const some = names
      .slice(first, first + STATS_AT_ONCE)
      .map(name => fileIn(root, name, checkpoints));
    for (const file of await Promise.all(some)) if (file !== undefined) regular.push(file);
  }
  if (regular.length === 0 && !incremental)
    throw new StorageError(`No file in ${root} matches; see the option \`match\``, { path: root });
  return regular;
}

/**
 * Returns the file `name` of the folder `root`. Returns `undefined` for a checkpoint file, unless
 * `checkpoints` is set. Also returns `undefined` for a link to a folder, because such links could form a
 * loop.
 */
async function fileIn(
  root: string,
  name: string,
  checkpoints: boolean,
): Promise<LocalFile | undefined> {
  const path = join(root, name);
  const stats = await withReadError(path, stat(path));
  if (!stats.isFile()) return undefined;
  // A file that cannot be opened stays in the list. The flow then ends with its error only after the files
  // before it were read.
  const isLeftOut = !checkpoints && (await isCheckpointFile(path).catch(() => false));
  return isLeftOut ? undefined : { path, name, ...listed(stats) };
}

function listed({ size, mtimeMs }: Stats): Pick<LocalFile, 'size' | 'modifiedMs'> {
  return { size, modifiedMs: Math.max(0, Math.trunc(mtimeMs)) };
}

function bytesOf(files: readonly LocalFile[]): number {
  return files.reduce((bytes, { size }) => bytes + size, 0);
}
