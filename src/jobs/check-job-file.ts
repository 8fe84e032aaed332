import { DataError } from '../base/errors.js';
import { DAY, formatTimestamp, MINUTE } from '../base/time.js';
import type { DecodedFile } from '../files/decoded-file.js';
import { GZIP_MAGIC } from '../gzip/compression.js';
import { inflateDownload } from '../gzip/inflate-download.js';
import { inflateGzip } from '../gzip/inflate-whole.js';
import { excerpt } from '../json/excerpt.js';
import { LineFramer } from '../json/line-framer.js';
import { type InfoMessage, parseInStreamMessage } from '../post/in-stream-message.js';

/** The contents of a complete and undamaged job file. */
export interface CheckedFile {
  /** Compressed size. */
  readonly bytes: number;
  readonly posts: number;
  /** Minutes that the `info` line of the file reports as possibly incomplete, `YYYYMMDDHHMM`. */
  readonly suspectMinutes: readonly string[];
}

/**
 * Checks a file in memory, in one call to the thread pool if it inflates to at most `maxInflated` bytes.
 *
 * @throws DataError that is retryable: cut short, corrupt, or not the number of posts that it states.
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

/** Checks a file as its bytes arrive, in bounded memory and off the main thread. */
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
  const counts = await countPosts(inflateDownload(counted(), origin), origin);
  return result(bytes, counts);
}

/**
 * The same for a file that is decoded. Returns `undefined` where the file has to be checked by
 * `checkJobFile`, which throws the error.
 */
export function checkDecodedFile(file: Buffer, decoded: DecodedFile): CheckedFile | undefined {
  // Plain text is decoded too, but a job has none.
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

/** What is wrong with the `info` line of a file. */
function problemOf(info: InfoMessage | undefined, posts: number): string | undefined {
  const stated = info?.activityCount ?? posts;
  if (stated !== posts) return `The file has ${posts} posts, and says that it has ${stated}`;
  const { from, to } = info?.unprocessedRange ?? { from: 0, to: 0 };
  // Its minutes are listed.
  return to - from > DAY ? 'A range of more than a day is unprocessed' : undefined;
}

interface PostCount {
  readonly posts: number;
  /** The `info` line, if there was one. */
  readonly info: InfoMessage | undefined;
}

function result(bytes: number, { posts, info }: PostCount): CheckedFile {
  const minutes = [...(info?.minutesFailed ?? [])];
  if (info?.unprocessedRange !== undefined)
    for (let at = info.unprocessedRange.from; at < info.unprocessedRange.to; at += MINUTE)
      minutes.push(at);
  return { bytes, posts, suspectMinutes: minutes.map(formatTimestamp) };
}

/** A file without line ends must not fill the memory. */
const LIMITS = { maxBytes: 64 * 1024 * 1024, maxDepth: Number.POSITIVE_INFINITY };

/**
 * Counts the posts of a job file from its inflated bytes, cut anywhere, and finds its `info` line.
 *
 * @throws DataError that is retryable, as the damage may have happened in transit: also where the line does not fit.
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
