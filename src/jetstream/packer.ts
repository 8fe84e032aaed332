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

  /** The size of a message before it is compressed, at most. */
  sizeOf(items: readonly Outgoing[]): number {
    return items.reduce(
      (sum, { payload, id, tags }) =>
        sum + payload.length + id.length + BYTES_PER_ITEM + 2 * JSON.stringify(tags).length,
      OVERHEAD_BYTES,
    );
  }

  /** Whether items can be one message. */
  fits(items: readonly Outgoing[], maxPayload: number): boolean {
    const { posts, maxBytes } = this.#options;
    return items.length <= posts && this.sizeOf(items) <= Math.min(maxBytes, maxPayload);
  }

  /** Whether items wait for no more. */
  isFull(items: readonly Outgoing[]): boolean {
    const { posts, maxBytes } = this.#options;
    return items.length >= posts || (posts > 1 && this.sizeOf(items) >= maxBytes);
  }

  async pack(items: readonly Outgoing[]): Promise<Packed> {
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
    return {
      payload: await compress(content),
      headers: [...lengths, [HEADERS.encoding, compression as string]],
    };
  }
}
