import { constants } from 'node:zlib';
import { Gunzip } from 'minizlib';
import { DataError } from '../base/errors.js';
import { GZIP_MAGIC, type InflateLimits } from './compression.js';
import { isZstd, ZstdDecoder } from './zstd.js';

/**
 * The number of compressed bytes for one call of the decoder. Gzip data expands up to 1,032 times, so one
 * call returns up to 16 MiB.
 */
const DECODER_CALL_BYTES = 16 * 1024;
/**
 * `chunkSize` is the size of the output buffer, an option that Node's types lack. Four times the default size
 * is 20 % faster.
 */
const DECODER = { flush: constants.Z_NO_FLUSH, chunkSize: 64 * 1024 };
/** The number of inflated bytes that are collected before they are delivered. */
const DELIVERED_BYTES = 512 * 1024;

export interface GzipDecoderOptions extends InflateLimits {
  readonly origin: string | undefined;
  /**
   * The maximum number of compressed bytes that are passed to one call of the decoder.
   * @default 16384
   */
  readonly step?: number | undefined;
}

/**
 * Inflates one gzip file on this thread as its bytes arrive, in bounded memory. Delivers inflated bytes as
 * soon as they are decoded. Used for live streams, and for large or damaged files. Accepts what `gzip -t`
 * accepts without a warning: several members, and zeros after the last one.
 */
export class GzipDecoder {
  readonly #options: GzipDecoderOptions;
  /**
   * Created only when gzip bytes arrive, because a decoder takes 100 KiB of memory, and there may be many
   * small plain files.
   */
  #decoder: Gunzip | undefined;
  #state: 'start' | 'gzip' | 'padding' | 'plain' = 'start';
  /** The number of compressed bytes read so far. `#written` counts the inflated bytes. */
  #read = 0;
  #written = 0;
  #output: Buffer[] = [];
  #outputBytes = 0;
  #error: Error | undefined;

  constructor(options: GzipDecoderOptions) {
    this.#options = options;
  }

  /**
   * Yields the inflated bytes as arrays of blocks. Each array except the last has at least `DELIVERED_BYTES`.
   * Data that is not gzip is refused, or yielded unchanged with `plain: 'pass'`.
   */
  *push(input: Buffer): Generator<readonly Buffer[], void, undefined> {
    if (input.length === 0) return;
    if (this.#state === 'start') this.#state = this.#sniff(input[0]!);
    if (this.#state === 'plain') {
      this.#count(input.length);
      yield [input];
      return;
    }
    const { step = DECODER_CALL_BYTES } = this.#options;
    for (let at = 0; at < input.length && this.#error === undefined; at += step) {
      this.#write(input.subarray(at, at + step));
      if (this.#outputBytes >= DELIVERED_BYTES) yield this.#take();
    }
    if (this.#outputBytes > 0) yield this.#take();
    if (this.#error !== undefined) throw this.#refuse(this.#error);
  }

  /** Call this after the last bytes. Throws if the file is incomplete. */
  end(): void {
    if (this.#state === 'plain') return;
    if (this.#state === 'start' && this.#options.plain === 'pass') return;
    this.#openDecoder().end();
    if (this.#error !== undefined) throw this.#refuse(this.#error);
  }

  close(): void {
    this.#decoder?.close();
  }

  #sniff(first: number): 'gzip' | 'plain' {
    if (first === GZIP_MAGIC) return 'gzip';
    if (this.#options.plain === 'pass') return 'plain';
    throw this.#fail(
      "This is not gzip. Remove gunzip(), or use gunzip({ plain: 'pass' }) if only some files are",
    );
  }

  #write(slice: Buffer): void {
    if (this.#state === 'gzip') {
      const decoder = this.#openDecoder();
      decoder.write(slice);
      if (this.#error !== undefined) return;
      // The decoder does not consume bytes after the last gzip member. Only zeros are allowed there.
      const taken = decoder.handle?.bytesWritten ?? 0;
      this.#read += taken;
      if (taken === slice.length) return;
      this.#state = 'padding';
      slice = slice.subarray(taken);
    }
    const junk = slice.findIndex(byte => byte !== 0);
    this.#read += junk === -1 ? slice.length : junk;
    if (junk !== -1) this.#error = new Error('something follows the end of the data');
  }

  #openDecoder(): Gunzip {
    if (this.#decoder !== undefined) return this.#decoder;
    const decoder = new Gunzip(DECODER);
    decoder.on('data', block => {
      this.#output.push(block);
      this.#outputBytes += block.length;
    });
    decoder.on('error', error => {
      this.#error = error as Error;
    });
    this.#decoder = decoder;
    return decoder;
  }

  #take(): readonly Buffer[] {
    const blocks = this.#output;
    this.#count(this.#outputBytes);
    this.#output = [];
    this.#outputBytes = 0;
    return blocks;
  }

  #count(bytes: number): void {
    this.#written += bytes;
    if (this.#written > this.#options.maxBytes)
      throw this.#fail(`This file holds more than ${this.#options.maxBytes} bytes (\`maxBytes\`)`);
  }

  #refuse(cause: Error & { readonly code?: unknown }): DataError {
    return cause.code === 'Z_BUF_ERROR'
      ? this.#fail('The gzip data is cut short', cause)
      : this.#fail(`The gzip data is corrupt (${cause.message.replace(/^zlib: /, '')})`, cause);
  }

  #fail(message: string, cause?: Error): DataError {
    return new DataError(message, {
      cause,
      position: { origin: this.#options.origin, byteOffset: this.#read },
    });
  }
}

export class SniffingDecoder {
  readonly #options: GzipDecoderOptions;
  #file: GzipDecoder | ZstdDecoder | undefined;
  /** The first bytes of the file, kept until there are enough of them to detect the format. */
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

  /**
   * Call this after the last bytes. Throws if the file is incomplete. A file that is too short for its format
   * to be detected is passed to a `GzipDecoder`, which also handles plain bytes.
   */
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
