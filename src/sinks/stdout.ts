import type { Writable } from 'node:stream';
import { abortable, LinkedAbort } from '../base/abortable.js';
import { checkOptions, func, type OptionTable, writable } from '../base/check.js';
import { isNodeError } from '../base/errors.js';
import { batchesOf, type Sink } from '../flow/flow.js';
import { withInternals } from '../flow/internals.js';
import { LINE_FEED, type Line, type LineItem, lineOf, type ToLine } from '../flow/line.js';
import type { Progress } from '../flow/progress.js';
import { storageError } from '../storage/storage-error.js';
import type { Written } from './commit/run-result.js';

/** Options of `stdout`: how items are converted to lines, and the stream to write to. */
export interface StdoutOptions<T> {
  /** Converts an item to a line. @default the exact bytes of an activity; the JSON of any other value */
  readonly line?: ToLine<T> | undefined;
  /**
   * The stream to write to. The sink does not end it.
   * @default process.stdout
   */
  readonly stream?: Writable | undefined;
}

const OPTIONS = {
  line: func('how an item becomes a line'),
  stream: writable('where the lines go'),
} satisfies OptionTable<StdoutOptions<unknown>>;

/**
 * The number of bytes to collect for one write. It is large enough that few writes are needed, and small
 * enough that a reader gets the first lines early.
 */
const WRITE_BYTES = 256 << 10;

/**
 * Writes every item as a line to the standard output. Passes the lines to the system in blocks of up to about
 * 256 KiB, and also at the end of each batch of items. If the reader closes the pipe (`| head`), the source
 * is closed and the run ends without an error. The result then counts the lines in all blocks that were
 * passed to the system. The reader may not have read all of these lines. The sink resolves once the last line
 * is written, so no line is lost when the process ends.
 *
 * @throws DataError for an item that cannot be converted to a line.
 * @throws StorageError if the stream fails for any reason other than a closed pipe.
 * @example
 * await pipeline(search(account(), { product: '30day', query: 'snow' }), stdout());
 */
export function stdout<T>(options: StdoutOptions<T> = {}): Sink<LineItem<T>, Written> {
  const { line, stream } = checkOptions('stdout', OPTIONS, options);
  const sink: Sink<LineItem<T>, Written> = async (input, { signal, progress } = {}) => {
    const lines = new LineWriter(stream ?? process.stdout, progress);
    const linked = new LinkedAbort(signal, lines.broken);
    const stop = linked.signal;
    try {
      for await (const { items, origin } of batchesOf(input as AsyncIterable<T>, {
        signal: stop,
        progress,
      })) {
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
  return withInternals(sink, { counts: true });
}

/** Collects lines into blocks. While one block is being written, the next block is filled. */
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

  /** The signal fires when the stream accepts no more bytes. It closes a waiting source immediately. */
  get broken(): AbortSignal {
    return this.#broken.signal;
  }

  get full(): boolean {
    return this.#length >= WRITE_BYTES;
  }

  add(line: Line): void {
    this.#lines.push(line);
    this.#length += line.byteLength + 1;
  }

  /**
   * Waits for the write of the previous block, then passes the collected lines to the stream as the next
   * block. Does not wait for that block; `flushed` does.
   */
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
    // A stream emits `error` after the callback of `write`, so after a failure the listener must stay.
    if (this.failure === undefined) this.#stream.off('error', ignore);
  }

  #write(piece: Buffer, posts: number): Promise<void> {
    if ((this.#stream as { isTTY?: boolean }).isTTY === true) this.#progress?.clear();
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
  // This is the `error` listener of the output stream. It does nothing, because the callback of `write` gets
  // the same error.
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
