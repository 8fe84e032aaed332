import { randomUUID } from 'node:crypto';
import { type FileHandle, open, unlink } from 'node:fs/promises';
import path from 'node:path';
import type { Batches } from '../flow/flow.js';
import { framed } from '../flow/framed.js';
import { LineFramer } from '../json/line-framer.js';
import { storing } from './connect-log.js';

/** No record has one, as the stream parts records by it. */
const END = Buffer.from('\r\n');
/** Pieces that one write may have, and bytes of one read. */
const MOST_PIECES = 1_000;
const READ = 256 * 1024;
/** Bytes that may be on their way to disk while more come. */
const BEHIND = 8 * 1024 * 1024;
/** The records passed the limits when they were received. */
const UNLIMITED = { maxBytes: Number.POSITIVE_INFINITY, maxDepth: Number.POSITIVE_INFINITY };

/**
 * Records that wait: in memory up to a size, the rest in a file that no one else can see. A service
 * that is read from at its own speed does not disconnect a slow consumer.
 */
export class Spool {
  readonly #folder: string;
  readonly #maxMemory: number;
  #memory: (readonly Buffer[])[] = [];
  #bytes = 0;
  #file: FileHandle | undefined;
  #path = '';
  #length = 0;
  /** What the write under way has yet to get to. */
  #behind: Buffer[] = [];
  #behindBytes = 0;
  #writing: Promise<void> | undefined;
  #failure: { readonly error: unknown } | undefined;
  #closed = false;

  constructor(folder: string, maxMemory: number) {
    this.#folder = folder;
    this.#maxMemory = maxMemory;
  }

  /** Whether anything goes to disk. */
  get spilled(): boolean {
    return this.#bytes > this.#maxMemory;
  }

  /** Returns before the records are on disk, as long as few are on their way there. */
  async add(records: readonly Buffer[]): Promise<void> {
    this.#throwFailure();
    const pieces = inPieces(records);
    if (pieces.length === 0 || this.#closed) return;
    const bytes = bytesOf(pieces);
    this.#bytes += bytes;
    if (!this.spilled) {
      this.#memory.push(pieces);
      return;
    }
    for (const piece of pieces) this.#behind.push(piece);
    this.#behindBytes += bytes;
    this.#writing ??= this.#writeBehind();
    if (this.#behindBytes > BEHIND) await this.#writing;
    this.#throwFailure();
  }

  /** All records in their order, to be read once; lets go of each as it comes. */
  async *read(): AsyncGenerator<readonly Buffer[], void, undefined> {
    await this.#writing;
    this.#throwFailure();
    const lines = framed(this.#pieces(), () => new LineFramer('\r\n', UNLIMITED, undefined));
    for await (const { items } of lines) yield items;
  }

  /** Gives up what is left, and takes no more. */
  async close(): Promise<void> {
    this.#closed = true;
    this.#memory = [];
    this.#behind = [];
    await this.#writing;
    const file = this.#file;
    this.#file = undefined;
    await file?.close();
    // Where an open file cannot be unlinked, it goes now.
    if (file !== undefined) await unlink(this.#path).catch(() => {});
  }

  async *#pieces(): Batches<Buffer> {
    for (let next = this.#memory.shift(); next !== undefined; next = this.#memory.shift())
      yield { items: next };
    if (this.#file === undefined) return;
    const input = this.#file.createReadStream({ start: 0, autoClose: false, highWaterMark: READ });
    for await (const block of input) yield { items: [block as Buffer] };
  }

  /** Never rejects: what goes wrong is told to whoever comes next. */
  async #writeBehind(): Promise<void> {
    try {
      await storing(this.#folder, 'spool a stream in', async () => {
        this.#file ??= await this.#open();
        while (this.#behind.length > 0) {
          const pieces = this.#behind.splice(0, MOST_PIECES);
          await this.#write(this.#file, pieces);
          this.#behindBytes -= bytesOf(pieces);
        }
        // At once: whoever adds while promises are on their way must begin anew.
        this.#writing = undefined;
      });
    } catch (error) {
      this.#failure = { error };
      this.#writing = undefined;
    }
  }

  #throwFailure(): void {
    if (this.#failure !== undefined) throw this.#failure.error;
  }

  async #write(file: FileHandle, pieces: readonly Buffer[]): Promise<void> {
    const wanted = bytesOf(pieces);
    let { bytesWritten: done } = await file.writev(pieces, this.#length);
    // A disk that takes only a part says why when it is given the rest.
    for (const all = done < wanted ? Buffer.concat(pieces) : END; done < wanted; ) {
      const { bytesWritten } = await file.write(all, done, undefined, this.#length + done);
      done += bytesWritten;
    }
    this.#length += wanted;
  }

  async #open(): Promise<FileHandle> {
    this.#path = path.join(this.#folder, `spool-${process.pid}-${randomUUID()}`);
    const file = await open(this.#path, 'wx+', 0o600);
    await unlink(this.#path).catch(() => {});
    return file;
  }
}

/**
 * The records, each with an end, without a copy: those that lie one after the other in memory still
 * have their ends between them, and wait as one piece. Thousands of objects that live on would cost
 * the garbage collector more than finding the records again does.
 */
function inPieces(records: readonly Buffer[]): Buffer[] {
  const pieces: Buffer[] = [];
  let memory: Buffer = END;
  let start = 0;
  let end = 0;
  for (const { buffer, byteOffset, length } of records) {
    const follows =
      buffer === memory.buffer &&
      byteOffset === end + END.length &&
      memory[end] === END[0] &&
      memory[end + 1] === END[1];
    if (!follows) {
      if (end > start) pieces.push(memory.subarray(start, end), END);
      memory = Buffer.from(buffer);
      start = byteOffset;
    }
    end = byteOffset + length;
  }
  if (end > start) pieces.push(memory.subarray(start, end), END);
  return pieces;
}

function bytesOf(pieces: readonly Buffer[]): number {
  return pieces.reduce((sum, { length }) => sum + length, 0);
}
