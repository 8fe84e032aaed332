// A default import. For a named import, the bundler would rename Millrace's own `pipeline`.
import streams from 'node:stream/promises';
import { createGunzip } from 'node:zlib';
import { DataError } from '../base/errors.js';
import { DAY, formatTimestamp, MINUTE } from '../base/time.js';
import type { DecodedFile } from '../files/decoded-file.js';
import { GZIP_MAGIC } from '../gzip/compression.js';
import { inflateGzip } from '../gzip/inflate-whole.js';
import { excerpt } from '../json/excerpt.js';
import { LineFramer } from '../json/line-framer.js';
import { type InfoMessage, parseInStreamMessage } from '../post/in-stream-message.js';

/** The result of checking a job file that is complete and undamaged. */
export interface CheckedFile {
  /** The compressed size in bytes. */
  readonly bytes: number;
  readonly posts: number;
  /** The minutes that the `info` line of the file reports as possibly incomplete, as `YYYYMMDDHHMM`. */
  readonly suspectMinutes: readonly string[];
}

/**
 * Checks a job file in memory. A file that inflates to more than `maxInflated` bytes is inflated as a stream
 * instead.
 *
 * @throws DataError, which is retryable, if the file is truncated or corrupt, or does not have the number of
 *   posts that it states.
 */
export async function checkJobFile(
  file: Buffer,
  origin: string,
  maxInflated: number,
): Promise<CheckedFile> {
  const content = await inflateGzip(file, maxInflated);
  if (content === undefined) return checkJobFileStream([file], origin);
  return result(file.length, await countPosts([content], origin));
}

/** Checks a job file as its bytes arrive, in bounded memory. Inflates in the thread pool. */
export async function checkJobFileStream(
  file: Iterable<Buffer> | AsyncIterable<Buffer>,
  origin: string,
): Promise<CheckedFile> {
  let bytes = 0;
  const counted = async function* () {
    for await (const chunk of file) {
      bytes += chunk.length;
      yield chunk;
    }
  };
  const counts = await countPosts(inflateJobFile(counted(), origin), origin);
  return result(bytes, counts);
}

/**
 * Checks a job file that was already decoded. Returns `undefined` if the file seems invalid. The caller then
 * passes the file to `checkJobFile`, which throws an exact error.
 */
export function checkDecodedFile(file: Buffer, decoded: DecodedFile): CheckedFile | undefined {
  // The decoder also accepts plain text, but the files of a job must be gzip.
  if (file[0] !== GZIP_MAGIC) return undefined;
  let info: InfoMessage | undefined;
  try {
    for (const line of decoded.messages) {
      const message = parseInStreamMessage(line);
      if (message?.kind === 'info') info = message;
    }
  } catch {
    return undefined;
  }
  const posts = decoded.rows.count;
  return problemOf(info, posts) === undefined ? result(file.length, { posts, info }) : undefined;
}

const INFLATED_BYTES = 256 * 1024;

/**
 * Inflates a file of one or more gzip members in the thread pool, as its bytes arrive. Used for files that
 * are damaged or too large for `inflateGzip`. Unlike the operator `gunzip`, rejects padding with zeros after
 * the last member, because a downloaded file has no padding. If reading `file` fails, throws the same error.
 *
 * @throws DataError, which is retryable, if the file is truncated, corrupt or empty, or has bytes after its
 *   end.
 */
export async function* inflateJobFile(
  file: Iterable<Buffer> | AsyncIterable<Buffer>,
  origin: string,
): AsyncGenerator<Buffer, void, undefined> {
  const gunzip = createGunzip({ chunkSize: INFLATED_BYTES });
  let bytes = 0;
  let failure: { readonly error: unknown } | undefined;
  const counted = async function* () {
    try {
      for await (const chunk of file) {
        bytes += chunk.length;
        yield chunk;
      }
    } catch (error) {
      failure = { error };
      throw error;
    }
  };
  // The loop below already receives errors of `file` through `gunzip`. Without this `catch`, they would also
  // be reported as an unhandled rejection.
  const fed = streams.pipeline(counted(), gunzip).catch(() => {});
  try {
    for await (const block of gunzip) yield block as Buffer;
    // The decoder reports no error for an empty file, or for bytes after the last member. Both are checked
    // here.
    if (bytes === 0 || gunzip.bytesWritten !== bytes) throw notWhole(origin, gunzip.bytesWritten);
  } catch (error) {
    if (failure !== undefined) throw failure.error;
    throw error instanceof DataError ? error : notWhole(origin, gunzip.bytesWritten, error);
  } finally {
    gunzip.destroy();
    await fed;
  }
}

function notWhole(origin: string, byteOffset: number, cause?: unknown): DataError {
  return new DataError('The file is not a complete gzip file: it is cut short or damaged', {
    cause,
    position: { origin, byteOffset },
    retryable: true,
  });
}

function problemOf(info: InfoMessage | undefined, posts: number): string | undefined {
  const stated = info?.activityCount ?? posts;
  if (stated !== posts) return `The file has ${posts} posts, but its \`info\` line says ${stated}`;
  const { from, to } = info?.unprocessedRange ?? { from: 0, to: 0 };
  // A shorter unprocessed range is not an error. `suspectMinutes` contains its minutes.
  return to - from > DAY ? 'A range of more than a day is unprocessed' : undefined;
}

interface PostCount {
  readonly posts: number;
  readonly info: InfoMessage | undefined;
}

function result(bytes: number, { posts, info }: PostCount): CheckedFile {
  const minutes = [...(info?.minutesFailed ?? [])];
  if (info?.unprocessedRange !== undefined)
    for (let at = info.unprocessedRange.from; at < info.unprocessedRange.to; at += MINUTE)
      minutes.push(at);
  return { bytes, posts, suspectMinutes: minutes.map(formatTimestamp) };
}

/** The limit on bytes prevents a file without line ends from filling the memory. */
const LIMITS = { maxBytes: 64 * 1024 * 1024, maxDepth: Number.POSITIVE_INFINITY };

/**
 * Counts the posts in a job file, and finds its `info` line. The inflated bytes arrive in blocks that may
 * begin and end at any byte.
 *
 * @throws DataError, which is retryable because the damage may have happened in transit. Also thrown if the
 *   `info` line does not agree with the posts.
 */
async function countPosts(
  blocks: Iterable<Buffer> | AsyncIterable<Buffer>,
  origin: string,
): Promise<PostCount> {
  const options = { limitsAreOptions: false, isRetryable: true };
  const framer = new LineFramer('\n', LIMITS, origin, options);
  const damaged = (message: string, cause?: unknown) =>
    new DataError(message, { cause, position: { origin }, retryable: true });
  let posts = 0;
  let info: InfoMessage | undefined;
  const count = async (frame: (lines: Buffer[]) => Promise<void> | undefined) => {
    const lines: Buffer[] = [];
    await frame(lines);
    for (const line of lines)
      try {
        const message = parseInStreamMessage(line);
        if (message === undefined) posts++;
        else if (message.kind === 'info') info = message;
      } catch (cause) {
        throw damaged(`A line is not JSON: ${excerpt(line)}`, cause);
      }
  };
  for await (const block of blocks) await count(lines => framer.push(block, lines));
  await count(lines => framer.end(lines));
  const problem = problemOf(info, posts);
  if (problem !== undefined) throw damaged(problem);
  return { posts, info };
}
