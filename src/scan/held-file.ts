import { StorageError } from '../errors.js';
import type { ScanCommand, ScanReply, WriteRange } from './messages.js';
import type { ScanThread } from './scan-thread.js';
import { ScannedColumns, type ScannedColumnsData } from './scanned-columns.js';

/** A file whose content is with the thread that scanned it. */
export class HeldFile {
  /** The file, for error messages. */
  readonly origin: string;
  /** Size of the content. */
  readonly bytes: number;
  readonly columns: ScannedColumns;
  /** Records that are messages in place of posts. */
  readonly messages: readonly Uint8Array[];
  readonly #thread: ScanThread;
  readonly #number: number;
  readonly #onRelease: () => void;
  #state: 'held' | 'sent' | 'released' = 'held';

  constructor(
    thread: ScanThread,
    number: number,
    {
      origin,
      bytes,
      data,
      messages,
    }: {
      readonly origin: string;
      readonly bytes: number;
      readonly data: ScannedColumnsData;
      readonly messages: readonly Uint8Array[];
    },
    onRelease: () => void,
  ) {
    this.origin = origin;
    this.bytes = bytes;
    this.columns = ScannedColumns.of(data);
    this.messages = messages;
    this.#thread = thread;
    this.#number = number;
    this.#onRelease = onRelease;
  }

  /**
   * Writes posts as lines to open files, and returns the range that could not be written.
   *
   * @throws StorageError when the thread has ended.
   */
  async write(
    rows: Uint32Array,
    ranges: readonly WriteRange[],
  ): Promise<{ readonly index: number; readonly error: Error } | undefined> {
    const reply = await this.#ask({ kind: 'write', file: this.#number, rows, ranges }, [
      rows.buffer as ArrayBuffer,
    ]);
    if (reply.kind !== 'written' || reply.failure === undefined) return undefined;
    const { index, message, ...details } = reply.failure;
    return { index, error: Object.assign(new Error(message), details) };
  }

  /** The content of the file, which then no longer is with the thread. */
  async content(): Promise<Buffer> {
    const reply = await this.#ask({ kind: 'send', file: this.#number });
    this.#state = 'sent';
    if (reply.kind !== 'sent') throw new Error(`Expected the content, got ${reply.kind}`);
    const { buffer, byteOffset, byteLength } = reply.bytes;
    return Buffer.from(buffer, byteOffset, byteLength);
  }

  /** Frees the memory of the file. */
  release(): void {
    if (this.#state === 'released') return;
    if (this.#state === 'held' && !this.#thread.failed)
      this.#thread.tell({ kind: 'free', file: this.#number });
    this.#state = 'released';
    this.#onRelease();
  }

  async #ask(command: ScanCommand, transfer?: ArrayBuffer[]): Promise<ScanReply> {
    try {
      return await this.#thread.ask(command, transfer);
    } catch (cause) {
      const reason = cause instanceof Error ? cause.message : String(cause);
      throw new StorageError(
        `The thread that held posts of ${this.origin} ended before they were written (${reason}). Run again`,
        { path: this.origin, cause },
      );
    }
  }
}
