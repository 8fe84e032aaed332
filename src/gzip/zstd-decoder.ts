import type { Transform } from 'node:stream';
import { DataError } from '../base/errors.js';
import { WakeUp } from '../base/wait.js';
import { nodeZstd } from './node-zstd.js';
import { ZstdFrames } from './zstd-frames.js';

const CHUNK = 256 * 1024;

/** The first part of the message about a zstd file, where Node has no zstd. */
const LACKS_ZSTD = `This is zstd, which Node reads from version 22.15 on, and this is ${process.version}. Use a newer Node`;

/** The error about a file that is zstd and stays where it is, where Node has no zstd. */
export function lacksZstd(file: string, note = ''): DataError {
  return new DataError(`${LACKS_ZSTD}, or replace the file first: \`zstd -d --rm\`${note}`, {
    position: { origin: file },
  });
}

/**
 * Inflates one zstd file of any number of frames in the thread pool, as its bytes arrive, in bounded
 * memory. Delivers all that can be decoded before a cut or damage.
 *
 * @throws DataError
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

  /** Throws unless the file is complete. */
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

/** The decoder of one frame. */
class ZstdFrame {
  readonly #decoder: Transform;
  #failure: Error | undefined;
  readonly #wakeUp = new WakeUp();

  constructor() {
    if (nodeZstd === undefined) throw new Error('This Node has no zstd');
    this.#decoder = nodeZstd.createZstdDecompress({ chunkSize: CHUNK, readableHighWaterMark: 1 });
    this.#decoder.on('readable', () => this.#wakeUp.wake());
    this.#decoder.on('end', () => this.#wakeUp.wake());
    this.#decoder.on('error', error => {
      this.#failure = error;
      this.#wakeUp.wake();
    });
  }

  /** What the bytes give. The decoder waits where no more is read. */
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
