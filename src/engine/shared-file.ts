import type { Activity } from '../activity/activity.js';
import type { DecodedFile, HoldingThread } from './decoded-file.js';
import type { RowFields } from './row-fields.js';

/** A decoded file with several readers: it is released once all of them have released it. */
export class SharedFile implements DecodedFile {
  /** What one reader has parsed is not parsed again for another. */
  readonly activities = new Map<number, Activity>();
  readonly #file: DecodedFile;
  #readers = 1;
  #content: Promise<Buffer> | undefined;
  #isKept = false;

  constructor(file: DecodedFile) {
    this.#file = file;
  }

  /** Adds a reader, which releases it, too. */
  share(): void {
    this.#readers++;
  }

  get origin(): string {
    return this.#file.origin;
  }

  get bytes(): number {
    return this.#file.bytes;
  }

  get fields(): RowFields {
    return this.#file.fields;
  }

  get messages(): readonly Uint8Array[] {
    return this.#file.messages;
  }

  get thread(): HoldingThread | undefined {
    return this.#file.thread;
  }

  /** A copy of what a thread holds: other readers have it encoded there. */
  content(): Promise<Buffer> {
    this.#content ??= this.#file.copy();
    return this.#content;
  }

  copy(): Promise<Buffer> {
    return this.content();
  }

  posts(rows: Uint32Array): Promise<readonly Uint8Array[]> {
    return this.#file.posts(rows);
  }

  replace(_rows: Uint32Array, _posts: readonly Activity[]): void {
    throw new Error('Posts of a file with several readers cannot be replaced');
  }

  release(): void {
    if (--this.#readers > 0) return;
    if (this.#isKept) this.#file.leave();
    else this.#file.release();
  }

  leave(): void {
    this.#isKept = true;
    this.release();
  }
}
