import { createHash, randomUUID } from 'node:crypto';
import {
  lstat,
  mkdir,
  mkdtemp,
  readdir,
  readFile,
  realpath,
  rename,
  rm,
  rmdir,
  stat,
} from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { MillraceError, StorageError } from '../../../base/errors.js';
import { DAY, floorTo, formatTimestamp, MINUTE, type Window } from '../../../base/time.js';
import { compressionOf, type FileCompression } from '../../../gzip/compression.js';
import { lacksZstd, MAGIC_BYTES, nodeZstd } from '../../../gzip/zstd.js';
import type { Format } from '../../../post/activity.js';
import { type IndexedOperators, indexedOperators } from '../../../rules/operators/post-terms.js';
import { dialectOf } from '../../../rules/post/dialect.js';
import { firstBytes } from '../../../storage/file-system.js';
import { syncFolder } from '../../../storage/folder.js';
import { replaceFile } from '../../../storage/replace-file.js';
import { withStorageError } from '../../../storage/storage-error.js';
import { temporaryFolder } from '../../temporary-folder.js';
import { writeBlock } from './block-layout.js';
import { fileBlocks, fileLines, type ListedFile, listFiles } from './folder-files.js';
import { type IndexedFile, packedName, writePackedText } from './line-reader.js';
import { PostSorter } from './post-sorter.js';
import { readPost } from './read-post.js';

/** The version of the layout. Increment it if the files of an index or the meaning of a term change. */
const LAYOUT = 7;
/** The approximate maximum number of posts in a block. A block is a day, or a part of a day that has more posts. */
const BLOCK_POSTS = 16_384;
/**
 * A compressed file whose text has at most this many bytes is inflated completely in order to read a line.
 * For a larger file, the index has a copy in which a reader can seek.
 */
const MAX_INFLATED = 16 * 1024 * 1024;
/** An incomplete index that a killed process has left is removed after this time, in milliseconds. */
const ABANDONED_MS = DAY;

export interface FolderIndex {
  readonly path: string;
  readonly files: readonly IndexedFile[];
  /** The blocks of each format, ascending. */
  readonly formats: { readonly [F in Format]: readonly IndexedBlock[] };
}

export interface IndexedBlock extends Window {
  /** The name of the block's file in the folder of the index. */
  readonly name: string;
  readonly posts: number;
}

/**
 * Opens the index of a folder of job files. Builds a new index if the files have changed. Does not change the
 * folder's files.
 *
 * @throws DataError that names the file and line if data is damaged or a line is not a post. Also for a zstd
 * file if Node does not support zstd.
 * @throws StorageError if files cannot be read or the index cannot be written.
 */
export async function openFolderIndex(folder: string): Promise<FolderIndex> {
  const files = await listFiles(folder);
  if (files.length === 0)
    throw new StorageError(
      `The archive folder ${folder} holds no files of posts (*.json, *.jsonl or *.ndjson, also with .gz or .zst)`,
      { path: folder },
    );
  if (nodeZstd === undefined) await refuseZstd(folder, files);
  const indexes = await findIndexFolder(folder);
  const path = join(indexes, indexName(files));
  const index = (await readIndex(path)) ?? (await makeIndex(folder, files, path));
  await removeOthers(indexes, path);
  return index;
}

/**
 * Throws if there are zstd files and Node does not support them. Call this before an index is read, because a
 * newer Node may have built the index. Call it also before an index is built, because otherwise hours could pass
 * before the first zstd file fails.
 */
async function refuseZstd(folder: string, files: readonly ListedFile[]): Promise<void> {
  for (const file of files.filter(({ path }) => /\.zst$/i.test(path))) {
    const path = join(folder, file.path);
    const compression = await withStorageError('read', path, () => readCompression(path));
    if (compression === 'zstd') throw lacksZstd(path);
  }
}

/**
 * Returns the name of the index for these files. The name is a digest of the paths, sizes and modification
 * times of the files, of the version of the index layout, and of the operators that add terms to the index.
 * If any of these changes, a new index is built.
 *
 * @param operators The indexed operators. `JSON.stringify` keeps their terms and drops their functions.
 */
export function indexName(
  files: readonly ListedFile[],
  operators: IndexedOperators = indexedOperators(dialectOf('search')),
): string {
  return createHash('sha256')
    .update(JSON.stringify([LAYOUT, operators, files]))
    .digest('hex')
    .slice(0, 24);
}

async function readIndex(path: string): Promise<FolderIndex | undefined> {
  try {
    const { files, formats } = JSON.parse(await readFile(join(path, 'index.json'), 'utf8'));
    return Array.isArray(files) && Array.isArray(formats?.original)
      ? { path, files, formats }
      : undefined;
  } catch {
    return undefined;
  }
}

/**
 * Builds an index in a temporary folder and then renames the folder, so that nobody opens an incomplete
 * index.
 */
async function makeIndex(
  folder: string,
  files: readonly ListedFile[],
  path: string,
): Promise<FolderIndex> {
  const aside = `${path}.${randomUUID()}.making`;
  try {
    await mkdir(aside, { mode: 0o700 });
    const index = await writeIndex(folder, files, aside);
    await replaceFile(join(aside, 'index.json'), JSON.stringify(index));
    await publish(aside, path);
    await syncFolder(dirname(path));
    return { path, ...index };
  } catch (cause) {
    if (cause instanceof MillraceError) throw cause;
    throw new StorageError(`Cannot write the index of the archive to ${aside}`, {
      path: aside,
      cause,
    });
  } finally {
    // If the removal fails, a later start removes the folder as abandoned.
    await rm(aside, { recursive: true, force: true }).catch(() => {});
  }
}

/**
 * Renames a new index to its final path. If another process has already created this index, keeps the existing
 * one, unless it cannot be read.
 */
async function publish(aside: string, path: string): Promise<void> {
  try {
    await rename(aside, path);
  } catch (error) {
    if ((await readIndex(path)) !== undefined) return;
    const broken = `${path}.${randomUUID()}.making`;
    await rename(path, broken).catch(() => {
      throw error;
    });
    await rename(aside, path);
    await rm(broken, { recursive: true, force: true });
  }
}

async function writeIndex(
  folder: string,
  files: readonly ListedFile[],
  aside: string,
): Promise<Omit<FolderIndex, 'path'>> {
  const sorter = await PostSorter.create(aside);
  try {
    const indexed = await readFiles(folder, files, aside, sorter);
    return { files: indexed, formats: await writeBlocks(sorter, aside) };
  } finally {
    await sorter.close();
  }
}

async function readFiles(
  folder: string,
  files: readonly ListedFile[],
  aside: string,
  sorter: PostSorter,
): Promise<readonly IndexedFile[]> {
  const indexed: IndexedFile[] = [];
  for (const [number, file] of files.entries()) {
    const path = join(folder, file.path);
    let textBytes = 0;
    for await (const lines of fileLines(path))
      for (const line of lines) {
        textBytes = line.offset + line.bytes.length;
        const post = readPost(line, path);
        if (post !== undefined) await sorter.add(post, number);
      }
    const form = await formOf(path, textBytes);
    const chunks =
      form === 'packed'
        ? await writePackedText(fileBlocks(path), join(aside, packedName(number)))
        : undefined;
    indexed.push({ ...file, form, textBytes, chunks });
  }
  return indexed;
}

async function writeBlocks(sorter: PostSorter, folder: string): Promise<FolderIndex['formats']> {
  await sorter.finish();
  const formats = { original: [] as IndexedBlock[], activity_streams: [] as IndexedBlock[] };
  for (const { from, to } of blockRanges(sorter.counts, BLOCK_POSTS)) {
    const all = await sorter.read(from, to);
    for (const format of ['original', 'activity_streams'] as const) {
      const { bytes, posts } = writeBlock(
        all.filter(post => post.format === format),
        from,
      );
      if (posts === 0) continue;
      const name = `${format}-${formatTimestamp(from)}.block`;
      await replaceFile(join(folder, name), bytes);
      formats[format].push({ from, to, name, posts });
    }
  }
  return formats;
}

async function formOf(path: string, textBytes: number): Promise<IndexedFile['form']> {
  const compression = await readCompression(path);
  return compression !== 'plain' && textBytes > MAX_INFLATED ? 'packed' : compression;
}

async function readCompression(path: string): Promise<FileCompression> {
  return compressionOf(await firstBytes(path, MAGIC_BYTES));
}

/** Removes the indexes of earlier states of the folder, and incomplete indexes that killed processes have left. */
async function removeOthers(indexes: string, path: string): Promise<void> {
  // Indexes that cannot be removed are harmless.
  for (const name of await readdir(indexes).catch(() => [])) {
    const other = join(indexes, name);
    if (other === path) continue;
    const isBeingMade = name.endsWith('.making') || name.startsWith('.probe-');
    const changed = await stat(other).catch(() => undefined);
    if (changed === undefined) continue;
    if (isBeingMade && Date.now() - changed.mtimeMs < ABANDONED_MS) continue;
    await rm(other, { recursive: true, force: true }).catch(() => {});
  }
}

/**
 * Yields the time ranges of an index's blocks. There is one for each day with posts. A day with more than
 * `maxPosts` posts has several ranges of whole minutes. A range has more than `maxPosts` posts only if it is
 * a single minute.
 *
 * @param counts The number of posts of each minute.
 */
export function* blockRanges(
  counts: ReadonlyMap<number, number>,
  maxPosts: number,
): Generator<Window> {
  const minutes = [...counts].sort(([a], [b]) => a - b);
  let from = Number.NaN;
  let posts = 0;
  let last = Number.NaN;
  for (const [minute, count] of minutes) {
    const isNewDay = floorTo(DAY, minute) !== floorTo(DAY, last);
    if (posts > 0 && (isNewDay || posts + count > maxPosts)) {
      yield { from, to: isNewDay ? last + MINUTE : minute };
      posts = 0;
    }
    if (posts === 0) from = minute;
    posts += count;
    last = minute;
  }
  if (posts > 0) yield { from, to: last + MINUTE };
}

/**
 * Returns the folder for the indexes of an archive. If the archive is read-only, or other users could change
 * the indexes in it, the folder is in the system's temporary folder.
 */
async function findIndexFolder(folder: string): Promise<string> {
  const inArchive = join(folder, '.millrace-index');
  if (await isSafeFolder(inArchive)) return inArchive;
  const digest = createHash('sha256')
    .update(await realpath(folder))
    .digest('hex')
    .slice(0, 16);
  const temporary = join(tmpdir(), `millrace-index-${process.getuid?.() ?? 0}-${digest}`);
  if (await isSafeFolder(temporary)) return temporary;
  return temporaryFolder('index');
}

/** Creates the folder if necessary. Returns whether it belongs to this user and no other user can change it. */
async function isSafeFolder(path: string): Promise<boolean> {
  try {
    await mkdir(path, { mode: 0o700 }).catch(error => {
      if (error.code !== 'EEXIST') throw error;
    });
    const found = await lstat(path);
    const isOwner = process.getuid === undefined || found.uid === process.getuid();
    if (!found.isDirectory() || !isOwner || (found.mode & 0o022) !== 0) return false;
    // Detects a read-only disk before an index is built.
    const probe = await mkdtemp(join(path, '.probe-'));
    await rmdir(probe);
    return true;
  } catch {
    return false;
  }
}
