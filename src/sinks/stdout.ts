import type { Writable } from 'node:stream';
import { abortable } from '../abortable.js';
import { checkOptions, func, type OptionTable, special } from '../check.js';
import { isNodeError } from '../errors.js';
import { batchesOf, type Sink } from '../flow/flow.js';
import type { Progress } from '../flow/progress.js';
import { LinkedAbort } from '../linked-abort.js';
import { storageError } from '../storage/storage-error.js';
import type { Written } from './files/written.js';
import { LINE_FEED, type Line, lineOf, type ToLine } from './line.js';

export interface StdoutOptions<T> {
  /** How an item becomes a line, where not the exact bytes of an activity or the JSON of a value. */
  readonly line?: ToLine<T> | undefined;
  /**
   * Where the lines go. It is not ended.
   * @default process.stdout
   */
  readonly stream?: Writable | undefined;
}

const OPTIONS = {
  line: func('how an item becomes a line'),
  stream: special<Writable>(
    'where the lines go',
    'a Node Writable',
    value => typeof (value as Partial<Writable> | null)?.write === 'function',
  ),
} satisfies OptionTable<StdoutOptions<unknown>>;

/** Large enough for few calls, small enough that a reader gets the first lines early. */
const PIECE = 256 << 10;

/**
 * Writes every item as a line to the standard output, at the end of each batch. When the reader has
 * seen enough (`| head`), the run ends quietly: the source is closed, and the result counts the lines
 * that were handed over in whole pieces of up to 256 KiB. The system does not tell how much of the last
 * piece, or of what waited in the pipe, the reader took. Resolves only when the last line is handed over, so nothing is lost when the process ends.
 *
 * @throws DataError for an item that has no line.
 * @throws StorageError when the stream breaks in another way than by a closed pipe.
 * @example
 * await pipeline(search(account(), { product: '30day', query: 'snow' }), stdout());
 */
export function stdout<T>(options: StdoutOptions<T> = {}): Sink<T, Written> {
  const { line, stream } = checkOptions('stdout', OPTIONS, options);
  return async (input, { signal, progress } = {}) => {
    const lines = new LineWriter(stream ?? process.stdout, progress);
    const linked = new LinkedAbort(signal, lines.broken);
    const stop = linked.signal;
    try {
      for await (const { items, origin } of batchesOf(input, { signal: stop, progress })) {
        for (const item of items) {
          lines.add(lineOf(item, line, origin));
          if (lines.full) await abortable(lines.flush(), stop);
        }
        await abortable(lines.flush(), stop);
      }
      await abortable(lines.flushed(), stop);
    } catch (error) {
      if (!lines.pipeClosed) throw lines.failure ?? error;
    } finally {
      linked.unlink();
      lines.release();
    }
    return { posts: lines.posts, bytes: lines.bytes, files: [] };
  };
}

/** Lines gathered into pieces, of which one is on its way while the next is gathered. */
class LineWriter {
  posts = 0;
  bytes = 0;
  pipeClosed = false;
  failure: unknown;
  readonly #stream: Writable;
  readonly #progress: Progress | undefined;
  readonly #broken = new AbortController();
  #lines: Line[] = [];
  #length = 0;
  #onItsWay: Promise<void> = Promise.resolve();

  constructor(stream: Writable, progress: Progress | undefined) {
    this.#stream = stream;
    this.#progress = progress;
    stream.on('error', ignore);
  }

  /** Fires when the stream takes no more, so that a source that waits is closed at once. */
  get broken(): AbortSignal {
    return this.#broken.signal;
  }

  get full(): boolean {
    return this.#length >= PIECE;
  }

  add(line: Line): void {
    this.#lines.push(line);
    this.#length += line.byteLength + 1;
  }

  /** Sends the lines on their way, once those before them are handed over. */
  async flush(): Promise<void> {
    await this.#onItsWay;
    if (this.#lines.length === 0 || this.failure !== undefined) return;
    const posts = this.#lines.length;
    const piece = joined(this.#lines, this.#length);
    this.#lines = [];
    this.#length = 0;
    this.#onItsWay = this.#write(piece, posts);
  }

  flushed(): Promise<void> {
    return this.#onItsWay;
  }

  release(): void {
    // A stream tells of its failure in an event after the callback; then the listener stays.
    if (this.failure === undefined) this.#stream.off('error', ignore);
  }

  #write(piece: Buffer, posts: number): Promise<void> {
    return new Promise(resolve => {
      this.#stream.write(piece, error => {
        if (error != null) this.#fail(error);
        else {
          this.posts += posts;
          this.bytes += piece.length;
          if (this.#progress !== undefined) {
            this.#progress.written += posts;
            this.#progress.writtenBytes += piece.length;
          }
        }
        resolve();
      });
    });
  }

  #fail(error: Error): void {
    this.pipeClosed = isNodeError(error, 'EPIPE');
    this.failure = storageError('write to', 'stdout', error);
    this.#broken.abort(this.failure);
  }
}

function ignore(): void {
  // The callback of the write has the error, too.
}

function joined(lines: readonly Line[], length: number): Buffer {
  const piece = Buffer.allocUnsafe(length);
  let at = 0;
  for (const line of lines) {
    piece.set(line, at);
    at += line.byteLength;
    piece[at++] = LINE_FEED;
  }
  return piece;
}
