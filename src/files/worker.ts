import { writeSync, writevSync } from 'node:fs';
import { parentPort, workerData } from 'node:worker_threads';
import { DataError } from '../base/errors.js';
import { inflateWholeHere } from '../gzip/inflate-whole.js';
import { releaseMemory } from '../gzip/release-memory.js';
import { type ColumnsToEncode, encodeChunks } from '../tables/parquet/column-chunk.js';
import { type Decoding, decodeFile, type Fields } from './decode-file.js';
import { type RowEncoding, type RowList, rowsEncoder } from './encode-rows.js';
import { FileContent } from './file-content.js';
import { readWhole } from './read-whole.js';

// A thread that decodes files, and keeps their content until it is written or taken.

/** What a worker is started with. */
export interface WorkerStart {
  readonly decoding: Decoding;
  readonly fields: Fields;
  /** How each reader of the plan encodes rows, if it does. */
  readonly encodings: readonly (RowEncoding | undefined)[];
}

/** Bytes of posts for one output: those of the rows from `from` to `to` in a list, each with a line feed. */
export interface WriteRange {
  /** An open file of this process. */
  readonly fd: number;
  readonly position: number;
  readonly from: number;
  readonly to: number;
}

/** The calls that another thread makes by `EngineThread.ask`. Each file has a number, which the first call gives it. */
export type ThreadCalls = typeof calls;

/** An array whose memory may move from one thread to another. */
export type Memory = Uint8Array | Uint32Array;

/** What a call gives to the other thread. */
interface Answer<T> {
  readonly result: T;
  /** Arrays whose memory moves there; others are copied. */
  readonly moved: readonly Memory[];
}

const port = parentPort!;
const { decoding, fields, encodings } = workerData as WorkerStart;
const encoders = encodings.map(encoding => encoding && rowsEncoder(encoding));
const held = new Map<number, FileContent>();

// V8 discards the optimised code that reads buffers when a thread transfers its first one: while there is none yet.
releaseMemory(Buffer.allocUnsafeSlow(1));

const calls = {
  /**
   * Decodes a file, by its path or its bytes, which come back as `input`. `decoded` is absent where it has to be read in
   * another way.
   *
   * @param size Of a file at a path, when it was listed: one that has become shorter is refused.
   */
  async decode(file: number, pathOrBytes: string | Uint8Array, size: number) {
    const [stored, input] =
      typeof pathOrBytes === 'string'
        ? [readWhole(pathOrBytes, size), undefined]
        : [bufferOf(pathOrBytes), pathOrBytes];
    const back = input === undefined ? [] : [input];
    const posts = stored && (await decodeFile(stored, decoding, fields, inflateWholeHere));
    if (posts === undefined) return answer({ input, decoded: undefined }, back);
    held.set(file, new FileContent(posts.bytes, posts.fields.bounds()));
    const data = posts.fields.data();
    const decoded = { data, messages: posts.messages, bytes: posts.bytes.length };
    return answer({ input, decoded }, [data.numbers, data.shownIds, ...back]);
  },

  /** Writes posts as lines at positions of open files. Gives what failed, as an error loses its code on the way. */
  write(file: number, rows: Uint32Array, ranges: readonly WriteRange[]) {
    const content = held.get(file)!;
    for (const [index, { fd, position, from, to }] of ranges.entries())
      try {
        writeAll(fd, content.lines(rows, from, to), position);
      } catch (error) {
        const { message, code, errno, syscall } = error as NodeJS.ErrnoException;
        return answer({ index, message, code, errno, syscall });
      }
    return answer(undefined);
  },

  /**
   * Encodes posts in blocks, which are blocks of columns where the encoding says so: `ends` has the index in `rows`
   * after the last of each. Where it fails, the main thread encodes the posts again, for the exact error.
   */
  encode(file: number, encoding: number, list: RowList, ends: readonly number[]) {
    const encodeRows = encoders[encoding]!;
    const posts = { ...list, content: held.get(file)! };
    try {
      const blocks = ends.map((to, index) => encodeRows(posts, ends[index - 1] ?? 0, to));
      return answer(
        blocks,
        blocks.flatMap(({ parts }) => parts),
      );
    } catch {
      return answer(undefined);
    }
  },

  /** Encodes columns of a row group. Gives what is wrong where it cannot, as an error loses its class on the way. */
  encodeChunks(columns: ColumnsToEncode) {
    try {
      const chunks = encodeChunks(columns);
      for (const part of columns.parts) releaseMemory(part);
      return answer(
        { chunks },
        chunks.flatMap(({ pieces }) => pieces),
      );
    } catch (error) {
      if (!(error instanceof DataError)) throw error;
      return answer({ problem: error.message });
    }
  },

  /** Copies of some posts. */
  posts(file: number, rows: Uint32Array) {
    const posts = held.get(file)!.posts(rows);
    return answer(posts.map(post => new Uint8Array(post)));
  },

  /** Puts other posts in the place of some. */
  replace(file: number, rows: Uint32Array, posts: readonly Uint8Array[]) {
    held.get(file)!.replace(rows, posts);
    return answer(undefined);
  },

  /** A copy of the content of a file. */
  copy(file: number) {
    const bytes = new Uint8Array(held.get(file)!.bytes);
    return answer(bytes, [bytes]);
  },

  /** The content of a file, which is then no longer held. */
  take(file: number) {
    const bytes: Uint8Array = held.get(file)!.bytes;
    held.delete(file);
    return answer(bytes, [bytes]);
  },

  /** Frees the content of a file. */
  free(file: number) {
    held.get(file)!.release();
    held.delete(file);
    return answer(undefined);
  },

  /** Ends the thread, as nothing else keeps it. */
  end() {
    port.close();
    return answer(undefined);
  },
};

// One after the other: answers are in the order of the calls.
let last = Promise.resolve();
port.on('message', ({ name, args }: { name: keyof ThreadCalls; args: unknown[] }) => {
  const call = calls[name] as (...args: unknown[]) => Answer<unknown> | Promise<Answer<unknown>>;
  last = last.then(async () => {
    const { result, moved } = await call(...args);
    port.postMessage(
      result,
      moved.map(({ buffer }) => buffer as ArrayBuffer),
    );
  });
});

function answer<T>(result: T, moved: readonly Memory[] = []): Answer<T> {
  return { result, moved };
}

function bufferOf({ buffer, byteOffset, byteLength }: Uint8Array): Buffer {
  return Buffer.from(buffer, byteOffset, byteLength);
}

/** A call may write fewer bytes, on a disk that is nearly full. */
function writeAll(fd: number, lines: readonly Buffer[], position: number): void {
  let skip = writevSync(fd, lines, position);
  let at = position;
  for (const line of lines) {
    for (let done = Math.min(skip, line.length); done < line.length; )
      done += writeSync(fd, line, done, line.length - done, at + done);
    skip -= Math.min(skip, line.length);
    at += line.length;
  }
}
