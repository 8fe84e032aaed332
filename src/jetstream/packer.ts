import { createHash } from 'node:crypto';
import {
  checkOptions,
  milliseconds,
  type OptionTable,
  oneOf,
  optionError,
  whole,
} from '../base/check.js';
import { DataError } from '../base/errors.js';
import { lineOf } from '../flow/line.js';
import { kindOf, wrongItem } from '../flow/wrong-item.js';
import { type Compression, compressBlock } from '../gzip/compression.js';
import { nodeZstd } from '../gzip/zstd.js';
import { Activity } from '../post/activity.js';
import { HEADERS, type Headers } from './message.js';

/** How the messages of a batch are compressed. */
export type BatchCompression = 'gzip' | 'zstd';

/** The option `batch` of `toJetStream`: how several posts are sent in one message. */
export interface JetStreamBatchOptions {
  /** The maximum number of posts in a message. @default 100 */
  readonly posts?: number | undefined;
  /**
   * The maximum total size of the posts in a message, before compression, in bytes. @default 262144 (256 KiB)
   */
  readonly maxBytes?: number | undefined;
  /**
   * How long a post waits for other posts that can be sent in the same message, in milliseconds. @default 100
   */
  readonly waitMs?: number | undefined;
  /**
   * How each message is compressed. Readers detect the compression. `zstd` needs Node 22.15 or later.
   * @default none
   */
  readonly compression?: BatchCompression | undefined;
}

const BATCH_OPTIONS = {
  posts: whole('posts in a message', { min: 1, max: 10_000, default: 100 }),
  maxBytes: whole('bytes in a message', { min: 1, default: 256 << 10 }),
  waitMs: milliseconds('how long a post waits for others', { min: 0, default: 100 }),
  compression: oneOf('how messages are compressed', ['gzip', 'zstd']),
} satisfies OptionTable<JetStreamBatchOptions>;

/** The settings of each compression. Gzip uses the default level of zlib. */
const COMPRESSIONS: Readonly<Record<BatchCompression, Compression>> = {
  gzip: { kind: 'gzip', level: 6 },
  zstd: { kind: 'zstd' },
};

/** The maximum size, in bytes, of the protocol line and of the headers that do not depend on the items. */
const OVERHEAD_BYTES = 1 << 10;
/** The maximum number of bytes that each item adds to the headers for its length and for separators. */
const BYTES_PER_ITEM = 32;

const LINE_FEED = Buffer.from('\n');

export interface Packed {
  readonly payload: Uint8Array;
  readonly headers: Headers;
}

export interface BatchSettings {
  readonly posts: number;
  readonly maxBytes: number;
  readonly waitMs: number;
  readonly compression: BatchCompression | undefined;
}

/**
 * Checks the option `batch` and adds its defaults. If the option is absent, each message has one item.
 *
 * @throws OptionError
 */
export function checkBatch(call: string, batch: JetStreamBatchOptions | undefined): BatchSettings {
  if (batch === undefined)
    return { posts: 1, maxBytes: Number.POSITIVE_INFINITY, waitMs: 0, compression: undefined };
  const pack = checkOptions(call, BATCH_OPTIONS, batch, 'batch');
  if (pack.compression === 'zstd' && nodeZstd === undefined)
    throw optionError(
      call,
      'batch.compression',
      `cannot be 'zstd': Node has it from version 22.15 on, and this is ${process.version}. Use a newer Node, or 'gzip'`,
    );
  return pack;
}

/** Returns the maximum number of bytes that an item adds to a message, before compression. */
export function addedBytes({ payload, id, tags }: Outgoing): number {
  const tagBytes = tags.length === 0 ? 0 : 2 * Buffer.byteLength(JSON.stringify(tags));
  return payload.length + id.length + BYTES_PER_ITEM + tagBytes;
}

/**
 * Whether items fit in one message. A single item may exceed the `maxBytes` of the option `batch`.
 *
 * @param count The number of items.
 * @param size The sum of the items' `addedBytes`.
 * @param maxPayload The size of the largest message that the servers accept, in bytes.
 */
export function fits(
  { posts, maxBytes }: BatchSettings,
  count: number,
  size: number,
  maxPayload: number,
): boolean {
  if (size + OVERHEAD_BYTES > maxPayload) return false;
  return count === 1 || (count <= posts && size <= maxBytes);
}

/**
 * Packs items into a message. The payload is the exact bytes of one item, or a batch of several
 * items. Returns a promise only if it compresses. Most messages are one uncompressed post, which
 * needs no wait.
 */
export function pack(
  items: readonly Outgoing[],
  compression: BatchCompression | undefined,
): Packed | Promise<Packed> {
  const [first] = items;
  const headers = headersOf(items);
  if (first !== undefined && items.length === 1 && compression === undefined)
    return { payload: first.payload, headers };
  const content = Buffer.concat(
    items.flatMap(({ payload }, index) => (index === 0 ? [payload] : [LINE_FEED, payload])),
  );
  const lengths: Headers = [
    ...headers,
    [HEADERS.lengths, items.map(({ payload }) => payload.length).join(',')],
  ];
  if (compression === undefined) return { payload: content, headers: lengths };
  return compressBlock(content, COMPRESSIONS[compression]).then(payload => ({
    payload,
    headers: [...lengths, [HEADERS.encoding, compression]],
  }));
}

function headersOf(items: readonly Outgoing[]): Headers {
  const format = items[0]?.format;
  const tags = items.flatMap(item => item.tags);
  const headers: [string, string][] = [[HEADERS.ids, items.map(({ id }) => id).join(',')]];
  if (format !== undefined && items.every(item => item.format === format))
    headers.push([HEADERS.format, format]);
  if (tags.length > 0) headers.push([HEADERS.tags, JSON.stringify([...new Set(tags)])]);
  return headers;
}

interface SubjectBatch {
  readonly items: Outgoing[];
  size: number;
}

/**
 * Collects items for each subject. Calls `send` when the items of a subject fill a message, or have waited
 * long enough.
 */
export class SubjectBatches {
  readonly #batches = new Map<number, SubjectBatch>();
  readonly #options: BatchSettings;
  readonly #maxBytes: () => number;
  readonly #send: (subject: number, items: readonly Outgoing[]) => void;
  #timer: NodeJS.Timeout | undefined;

  /**
   * @param maxBytes Returns the size of the largest message that the servers currently accept.
   * @param send Called with the items of one message.
   */
  constructor(
    options: BatchSettings,
    maxBytes: () => number,
    send: (subject: number, items: readonly Outgoing[]) => void,
  ) {
    this.#options = options;
    this.#maxBytes = maxBytes;
    this.#send = send;
  }

  /** @throws DamagedItem if the item does not fit in a message. */
  mustFit(item: Outgoing): void {
    const maxBytes = this.#maxBytes();
    if (fits(this.#options, 1, addedBytes(item), maxBytes)) return;
    const { id, payload } = item;
    throw new DamagedItem(
      `The item ${id} has ${payload.length} bytes, and the servers accept ${maxBytes} with its headers (max_payload)`,
      payload,
      { advice: 'Raise `max_payload` of the servers, or pass `onDamaged` to leave it out' },
    );
  }

  /** Adds an item. `mustFit` must have accepted it before. */
  add(subject: number, item: Outgoing): void {
    const options = this.#options;
    const size = addedBytes(item);
    let batch = this.#batches.get(subject) ?? { items: [], size: 0 };
    if (!fits(options, batch.items.length + 1, batch.size + size, this.#maxBytes())) {
      this.#sendBatch(subject);
      batch = { items: [], size: 0 };
    }
    this.#batches.set(subject, batch);
    batch.items.push(item);
    batch.size += size;
    const isFull = batch.items.length >= options.posts || batch.size >= options.maxBytes;
    if (isFull) this.#sendBatch(subject);
    else this.#timer ??= setTimeout(() => this.sendAll(), options.waitMs);
  }

  sendAll(): void {
    this.close();
    for (const subject of [...this.#batches.keys()]) this.#sendBatch(subject);
  }

  /**
   * Stops the timer. After this call, waiting items are sent only when `sendAll` is called or when an added
   * item fills a message.
   */
  close(): void {
    clearTimeout(this.#timer);
    this.#timer = undefined;
  }

  #sendBatch(subject: number): void {
    const items = this.#batches.get(subject)?.items;
    this.#batches.delete(subject);
    if (items !== undefined) this.#send(subject, items);
  }
}

export interface Outgoing {
  readonly id: string;
  /** The index of the item's topic in the option `topics` of `toJetStream`, after sorting. */
  readonly topic?: number;
  readonly payload: Uint8Array;
  readonly format: string | undefined;
  readonly tags: readonly string[];
}

/**
 * The error for an item that cannot be published, because it has no id or is too large. The caller's
 * `onDamaged` can skip the item.
 */
export class DamagedItem extends DataError {
  readonly raw: Uint8Array;

  constructor(
    message: string,
    raw: Uint8Array,
    options: ConstructorParameters<typeof DataError>[1],
  ) {
    super(message, options);
    this.raw = raw;
  }
}

/**
 * Returns an id as it is written in a header. If the id is too long or has unusual characters, its hash
 * replaces it.
 */
function headerId(id: string): string {
  return /^[\w.:@/-]{1,128}$/.test(id) ? id : `sha256:${digest(id)}`;
}

export function digest(text: string): string {
  return createHash('sha256').update(text).digest('base64url').slice(0, 22);
}

/**
 * Returns what is published for an activity: its id, its exact bytes, its format and its tags.
 *
 * @throws DamagedItem if the activity has no id.
 */
function outgoingPost(post: Activity): Outgoing {
  const { raw } = post;
  try {
    const { id, format, tags } = post;
    return { id: headerId(id), payload: raw, format, tags };
  } catch (error) {
    if (!(error instanceof DataError)) throw error;
    throw new DamagedItem(error.message, raw, { cause: error });
  }
}

/**
 * Returns the id and the payload to send for an item. The payload is the exact bytes of an activity, or the
 * JSON of any other value. The options `id` and `payload` may replace either.
 *
 * @param origin The URL or file from which the item came, for errors.
 * @throws DataError if the item has no id, or if one of the options returns a value of the wrong type.
 */
export function outgoingOf<T>(
  item: T,
  origin: string | undefined,
  id: ((item: T) => string) | undefined,
  payload: ((item: T) => string | Uint8Array) | undefined,
): Outgoing {
  if (item instanceof Activity) {
    const post = outgoingPost(item);
    if (id === undefined && payload === undefined) return post;
    return {
      ...post,
      id: id === undefined ? post.id : idOf(id(item)),
      payload: payload === undefined ? post.payload : bytesOf(payload(item)),
    };
  }
  if (id === undefined)
    throw wrongItem(item, {
      need: 'toJetStream() reads activities',
      reads: 'activities',
      or: 'pass `id` for the ids of items',
      origin,
    });
  return {
    id: idOf(id(item)),
    payload: payload === undefined ? lineOf(item, undefined) : bytesOf(payload(item)),
    format: undefined,
    tags: [],
  };
}

function idOf(id: unknown): string {
  if (typeof id === 'string' && id !== '') return headerId(id);
  const got = id === '' ? 'an empty one' : kindOf(id);
  throw new DataError(
    `The option \`id\` of toJetStream() must return text that is not empty, but returned ${got}`,
  );
}

function bytesOf(payload: unknown): Uint8Array {
  const bytes = typeof payload === 'string' ? Buffer.from(payload) : payload;
  if (bytes instanceof Uint8Array && bytes.length > 0) return bytes;
  const got = bytes instanceof Uint8Array ? 'none' : kindOf(payload);
  throw new DataError(
    `The option \`payload\` of toJetStream() must return text or bytes, but returned ${got}`,
  );
}
