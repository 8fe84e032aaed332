import { type FileHandle, stat } from 'node:fs/promises';
import path from 'node:path';
import { PassThrough, Readable, type Transform } from 'node:stream';
// A default import, because a named import would make the bundler rename Millrace's own `pipeline`.
import streams from 'node:stream/promises';
import { createGzip } from 'node:zlib';
import { DataError, MillraceError, StorageError } from '../base/errors.js';
import { type Batches, batchesOf, type Cursor, type Flow, OwnFlow } from '../flow/flow.js';
import { compressionOf, WITH_CHECKSUM } from '../gzip/compression.js';
import { MAGIC_BYTES, nodeZstd } from '../gzip/zstd.js';
import { countBytes, LF } from '../json/byte-codes.js';
import { LazyObject } from '../json/lazy-object.js';
import { gunzip } from '../operators/gunzip.js';
import { jsonLines } from '../operators/json-lines.js';
import { Activity } from '../post/activity.js';
import { ShownIds } from '../post/bytes/shown-ids.js';
import { parseInStreamMessage } from '../post/in-stream-message.js';
import {
  firstBytes,
  nodeFileSystem,
  openToRead,
  statusOf,
  unlinkIfThere,
} from '../storage/file-system.js';
import { type Lock, takeLock } from '../storage/lock.js';
import { replaceFile } from '../storage/replace-file.js';
import {
  type HiddenReason,
  type HidingOptions,
  hideDeleted,
  hidingCountries,
  isSuspect,
} from './hidden-posts.js';
import type { Tombstones } from './tombstones.js';

export interface RewriteOutcome {
  readonly posts: number;
  readonly changed: number;
  readonly removed: ReadonlyMap<HiddenReason, number>;
}

const LINE_FEED = Buffer.from('\n');
const READ = 256 * 1024;
/** Files up to this size are read in one piece, so that the thread pool can inflate them. */
const MAX_WHOLE_BYTES = 8 * 1024 * 1024;
/**
 * The cursor of a batch that contains a whole file. `gunzip` inflates such a batch in the thread pool only if
 * it has a cursor. Nothing resumes from this cursor.
 */
const WHOLE: Cursor = { source: 'file' };

/**
 * Holds the ids of one post at a time. All files can share it, because the ids of a post are not used after
 * the next post is read.
 */
const ids = new ShownIds();

/**
 * Removes from a file the posts, and the parts of posts, that tombstones hide. The file stays unchanged if
 * nothing is hidden, or in a dry run.
 */
export async function rewriteFile(
  file: string,
  tombstones: Tombstones,
  { dryRun, ...options }: HidingOptions & { readonly dryRun: boolean },
  signal: AbortSignal | undefined,
): Promise<RewriteOutcome> {
  try {
    const review = new Review(tombstones, options);
    for await (const { items } of linesOf(file, signal)) review.lines(items);
    if (dryRun) return review;
    if (review.untouched) {
      await removeLeft(file);
      return review;
    }
    // Reviews the records a second time. Tombstones may have been added since the first review, and the
    // result must describe what was written.
    const rewrite = new Review(tombstones, options);
    await write(file, rewrite, signal);
    return rewrite;
  } catch (cause) {
    if (cause instanceof BadRecord) throw await errorWithLine(file, cause, signal);
    if (cause instanceof MillraceError || signal?.aborted) throw cause;
    const reason = cause instanceof Error ? cause.message : String(cause);
    throw new StorageError(`Could not rewrite ${file}: ${reason}. It is unchanged`, {
      path: file,
      cause,
    });
  }
}

/** Thrown for a record that is not a post. Tombstones cannot tell whether to hide such a record. */
class BadRecord extends Error {
  readonly record: Buffer;
  override readonly cause: DataError;

  constructor(record: Buffer, cause: DataError) {
    super(cause.message);
    this.record = record;
    this.cause = cause;
  }
}

/**
 * Adds a line number to the error about a record. Finds the line by searching the file for the bytes of the
 * record.
 */
async function errorWithLine(
  file: string,
  { record, cause }: BadRecord,
  signal: AbortSignal | undefined,
): Promise<DataError> {
  const at = (line?: number) =>
    new DataError(cause.message, { cause, position: { origin: file, line } });
  let line = 1;
  let rest = Buffer.alloc(0);
  for await (const { items } of bytesOf(file, signal))
    for (const block of items) {
      const text = Buffer.concat([rest, block]);
      const found = text.indexOf(record);
      const end = found === -1 ? Math.max(0, text.length - record.length) : found;
      line += countBytes(LF, text, 0, end);
      if (found !== -1) return at(line);
      rest = text.subarray(end);
    }
  return at();
}

class Review implements RewriteOutcome {
  posts = 0;
  changed = 0;
  readonly removed = new Map<HiddenReason, number>();
  readonly #tombstones: Tombstones;
  readonly #options: HidingOptions;
  readonly #countries: ReadonlySet<number>;
  #gone = 0;

  constructor(tombstones: Tombstones, options: HidingOptions) {
    this.#tombstones = tombstones;
    this.#options = options;
    this.#countries = hidingCountries(options);
  }

  get untouched(): boolean {
    return this.changed === 0 && this.removed.size === 0;
  }

  /** @throws BadRecord if a record is not a post */
  lines(records: readonly Buffer[]): Buffer[] {
    return records.flatMap(record => {
      try {
        return this.#line(record) ?? [];
      } catch (cause) {
        throw cause instanceof DataError ? new BadRecord(record, cause) : cause;
      }
    });
  }

  #line(record: Buffer): Buffer | undefined {
    const message = parseInStreamMessage(record);
    if (message !== undefined)
      return message.kind === 'info' ? withCount(record, this.#gone) : record;
    this.posts++;
    if (!this.#isSuspect(record)) return record;
    const post = new Activity(record);
    const { activity, hidden, changed } = hideDeleted(this.#tombstones, post, this.#options);
    if (activity === undefined) this.#gone++;
    if (changed && hidden !== undefined)
      this.removed.set(hidden, (this.removed.get(hidden) ?? 0) + 1);
    else if (changed) this.changed++;
    return activity?.raw;
  }

  #isSuspect(record: Buffer): boolean {
    try {
      ids.read(record, 0, record.length);
    } catch {
      // An id of the post cannot be read. Returns true, so that `hideDeleted` reads the post.
      // `hideDeleted` throws an error about the id, unless it hides the post for another reason.
      return true;
    }
    return isSuspect(this.#tombstones, ids, this.#countries);
  }
}

function withCount(info: Buffer, fewer: number): Buffer {
  if (fewer === 0) return info;
  const outer = LazyObject.of(info)?.object('info');
  const span = outer?.span('activity_count');
  const count = Number(outer?.integer('activity_count'));
  if (span === undefined || !Number.isSafeInteger(count)) return info;
  return Buffer.concat([
    info.subarray(0, span[0]),
    Buffer.from(String(Math.max(0, count - fewer))),
    info.subarray(span[1]),
  ]);
}

function linesOf(file: string, signal: AbortSignal | undefined): Batches<Buffer> {
  return batchesOf(jsonLines()(inflated(file)), { signal });
}

function bytesOf(file: string, signal: AbortSignal | undefined): Batches<Uint8Array> {
  return batchesOf(inflated(file), { signal });
}

function inflated(file: string): Flow<Uint8Array> {
  const bytes = new OwnFlow<Uint8Array>(async function* () {
    const stored = await openToRead(file);
    try {
      if ((await stored.stat()).size <= MAX_WHOLE_BYTES)
        yield { items: [await stored.readFile()], cursor: WHOLE, origin: file };
      else
        for await (const block of stored.createReadStream({ highWaterMark: READ }))
          yield { items: [block], origin: file };
    } finally {
      await stored.close();
    }
  });
  return gunzip({ plain: 'pass' })(bytes);
}

/**
 * Returns the paths of the lock and the temporary file. They are fixed, so that the next run finds and
 * removes the files of a killed run. A temporary file that is left behind may contain hidden posts.
 */
function namesFor(file: string): { readonly lock: string; readonly aside: string } {
  const hidden = path.join(path.dirname(file), `.${path.basename(file)}`);
  return { lock: `${hidden}.lock`, aside: `${hidden}.tmp` };
}

/**
 * Removes the lock and the temporary file that a killed run has left. Called for a file that needs no
 * rewriting.
 */
async function removeLeft(file: string): Promise<void> {
  const names = namesFor(file);
  if ((await statusOf(nodeFileSystem, names.lock)) === undefined) return;
  let lock: Lock;
  try {
    lock = await takeLock(names.lock);
  } catch (error) {
    // Another run is rewriting the file now, and will remove its lock and its temporary file.
    if (error instanceof StorageError && error.retryable) return;
    throw error;
  }
  try {
    await unlinkIfThere(nodeFileSystem, names.aside);
  } finally {
    await lock.release();
  }
}

async function write(file: string, review: Review, signal: AbortSignal | undefined): Promise<void> {
  const { aside, lock: lockPath } = namesFor(file);
  const lock = await takeLock(lockPath, { refusal: `Another run is rewriting ${file}` });
  try {
    const { mode } = await stat(file);
    const compressor = await compressorOf(file);
    const rewrite = async (aside: FileHandle) => {
      const lines = Readable.from(kept(file, review, signal));
      const target = async (blocks: AsyncIterable<Buffer>) => {
        for await (const block of blocks) await aside.writeFile(block);
      };
      await streams.pipeline(lines, compressor(), target);
    };
    await replaceFile(file, rewrite, { mode: mode & 0o7777, aside });
  } finally {
    await lock.release();
  }
}

async function* kept(
  file: string,
  review: Review,
  signal: AbortSignal | undefined,
): AsyncGenerator<Buffer> {
  for await (const { items } of linesOf(file, signal)) {
    const lines = review.lines(items);
    if (lines.length > 0) yield Buffer.concat(lines.flatMap(line => [line, LINE_FEED]));
  }
}

/**
 * Returns a function that creates a compressor. The format is detected from the first bytes of the
 * file, not from its name. For a plain file, the compressor changes nothing.
 */
async function compressorOf(file: string): Promise<() => Transform> {
  const compression = compressionOf(await firstBytes(file, MAGIC_BYTES));
  if (compression === 'gzip') return createGzip;
  return () => {
    if (compression === 'plain') return new PassThrough();
    if (nodeZstd === undefined) throw new Error('This version of Node has no zstd');
    return nodeZstd.createZstdCompress({ ...WITH_CHECKSUM });
  };
}
