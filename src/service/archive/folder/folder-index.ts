import { createHash, randomUUID } from 'node:crypto';
import { mkdir, open, readdir, readFile, rename, rm, stat, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import type { Format } from '../../../activity/activity.js';
import { MillraceError, StorageError } from '../../../errors.js';
import { DAY, type Window } from '../../../time.js';
import { blockRanges } from './block-ranges.js';
import { fileBlocks, fileLines, isGzip } from './file-lines.js';
import { findIndexFolder } from './find-index-folder.js';
import { type IndexedFile, packedName } from './line-reader.js';
import { type ListedFile, listFiles } from './list-files.js';
import { writePackedText } from './packed-text.js';
import { PostSorter } from './post-sorter.js';
import { readPost } from './read-post.js';
import { writeBlock } from './write-block.js';

/** Part of an index's name: an index of another version is not found. */
const VERSION = 4;
/** Posts in a block, about: a day, or less where a day has more. */
const BLOCK_POSTS = 16_384;
/** Longest text of a gzip file that is inflated as a whole to read a line of it. */
const PACKED_FROM = 16 * 1024 * 1024;
/** What a process that died may have left is removed after this. */
const ABANDONED_MS = DAY;

/** What an index says of itself. */
export interface FolderIndex {
  readonly path: string;
  readonly files: readonly IndexedFile[];
  readonly formats: { readonly [F in Format]: FormatIndex };
}

export interface FormatIndex {
  readonly posts: number;
  /** Ascending. */
  readonly blocks: readonly IndexedBlock[];
}

export interface IndexedBlock extends Window {
  /** File name, in the index's folder. */
  readonly name: string;
  readonly posts: number;
}

export interface IndexProgress {
  /** Bytes of the archive's files that have been read, of how many. */
  readonly bytes: number;
  readonly of: number;
}

/**
 * The index of a folder of job files: the one that is there, if the files are still the same, or a
 * new one. The folder's own files are only read.
 *
 * @throws DataError naming file and line of what is damaged or no post; StorageError where files
 *   cannot be read or the index cannot be written.
 */
export async function openFolderIndex(
  folder: string,
  onProgress: (progress: IndexProgress) => void = () => {},
): Promise<FolderIndex> {
  const files = await listFiles(folder);
  if (files.length === 0)
    throw new StorageError(
      `The archive folder ${folder} holds no files of posts (*.json.gz, *.json or *.jsonl)`,
      { path: folder },
    );
  const home = await findIndexFolder(folder);
  const path = join(home, indexName(files));
  const index = (await readIndex(path)) ?? (await makeIndex(folder, files, path, onProgress));
  await removeOthers(home, path);
  return index;
}

/** The same files, as far as size and time tell, have an index of the same name. */
function indexName(files: readonly ListedFile[]): string {
  return createHash('sha256')
    .update(JSON.stringify([VERSION, files]))
    .digest('hex')
    .slice(0, 24);
}

async function readIndex(path: string): Promise<FolderIndex | undefined> {
  try {
    const { files, formats } = JSON.parse(await readFile(join(path, 'index.json'), 'utf8'));
    return Array.isArray(files) && Array.isArray(formats?.original?.blocks)
      ? { path, files, formats }
      : undefined;
  } catch {
    return undefined;
  }
}

/** Makes an index aside and puts it in its place at once, so that there are only whole ones. */
async function makeIndex(
  folder: string,
  files: readonly ListedFile[],
  path: string,
  onProgress: (progress: IndexProgress) => void,
): Promise<FolderIndex> {
  const aside = `${path}.${randomUUID()}.making`;
  const spools: PostSorter[] = [];
  try {
    await mkdir(aside, { mode: 0o700 });
    const spoolOf = {
      original: await PostSorter.create(join(aside, 'original.spool')),
      activity_streams: await PostSorter.create(join(aside, 'activity_streams.spool')),
    };
    spools.push(spoolOf.original, spoolOf.activity_streams);
    const indexed = await readFiles(folder, files, aside, spoolOf, onProgress);
    const formats = {
      original: await writeBlocks(spoolOf.original, aside, 'original'),
      activity_streams: await writeBlocks(spoolOf.activity_streams, aside, 'activity_streams'),
    };
    for (const spool of spools.splice(0)) await spool.close();
    for (const name of Object.keys(spoolOf)) await rm(join(aside, `${name}.spool`));
    await writeFile(join(aside, 'index.json'), JSON.stringify({ files: indexed, formats }));
    await putInPlace(aside, path);
    return { path, files: indexed, formats };
  } catch (cause) {
    if (cause instanceof MillraceError) throw cause;
    throw new StorageError(`Cannot write the index of the archive to ${aside}`, {
      path: aside,
      cause,
    });
  } finally {
    for (const spool of spools) await spool.close();
    await rm(aside, { recursive: true, force: true });
  }
}

/** Where another process was faster, its index stays: it is the same. One that cannot be read makes way. */
async function putInPlace(aside: string, path: string): Promise<void> {
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

async function readFiles(
  folder: string,
  files: readonly ListedFile[],
  aside: string,
  spoolOf: { readonly [F in Format]: PostSorter },
  onProgress: (progress: IndexProgress) => void,
): Promise<readonly IndexedFile[]> {
  const indexed: IndexedFile[] = [];
  const of = files.reduce((sum, file) => sum + file.bytes, 0);
  let bytes = 0;
  for (const [number, file] of files.entries()) {
    const path = join(folder, file.path);
    let textBytes = 0;
    for await (const lines of fileLines(path))
      for (const line of lines) {
        textBytes = line.offset + line.bytes.length;
        const post = readPost(line, path);
        if (post !== undefined) await spoolOf[post.format].add(post, number);
      }
    const form = await formOf(path, textBytes);
    if (form === 'packed') await writePackedText(fileBlocks(path), join(aside, packedName(number)));
    indexed.push({ ...file, form, textBytes });
    bytes += file.bytes;
    onProgress({ bytes, of });
  }
  return indexed;
}

async function writeBlocks(
  spool: PostSorter,
  folder: string,
  format: Format,
): Promise<FormatIndex> {
  await spool.finish();
  const blocks: IndexedBlock[] = [];
  let posts = 0;
  for (const { from, to } of blockRanges(spool.counts, BLOCK_POSTS)) {
    const written = writeBlock(await spool.read(from, to), from);
    const name = `${format}-${new Date(from).toISOString().replace(/\D/g, '').slice(0, 12)}.block`;
    await writeFile(join(folder, name), written.parts);
    blocks.push({ from, to, name, posts: written.posts });
    posts += written.posts;
  }
  return { posts, blocks };
}

async function formOf(path: string, textBytes: number): Promise<IndexedFile['form']> {
  const file = await open(path, 'r');
  try {
    const { buffer } = await file.read(Buffer.alloc(2), 0, 2, 0);
    if (!isGzip(buffer)) return 'plain';
    return textBytes > PACKED_FROM ? 'packed' : 'gzip';
  } finally {
    await file.close();
  }
}

/** Indexes of the folder as it was before, and what a process left that died long ago. */
async function removeOthers(home: string, path: string): Promise<void> {
  for (const name of await readdir(home)) {
    const other = join(home, name);
    if (other === path) continue;
    const isBeingMade = name.endsWith('.making') || name.startsWith('.probe-');
    const changed = await stat(other).catch(() => undefined);
    if (changed === undefined) continue;
    if (isBeingMade && Date.now() - changed.mtimeMs < ABANDONED_MS) continue;
    // One that cannot be removed is in nobody's way.
    await rm(other, { recursive: true, force: true }).catch(() => {});
  }
}
