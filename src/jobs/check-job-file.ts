import { inflateStream } from '../gzip/inflate-stream.js';
import { inflateWhole } from '../gzip/inflate-whole.js';
import { formatTimestamp, MINUTE } from '../time.js';
import { PostCount } from './post-count.js';

/** What a whole and undamaged job file holds. */
export interface CheckedFile {
  /** Compressed. */
  readonly bytes: number;
  readonly posts: number;
  /** Minutes that its own `info` line says may be incomplete, `YYYYMMDDHHMM`. */
  readonly suspectMinutes: readonly string[];
}

/** What `inflateWhole` makes of it is returned too, for whom it saves inflating the file again. */
export interface CheckedContent extends CheckedFile {
  readonly content: Buffer | undefined;
}

/**
 * Checks a file in memory, in one call to the thread pool where it inflates to no more than `most`.
 *
 * @throws DataError that is worth another try: cut short, corrupt, or not as many posts as it says.
 */
export async function checkJobFile(
  file: Buffer,
  origin: string,
  most: number,
): Promise<CheckedContent> {
  const content = await inflateWhole(file, most);
  if (content === undefined) return { ...(await checkJobFileStream([file], origin)), content };
  const count = new PostCount(origin);
  count.push(content);
  count.end();
  return { ...checked(file.length, count), content };
}

/** Checks a file as its bytes come, in bounded memory, beside the main thread. */
export async function checkJobFileStream(
  file: Iterable<Buffer> | AsyncIterable<Buffer>,
  origin: string,
): Promise<CheckedFile> {
  const count = new PostCount(origin);
  let bytes = 0;
  const counted = async function* () {
    for await (const chunk of file) {
      bytes += chunk.length;
      yield chunk;
    }
  };
  for await (const block of inflateStream(counted(), origin)) count.push(block);
  count.end();
  return checked(bytes, count);
}

function checked(bytes: number, { posts, info }: PostCount): CheckedFile {
  const minutes = [...(info?.minutesFailed ?? [])];
  if (info?.unprocessedRange !== undefined)
    for (let at = info.unprocessedRange.from; at < info.unprocessedRange.to; at += MINUTE)
      minutes.push(at);
  return { bytes, posts, suspectMinutes: minutes.map(formatTimestamp) };
}
