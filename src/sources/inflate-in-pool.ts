import { createGunzip, type Gunzip } from 'node:zlib';
import { DataError } from '../errors.js';

/** What goes into the decoder at once: gzip makes at most 1,032 bytes of one, so 32 MiB come out. */
const STEP = 32 * 1024;
/** What comes out of it at once. */
const CHUNK = 256 * 1024;

/**
 * Inflates a stream in the thread pool while this thread frames what came before: for streams of which
 * the whole counts. What is inflated comes out with the next step, at the latest when the stream ends,
 * so where each message has to come at once, `gunzip` is the one to take.
 *
 * Throws a `DataError` where the gzip is damaged or cut short, after all that could be inflated; an
 * error of the input, too, comes after what had come before it.
 */
export async function* inflateInPool(
  input: AsyncIterable<readonly Buffer[]>,
  origin: string,
): AsyncGenerator<readonly Buffer[], void, undefined> {
  const inflater = new Inflater(origin);
  try {
    let step: Promise<readonly Buffer[]> = Promise.resolve([]);
    try {
      for await (const arrival of input) {
        const bytes = arrival.length === 1 ? arrival[0]! : Buffer.concat(arrival);
        for (let at = 0; at < bytes.length; at += STEP) {
          const blocks = await step;
          step = inflater.push(bytes.subarray(at, at + STEP));
          // It fails when its turn comes.
          step.catch(() => {});
          if (blocks.length > 0) yield blocks;
        }
      }
    } catch (error) {
      yield await step;
      throw error;
    }
    yield await step;
    yield await inflater.end();
  } finally {
    inflater.close();
  }
}

/** One gzip file of any number of members, inflated by the thread pool step by step. */
class Inflater {
  readonly #origin: string;
  readonly #gunzip: Gunzip = createGunzip({ chunkSize: CHUNK });
  #blocks: Buffer[] = [];
  #pushed = 0;
  #ended = false;
  #failure: Error | undefined;
  /** Called when the step under way is done. */
  #done: () => void = () => {};

  constructor(origin: string) {
    this.#origin = origin;
    this.#gunzip
      .on('data', (block: Buffer) => this.#blocks.push(block))
      .on('error', error => {
        this.#failure = error;
        this.#done();
      })
      .on('end', () => {
        this.#ended = true;
        this.#done();
      });
  }

  async push(bytes: Buffer): Promise<readonly Buffer[]> {
    this.#pushed += bytes.length;
    // The decoder ends by itself where zeros follow the last member, and then answers no more.
    if (this.#ended) this.#refuseJunk(bytes);
    else {
      await new Promise<void>(resolve => {
        this.#done = resolve;
        this.#gunzip.write(bytes, () => resolve());
      });
      const { bytesWritten } = this.#gunzip;
      if (this.#ended)
        this.#refuseJunk(bytes.subarray(bytes.length - (this.#pushed - bytesWritten)));
    }
    return this.#take();
  }

  async end(): Promise<readonly Buffer[]> {
    if (!this.#ended && this.#failure === undefined)
      await new Promise<void>(resolve => {
        this.#done = resolve;
        this.#gunzip.end();
      });
    return this.#take();
  }

  close(): void {
    this.#gunzip.destroy();
  }

  #take(): readonly Buffer[] {
    if (this.#failure !== undefined) throw this.#refuse(this.#failure);
    const blocks = this.#blocks;
    this.#blocks = [];
    return blocks;
  }

  #refuseJunk(bytes: Buffer): void {
    if (bytes.some(byte => byte !== 0))
      this.#failure ??= new Error('something follows the end of the data');
  }

  #refuse(cause: Error & { readonly code?: unknown }): DataError {
    const place = { origin: this.#origin, byteOffset: this.#gunzip.bytesWritten };
    return cause.code === 'Z_BUF_ERROR'
      ? new DataError('The gzip data is cut short', { cause, place })
      : new DataError(`The gzip data is corrupt (${cause.message})`, { cause, place });
  }
}
