import { promisify } from 'node:util';
import * as zlib from 'node:zlib';
import { DataError } from '../base/errors.js';
import { nodeZstd } from '../gzip/zstd.js';
import { bufferOf, CLOSE_OBJECT, isSpace } from '../json/byte-codes.js';
import { checkObject } from '../json/check-object.js';
import { excerpt } from '../json/excerpt.js';
import { Activity } from '../post/activity.js';

/** The headers of a message, in addition to its id (`Nats-Msg-Id`), which the client sets. */
export const HEADERS = {
  publisher: 'Millrace-Publisher',
  /** The epoch: a number that identifies one start of the publisher. Each later start has a higher number. */
  epoch: 'Millrace-Epoch',
  /**
   * How many posts the publisher had read from the flow when it created the message, not counting the posts
   * of the message.
   */
  position: 'Millrace-Position',
  /** The `SubjectPosition` of the message: `position`, `acknowledged` and `series`, separated by spaces. */
  subjectPosition: 'Millrace-Subject-Position',
  /** The format of the posts. Absent if their formats differ. */
  format: 'Millrace-Format',
  /** The distinct tags of the matching rules, as a JSON array. */
  tags: 'Millrace-Tags',
  /** The ids of the posts, separated by commas. */
  ids: 'Millrace-Ids',
  /** The size in bytes of each post in a batch. The posts are separated by line feeds. */
  lengths: 'Millrace-Lengths',
  /** The compression of the payload: `gzip` or `zstd`. */
  encoding: 'Millrace-Encoding',
} as const;

export type Headers = readonly (readonly [name: string, value: string])[];

/** The headers of a received message. The value of an absent header is an empty string. */
export interface HeaderReader {
  get(name: string): string;
}

export interface SubjectPosition {
  /**
   * How many messages this publisher has sent on this subject before this message, in all runs of
   * the same series.
   */
  readonly position: number;
  /**
   * A position on the same subject. Before this message was sent, the server had acknowledged every
   * message with a lower position. The stream therefore stores those messages before this one.
   */
  readonly acknowledged: number;
  /**
   * The epoch in which the publisher began to count positions from 0. Each start of the publisher has its own
   * epoch. If the publisher's entry in the bucket is deleted, the publisher counts from 0 again.
   */
  readonly series: number;
}

/**
 * Reads the epoch of a message. Each start of a publisher has a larger epoch than the starts before it.
 *
 * @throws DataError
 */
export function epochOf(headers: HeaderReader | undefined): number {
  const text = headers?.get(HEADERS.epoch) ?? '';
  // Longer numbers are refused. A cursor could not store them exactly, so the next run would fail.
  if (/^\d{1,15}$/.test(text)) return Number(text);
  throw wrongHeader('epoch', text, 'a whole number');
}

function wrongHeader(name: keyof typeof HEADERS, text: string, wanted: string): DataError {
  const got = JSON.stringify(text.slice(0, 60));
  return new DataError(`A message has the header ${HEADERS[name]} ${got}, and not ${wanted}`);
}

// Matches three numbers that are small enough for a cursor to store them exactly.
const POSITION = /^(\d{1,15}) (\d{1,15}) (\d{1,15})$/;

export function shownPosition({ position, acknowledged, series }: SubjectPosition): string {
  return `${position} ${acknowledged} ${series}`;
}

/**
 * Reads the position of a message. Returns `undefined` for a message from another program.
 *
 * @throws DataError
 */
export function subjectPositionOf(headers: HeaderReader | undefined): SubjectPosition | undefined {
  const text = headers?.get(HEADERS.subjectPosition) ?? '';
  if (text === '') return undefined;
  const [, position, acknowledged, series] = POSITION.exec(text) ?? [];
  if (series === undefined) throw wrongHeader('subjectPosition', text, 'three whole numbers');
  return {
    position: Number(position),
    acknowledged: Number(acknowledged),
    series: Number(series),
  };
}

const inflateGzip = promisify<Uint8Array, { readonly maxOutputLength: number }, Buffer>(
  zlib.gunzip,
);

const INFLATE = new Map<string, typeof inflateGzip | undefined>([
  ['gzip', inflateGzip],
  ['zstd', nodeZstd && promisify(nodeZstd.zstdDecompress)],
]);

const LENGTHS = /^\d+(?:,\d+)*$/;
/**
 * The maximum size of a message after decompression, in bytes. Servers accept no message above 64 MiB, and
 * `toJetStream` limits a message before it compresses it. Another program may publish a message that expands
 * further. It must not take more memory than this.
 */
const MAX_CONTENT_BYTES = 64 * 1024 * 1024;

/** The error for an intact message that this version of Node cannot decompress. */
export class NodeLacksZstd extends DataError {
  constructor() {
    super(
      `A message is compressed with zstd, which Node reads from version 22.15 on, and this is ${process.version}`,
    );
  }
}

/**
 * Returns the exact bytes of each post in a message. `postOf` creates a post from these bytes. A message
 * without the header for lengths is one post, so that other programs can also publish to the stream. An empty
 * message has no posts.
 *
 * @throws DataError
 */
export async function postsOf(
  payload: Uint8Array,
  headers: HeaderReader | undefined,
): Promise<readonly Buffer[]> {
  if (payload.length === 0) return [];
  const lengths = headers?.get(HEADERS.lengths) ?? '';
  if (lengths === '') return [bufferOf(payload)];
  const sizes = lengths.split(',').map(Number);
  const size = sizes.reduce((sum, one) => sum + one, sizes.length - 1);
  if (!LENGTHS.test(lengths) || size > MAX_CONTENT_BYTES)
    throw new DataError(`A message has the lengths ${JSON.stringify(lengths.slice(0, 60))}`);
  const content = await inflated(payload, headers?.get(HEADERS.encoding) ?? '', size);
  let start = 0;
  return sizes.map(length => {
    const post = content.subarray(start, start + length);
    start += length + 1;
    return post;
  });
}

async function inflated(payload: Uint8Array, encoding: string, size: number): Promise<Buffer> {
  const inflate = INFLATE.get(encoding);
  if (encoding === 'zstd' && inflate === undefined) throw new NodeLacksZstd();
  if (encoding !== '' && inflate === undefined)
    throw new DataError(
      `A message is compressed with ${JSON.stringify(encoding)}, and not with gzip or zstd`,
    );
  let content: Buffer;
  try {
    content =
      inflate === undefined
        ? bufferOf(payload)
        : await inflate(payload, { maxOutputLength: Math.max(1, size) });
  } catch (cause) {
    throw new DataError(`A message is damaged: ${(cause as Error).message}`, { cause });
  }
  if (content.length === size) return content;
  throw new DataError(`A message is damaged: it has ${content.length} bytes, not ${size}`);
}

/**
 * The maximum depth of nested arrays and objects in a post. It equals the default of the option `maxDepth` of
 * other sources.
 */
const MAX_DEPTH = 3_000;

/**
 * Creates a post from its bytes. The bytes must be one JSON object with an id. This is checked
 * here, because later stages do not know which message the post came from.
 *
 * @param isOurs Whether `toJetStream` has sent the post. In that case, the publisher's source has
 *   already checked the post, so only its id and its end are checked here.
 * @throws DataError
 */
export function postOf(payload: Buffer, isOurs: boolean): Activity {
  const post = new Activity(payload);
  // Reading the id throws if the post has none.
  void post.id;
  let start = 0;
  let end = payload.length;
  while (isSpace(payload[start] as number)) start++;
  while (isSpace(payload[end - 1] as number)) end--;
  if (!isOurs) checkObject(payload.subarray(start, end), MAX_DEPTH, 'A message');
  if (payload[end - 1] === CLOSE_OBJECT) return post;
  throw new DataError(`A post is cut: it ends with ${excerpt(payload.subarray(-40))}`);
}
