import type { Transform, TransformOptions } from 'node:stream';
import * as zlib from 'node:zlib';
import { DataError } from '../base/errors.js';
import { WakeUp } from '../base/wait.js';

type InPool = (
  bytes: Uint8Array,
  options: zlib.BrotliOptions,
  done: (error: Error | null, result: Buffer) => void,
) => void;

/** The zstd functions of `node:zlib`. Their options have the same form as those for Brotli. */
interface NodeZstd {
  readonly zstdCompress: InPool;
  readonly zstdDecompress: InPool;
  zstdCompressSync(bytes: Uint8Array, options?: zlib.BrotliOptions): Buffer;
  zstdDecompressSync(bytes: Uint8Array, options?: zlib.BrotliOptions): Buffer;
  createZstdCompress(options: zlib.BrotliOptions): Transform;
  createZstdDecompress(options: zlib.BrotliOptions & TransformOptions): Transform;
  readonly constants: { readonly ZSTD_c_checksumFlag: number };
}

/** The zstd functions of `node:zlib`; `undefined` before Node 22.15. The types of Node 20 lack them. */
export const nodeZstd: NodeZstd | undefined =
  (zlib as unknown as Partial<NodeZstd>).zstdCompress && (zlib as unknown as NodeZstd);

const CHUNK = 256 * 1024;

const LACKS_ZSTD = `This is zstd, which Node reads from version 22.15 on, and this is ${process.version}. Use a newer Node`;

export function lacksZstd(file: string, note = ''): DataError {
  return new DataError(`${LACKS_ZSTD}, or replace the file first: \`zstd -d --rm\`${note}`, {
    position: { origin: file },
  });
}

/**
 * Inflates one zstd file with any number of frames in the thread pool, as its bytes arrive, in bounded
 * memory. Delivers everything that can be decoded before it throws.
 *
 * @throws DataError if the file is truncated or damaged
 */
export class ZstdDecoder {
  readonly #origin: string | undefined;
  readonly #maxBytes: number;
  readonly #frames = new ZstdFrames();
  #frame: ZstdFrame | undefined;
  #written = 0;

  constructor({
    origin,
    maxBytes,
  }: { readonly origin: string | undefined; readonly maxBytes: number }) {
    this.#origin = origin;
    this.#maxBytes = maxBytes;
    if (nodeZstd === undefined)
      throw this.#fail(`${LACKS_ZSTD}, or decompress the file first: \`zstd -d\``);
  }

  async *push(input: Buffer): AsyncGenerator<Buffer, void, undefined> {
    try {
      for (const { bytes, ends } of this.#frames.push(input)) {
        this.#frame ??= new ZstdFrame();
        for await (const block of this.#frame.write(bytes, ends)) {
          this.#written += block.length;
          if (this.#written > this.#maxBytes)
            throw this.#fail(`This file holds more than ${this.#maxBytes} bytes (\`maxBytes\`)`);
          yield block;
        }
        if (ends) this.#frame = undefined;
      }
    } catch (error) {
      if (error instanceof DataError) throw error;
      const { message } = error as Error;
      throw this.#fail(`The zstd data is corrupt (${message})`, error);
    }
  }

  /** Call this after the last bytes. Throws if the file is incomplete. */
  end(): void {
    if (!this.#frames.isComplete) throw this.#fail('The zstd data is cut short');
  }

  close(): void {
    this.#frame?.close();
  }

  #fail(message: string, cause?: unknown): DataError {
    const position = { origin: this.#origin, byteOffset: this.#frames.read };
    return new DataError(message, { cause, position });
  }
}

class ZstdFrame {
  readonly #decoder: Transform;
  #failure: Error | undefined;
  readonly #wakeUp = new WakeUp();

  constructor() {
    if (nodeZstd === undefined) throw new Error('This version of Node has no zstd');
    this.#decoder = nodeZstd.createZstdDecompress({ chunkSize: CHUNK, readableHighWaterMark: 1 });
    this.#decoder.on('readable', () => this.#wakeUp.wake());
    this.#decoder.on('end', () => this.#wakeUp.wake());
    this.#decoder.on('error', error => {
      this.#failure = error;
      this.#wakeUp.wake();
    });
  }

  /**
   * Decodes the next bytes of the frame. Decoding pauses while the consumer requests no output.
   *
   * @param ends Whether these are the last bytes of the frame.
   */
  async *write(bytes: Buffer, ends: boolean): AsyncGenerator<Buffer, void, undefined> {
    let isTaken = false;
    const taken = () => {
      isTaken = true;
      this.#wakeUp.wake();
    };
    if (ends) this.#decoder.end(bytes);
    else this.#decoder.write(bytes, taken);
    while (true) {
      const block = this.#decoder.read() as Buffer | null;
      if (block !== null) yield block;
      else if (this.#failure !== undefined) throw this.#failure;
      else if (ends ? this.#decoder.readableEnded : isTaken) return;
      else await this.#wakeUp.next();
    }
  }

  close(): void {
    this.#decoder.destroy();
  }
}

/** A part of a zstd frame. `ends` is true for the last part of the frame. */
export interface ZstdPart {
  readonly bytes: Buffer;
  readonly ends: boolean;
}

const FRAME = 0xfd2fb528;
/** The magic number of skippable frames, which hold no content. Any value of its last four bits is valid. */
const SKIPPABLE = 0x184d2a50;
export const MAGIC_BYTES = 4;

/** The fields of a zstd frame that are read as numbers, once all bytes of the field have arrived. */
const NUMBERS = ['magic', 'skippable size', 'descriptor', 'block'] as const;
/** The field to which the next bytes belong. It is complete once `#need` more bytes have arrived. */
type Field = (typeof NUMBERS)[number] | 'skippable' | 'header' | 'content' | 'checksum';

/**
 * Cuts zstd files into frames as their bytes arrive (RFC 8878). This is necessary because Node's
 * decoder stops after the first frame without an error. In some versions, it also does not notice a
 * truncated frame.
 */
export class ZstdFrames {
  #field: Field = 'magic';
  #need = MAGIC_BYTES;
  /** The bytes of the current field so far, if the field is read as a number. */
  #collected: number[] = [];
  #hasChecksum = false;
  #isLastBlock = false;
  #frames = 0;
  read = 0;

  /** Whether the bytes so far are one or more complete frames. */
  get isComplete(): boolean {
    return this.#frames > 0 && this.#field === 'magic' && this.#collected.length === 0;
  }

  /** @throws Error if anything other than a frame follows a frame, or a frame is corrupt */
  *push(input: Buffer): Generator<ZstdPart, void, undefined> {
    let start = 0;
    for (let at = 0; at < input.length; ) {
      const field = this.#field;
      if (!NUMBERS.some(number => number === field)) {
        const taken = Math.min(this.#need, input.length - at);
        at += taken;
        this.read += taken;
        this.#need -= taken;
        if (field === 'skippable') start = at;
      } else {
        this.#collected.push(input[at++] as number);
        this.read++;
        this.#need--;
        // These bytes do not belong to the next part: the magic number of a frame is delivered separately
        // once it is complete, and skippable frames are not delivered.
        if (field === 'magic' || field === 'skippable size') start = at;
      }
      while (this.#need === 0) {
        const magic = this.#field === 'magic' ? Buffer.from(this.#collected) : undefined;
        const isOver = this.#field === 'checksum';
        const number = this.#collected.reduceRight((value, byte) => value * 256 + byte, 0);
        this.#collected = [];
        [this.#field, this.#need] = this.#after(this.#field, number);
        if (magic !== undefined && this.#field === 'descriptor')
          yield { bytes: magic, ends: false };
        if (!isOver) continue;
        yield { bytes: input.subarray(start, at), ends: true };
        start = at;
      }
    }
    if (start < input.length) yield { bytes: input.subarray(start), ends: false };
  }

  /** Reads a complete field. Returns the next field and its size in bytes. */
  #after(field: Field, number: number): readonly [field: Field, need: number] {
    switch (field) {
      case 'magic':
        if (number === FRAME) return ['descriptor', 1];
        if (number >= SKIPPABLE && number < SKIPPABLE + 16) return ['skippable size', 4];
        throw new Error('something follows the end of the data');
      case 'skippable size':
        return ['skippable', number];
      case 'descriptor': {
        const isSingle = (number >> 5) & 1;
        const contentSize = [isSingle, 2, 4, 8][number >> 6] as number;
        const dictionary = [0, 1, 2, 4][number & 3] as number;
        this.#hasChecksum = ((number >> 2) & 1) === 1;
        return ['header', 1 - isSingle + dictionary + contentSize];
      }
      case 'header':
        return ['block', 3];
      case 'block': {
        const kind = (number >> 1) & 3;
        if (kind === 3) throw new Error('a block of an unknown kind');
        this.#isLastBlock = (number & 1) === 1;
        // A block of type 1 is one byte repeated many times. Only one byte is stored.
        return ['content', kind === 1 ? 1 : number >> 3];
      }
      case 'content':
        if (!this.#isLastBlock) return ['block', 3];
        return ['checksum', this.#hasChecksum ? 4 : 0];
      case 'skippable':
      case 'checksum':
        this.#frames++;
        return ['magic', MAGIC_BYTES];
    }
  }
}

/** Whether these bytes begin a zstd file. Returns `undefined` if they are too few to tell. */
export function isZstd(bytes: Uint8Array): boolean | undefined {
  let magic = 0;
  for (let at = 0; at < Math.min(bytes.length, MAGIC_BYTES); at++) {
    magic += (bytes[at] as number) * 256 ** at;
    const span = 256 ** (at + 1);
    const isSkippable = magic - (magic % 16) === SKIPPABLE % span;
    if (magic !== FRAME % span && !isSkippable) return false;
  }
  return bytes.length >= MAGIC_BYTES ? true : undefined;
}
