import { promisify } from 'node:util';
import * as zlib from 'node:zlib';
import { DataError } from '../base/errors.js';
import { nodeZstd } from '../gzip/zstd.js';
import { bufferOf, CLOSE_OBJECT, isSpace } from '../json/byte-codes.js';
import { checkObject } from '../json/check-object.js';
import { excerpt } from '../json/excerpt.js';
import { Activity } from '../post/activity.js';

/** The headers of a message, besides its id (`Nats-Msg-Id`), which the client sets. */
export const HEADERS = {
  /** The name of the publisher. */
  publisher: 'Millrace-Publisher',
  /** Which start of this publisher sent it, see `positions.ts`. */
  epoch: 'Millrace-Epoch',
  /** How many posts the publisher had sent before: 0 for the first one. */
  position: 'Millrace-Position',
  /** The position of the message among the messages of its publisher on its subject, see `positions.ts`. */
  subjectPosition: 'Millrace-Subject-Position',
  /** The format of the posts, if all have the same. */
  format: 'Millrace-Format',
  /** The distinct tags of the matching rules, as a JSON array. */
  tags: 'Millrace-Tags',
  /** The ids of the posts, with commas between them. */
  ids: 'Millrace-Ids',
  /** The length in bytes of each post of a batch. A line feed separates the posts. */
  lengths: 'Millrace-Lengths',
  /** How the payload is compressed: `gzip` or `zstd`. */
  encoding: 'Millrace-Encoding',
} as const;

/** Headers to send, as pairs. */
export type Headers = readonly (readonly [name: string, value: string])[];

/** Headers of a message that was read. The value of an absent header is empty. */
export interface HeaderReader {
  get(name: string): string;
}

/** The position of a message among the messages of its publisher on its subject. */
export interface SubjectPosition {
  /** How many messages of this publisher and subject came before it, in all runs of the publisher. */
  readonly position: number;
  /** When the message got its position, all positions below this one were acknowledged: the stream has them before it. */
  readonly acknowledged: number;
  /** The epoch in which the publisher began to count positions; once its entry was deleted, it begins a new series. */
  readonly series: number;
}

/**
 * The epoch of a message that a publisher has sent.
 *
 * @throws DataError
 */
export function epochOf(headers: HeaderReader | undefined): number {
  const text = headers?.get(HEADERS.epoch) ?? '';
  // A number with more digits is refused: a cursor could not keep it, and the next run would stop.
  if (/^\d{1,15}$/.test(text)) return Number(text);
  throw wrongHeader('epoch', text, 'a whole number');
}

function wrongHeader(name: keyof typeof HEADERS, text: string, wanted: string): DataError {
  const got = JSON.stringify(text.slice(0, 60));
  return new DataError(`A message has the header ${HEADERS[name]} ${got}, and not ${wanted}`);
}

// Numbers with more digits could not be kept exactly by a cursor.
const POSITION = /^(\d{1,15}) (\d{1,15}) (\d{1,15})$/;

/** The value of the header with a position. */
export function shownPosition({ position, acknowledged, series }: SubjectPosition): string {
  return `${position} ${acknowledged} ${series}`;
}

/**
 * The position of a message; `undefined` for a message of another program.
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
 * The maximum size of a message after decompression. Servers accept no message above 64 MiB, and `toJetStream` fills a
 * message before it compresses it. A larger one, which any program may publish, must not take more memory.
 */
const MAX_CONTENT_BYTES = 64 * 1024 * 1024;

/** The error about a message that is intact, and can be read by a newer version of Node only. */
export class NodeLacksZstd extends DataError {
  constructor() {
    super(
      `A message is compressed with zstd, which Node reads from version 22.15 on, and this is ${process.version}`,
    );
  }
}

/**
 * The payloads of the posts of a message, each with its exact bytes; `postOf` makes a post of one. A message without
 * lengths is one post, so that other programs may publish to the stream as well. An empty message has no posts.
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

/** The payload after decompression, which must have this size. */
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

/** The same limit as records of other sources have by default. */
const MAX_DEPTH = 3_000;

/**
 * Makes a post of its payload. A payload that is not one JSON object with an id is refused here, because later stages do
 * not know which message it came from.
 *
 * @param isOurs Whether `toJetStream` has sent it. It comes from a source then, so only its id and its end are checked.
 * @throws DataError
 */
export function postOf(payload: Buffer, isOurs: boolean): Activity {
  const post = new Activity(payload);
  // Throws where the id is missing. It need not read the bytes after the id.
  void post.id;
  let start = 0;
  let end = payload.length;
  while (isSpace(payload[start] as number)) start++;
  while (isSpace(payload[end - 1] as number)) end--;
  if (!isOurs) checkObject(payload.subarray(start, end), MAX_DEPTH, 'A message');
  if (payload[end - 1] === CLOSE_OBJECT) return post;
  throw new DataError(`A post is cut: it ends with ${excerpt(payload.subarray(-40))}`);
}
