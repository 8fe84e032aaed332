import type { BatchCompression } from './compress.js';
import { compressorOf } from './compress.js';
import { describe, HEADERS, type Headers, type Outgoing } from './message.js';

/** Headers of a message that do not depend on its items, and its protocol line. */
const OVERHEAD_BYTES = 1 << 10;
/** The id of a post, its length, and separators, in the headers. */
const BYTES_PER_ITEM = 32;

const LINE_FEED = Buffer.from('\n');

/** A message, as it travels. */
export interface Packed {
  readonly payload: Uint8Array;
  readonly headers: Headers;
}

/** How many items one message has. */
export interface PackOptions {
  readonly posts: number;
  readonly maxBytes: number;
  readonly waitMs: number;
  readonly compression: BatchCompression | undefined;
}

/** Makes messages of items: of one item its exact bytes, of several a batch. */
export class Packer {
  readonly #options: PackOptions;

  constructor(options: PackOptions) {
    this.#options = options;
  }

  /** How long an item waits for others, in milliseconds. */
  get waitMs(): number {
    return this.#options.waitMs;
  }

  /** What an item adds to the size of a message before it is compressed, at most. */
  sizeOf({ payload, id, tags }: Outgoing): number {
    const tagBytes = tags.length === 0 ? 0 : 2 * Buffer.byteLength(JSON.stringify(tags));
    return payload.length + id.length + BYTES_PER_ITEM + tagBytes;
  }

  /** Whether items of this size can be one message; one item may be larger than a batch. */
  fits(count: number, size: number, maxPayload: number): boolean {
    const { posts, maxBytes } = this.#options;
    if (size + OVERHEAD_BYTES > maxPayload) return false;
    return count === 1 || (count <= posts && size <= maxBytes);
  }

  /** Whether items wait for no more. */
  isFull(count: number, size: number): boolean {
    const { posts, maxBytes } = this.#options;
    return count >= posts || size >= maxBytes;
  }

  /** A promise only where it takes time: most messages are one post, as it is. */
  pack(items: readonly Outgoing[]): Packed | Promise<Packed> {
    const { compression } = this.#options;
    const [first] = items;
    const headers = describe(items);
    if (first !== undefined && items.length === 1 && compression === undefined)
      return { payload: first.payload, headers };
    const content = Buffer.concat(
      items.flatMap(({ payload }, index) => (index === 0 ? [payload] : [LINE_FEED, payload])),
    );
    const lengths: Headers = [
      ...headers,
      [HEADERS.lengths, items.map(({ payload }) => payload.length).join(',')],
    ];
    const compress = compression && compressorOf(compression);
    if (compress === undefined) return { payload: content, headers: lengths };
    return compress(content).then(payload => ({
      payload,
      headers: [...lengths, [HEADERS.encoding, compression as string]],
    }));
  }
}
