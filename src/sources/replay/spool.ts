import { randomUUID } from 'node:crypto';
import { type FileHandle, open, unlink } from 'node:fs/promises';
import path from 'node:path';
import { batchesOf, Flow } from '../../flow.js';
import { jsonLines } from '../../operators/json-lines.js';
import { storing } from './connect-log.js';

/** No record has one, as the stream parts records by it. */
const END = Buffer.from('\r\n');
/** Pieces that one write may have, and bytes of one read. */
const MOST_PIECES = 1_000;
const READ = 256 * 1024;

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

  constructor(folder: string, maxMemory: number) {
    this.#folder = folder;
    this.#maxMemory = maxMemory;
  }

  /** Whether anything went to disk. */
  get spilled(): boolean {
    return this.#file !== undefined;
  }

  async add(records: readonly Buffer[]): Promise<void> {
    const pieces = inPieces(records);
    for (const { length } of pieces) this.#bytes += length;
    if (this.#bytes <= this.#maxMemory) {
      this.#memory.push(pieces);
      return;
    }
    await storing(this.#folder, 'spool a stream in', async () => {
      this.#file ??= await this.#open();
      for (let at = 0; at < pieces.length; at += MOST_PIECES)
        await this.#write(this.#file, pieces.slice(at, at + MOST_PIECES));
    });
  }

  /** All records in their order, to be read once; lets go of each as it comes. */
  async *read(): AsyncGenerator<readonly Buffer[], void, undefined> {
    const lines = jsonLines({
      separator: '\r\n',
      maxBytes: Number.POSITIVE_INFINITY,
      maxDepth: Number.POSITIVE_INFINITY,
    })(new Flow(() => this.#pieces()));
    for await (const { items } of batchesOf(lines)) yield items;
  }

  /** Gives up what is left. */
  async close(): Promise<void> {
    this.#memory = [];
    const file = this.#file;
    this.#file = undefined;
    await file?.close();
    // Where an open file cannot be unlinked, it goes now.
    if (file !== undefined) await unlink(this.#path).catch(() => {});
  }

  async *#pieces(): AsyncGenerator<{ items: readonly Buffer[] }, void, undefined> {
    for (let next = this.#memory.shift(); next !== undefined; next = this.#memory.shift())
      yield { items: next };
    if (this.#file === undefined) return;
    const input = this.#file.createReadStream({ start: 0, autoClose: false, highWaterMark: READ });
    for await (const block of input) yield { items: [block as Buffer] };
  }

  async #write(file: FileHandle, pieces: readonly Buffer[]): Promise<void> {
    const wanted = pieces.reduce((sum, { length }) => sum + length, 0);
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
