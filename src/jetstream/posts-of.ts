import { promisify } from 'node:util';
import * as zlib from 'node:zlib';
import { DataError } from '../errors.js';
import { bufferOf } from '../json/buffer-of.js';
import { HEADERS, type HeaderReader } from './message.js';

type Inflate = (
  bytes: Uint8Array,
  options: { readonly maxOutputLength: number },
) => Promise<Buffer>;

const inflateGzip: Inflate = promisify<Uint8Array, { readonly maxOutputLength: number }, Buffer>(
  zlib.gunzip,
);
/** Node has zstd from 22.15; the types of Node 20 lack it. */
const { zstdDecompress } = zlib as unknown as { readonly zstdDecompress?: typeof zlib.gunzip };
const inflateZstd: Inflate | undefined = zstdDecompress && promisify(zstdDecompress);

const INFLATE = new Map([
  ['gzip', inflateGzip],
  ['zstd', inflateZstd],
]);

const LENGTHS = /^\d+(?:,\d+)*$/;
/**
 * Servers accept no message above 64 MiB, and a publisher fills it before it compresses it. So a message that
 * any program may publish cannot take more memory than that.
 */
const MAX_CONTENT_BYTES = 64 * 1024 * 1024;

/** A message that is intact, and needs a newer Node. */
export class NodeLacksZstd extends DataError {
  constructor() {
    super(
      `A message is compressed with zstd, which Node reads from version 22.15 on, and this is ${process.version}`,
    );
  }
}

/**
 * The posts of a message, each with its exact bytes; `postOf` reads one. A message without ids has one post, so that other
 * programs may publish to the stream as well; the first message of an epoch has none.
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
