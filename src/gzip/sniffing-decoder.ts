import { GzipDecoder, type GzipDecoderOptions } from './gzip-decoder.js';
import { ZstdDecoder } from './zstd-decoder.js';
import { isZstd } from './zstd-frames.js';

/** Inflates a file that is gzip or zstd, by its first bytes. */
export class SniffingDecoder {
  readonly #options: GzipDecoderOptions;
  #file: GzipDecoder | ZstdDecoder | undefined;
  /** Bytes that are too few to know the kind. */
  #start: Buffer = Buffer.alloc(0);

  constructor(options: GzipDecoderOptions) {
    this.#options = options;
  }

  async *push(input: Buffer): AsyncGenerator<readonly Buffer[], void, undefined> {
    let bytes = input;
    if (this.#file === undefined) {
      if (this.#start.length > 0) bytes = Buffer.concat([this.#start, input]);
      const zstd = isZstd(bytes);
      this.#start = zstd === undefined ? bytes : Buffer.alloc(0);
      if (zstd === undefined) return;
      this.#file = zstd ? new ZstdDecoder(this.#options) : new GzipDecoder(this.#options);
    }
    if (this.#file instanceof GzipDecoder) yield* this.#file.push(bytes);
    else for await (const block of this.#file.push(bytes)) yield [block];
  }

  /** Throws unless the file is complete. What it holds is too short for either kind. */
  *end(): Generator<readonly Buffer[], void, undefined> {
    if (this.#file === undefined) {
      this.#file = new GzipDecoder(this.#options);
      yield* this.#file.push(this.#start);
    }
    this.#file.end();
  }

  close(): void {
    this.#file?.close();
  }
}
