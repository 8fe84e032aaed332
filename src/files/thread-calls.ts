import { writeSync, writevSync } from 'node:fs';
import { parentPort, workerData } from 'node:worker_threads';
import { DataError } from '../base/errors.js';
import { inflateWholeHere } from '../gzip/inflate-whole.js';
import { releaseMemory } from '../gzip/release-memory.js';
import { decodeFile, readWhole } from './decode-file.js';
import { type EncodeRows, type EncoderKind, type RowEncoding, rowsEncoder } from './encode-rows.js';
import type { FileRecords, RecordKind, RowBounds } from './file-records.js';
import type { Decoding } from './plan.js';
import type { Memory, RecordColumnKind, ThreadTask } from './record-columns.js';
import type { OpenFileRange, RowList } from './rows.js';

// The calls that a thread answers. The thread decodes files, and holds their content until it is written or
// moved to the main thread.

/** Everything that the script of a thread can run. `src/worker.ts` passes it to `serveThread`. */
export interface ThreadAbilities {
  readonly records: readonly RecordKind[];
  readonly columns: readonly RecordColumnKind[];
  readonly encoders: readonly EncoderKind[];
  readonly tasks: readonly ThreadTask[];
}

interface Named {
  readonly name: string;
  readonly options: unknown;
}

/**
 * The data with which a thread is started. Record kinds, columns and encoders are given by name, because
 * functions cannot be sent to a thread.
 */
export interface ThreadStart {
  readonly decoding: Omit<Decoding, 'records'> & { readonly records: string };
  readonly columns: readonly Named[];
  /**
   * For each reader of the decoded files, such as a sink, how a thread encodes rows for it. `undefined` if
   * threads do not encode rows for the reader.
   */
  readonly encodings: readonly (
    | (Pick<RowEncoding, 'compression'> & { readonly kind: Named | undefined })
    | undefined
  )[];
}

/**
 * The calls that the main thread makes with `EngineThread.ask`. Each file has an id, which the main thread
 * chooses when it calls `decode`.
 */
export type ThreadCalls = ReturnType<typeof callsOf>;

interface Answer<T> {
  readonly result: T;
  /** The arrays in the result that are transferred. All other data is copied. */
  readonly moved: readonly Memory[];
}

interface Decoded {
  readonly input: Uint8Array | undefined;
  readonly decoded:
    | {
        readonly bounds: RowBounds;
        readonly columns: readonly unknown[];
        readonly messages: readonly Uint8Array[];
        readonly bytes: number;
      }
    | undefined;
}

export function serveThread(abilities: ThreadAbilities): void {
  const port = parentPort!;
  const calls = callsOf(abilities, workerData as ThreadStart, () => port.close());
  // When a thread transfers its first buffer, V8 discards the optimised code that reads buffers. Transferring
  // a buffer here costs nothing, because no such code exists yet.
  releaseMemory(Buffer.allocUnsafeSlow(1));
  // Calls run one after another, because the main thread expects the answers in the order of its calls.
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
}

function named<Kind extends { readonly name: string }>(kinds: readonly Kind[], name: string): Kind {
  const kind = kinds.find(one => one.name === name);
  if (kind === undefined) throw new Error(`Threads do not know ${name}: add it to worker.ts`);
  return kind;
}

function callsOf(abilities: ThreadAbilities, start: ThreadStart, close: () => void) {
  const decoding = { ...start.decoding, records: named(abilities.records, start.decoding.records) };
  const columns = start.columns.map(({ name, options }) => {
    const kind = named(abilities.columns, name);
    return { read: kind.create(options), moved: (data: unknown) => kind.moved?.(data) ?? [] };
  });
  const encoders = start.encodings.map(given => given && encoderOf(abilities, given));
  const held = new Map<number, FileRecords>();
  return {
    /**
     * Decodes a file, given its path or its bytes. Returns given bytes as `input`. If the file cannot be
     * decoded as a whole, `decoded` is `undefined`, and the pipeline stages must process the file.
     *
     * @param size The size of the file when its path was listed. If the file is now shorter, it is not
     *   decoded.
     */
    async decode(
      file: number,
      pathOrBytes: string | Uint8Array,
      size: number,
    ): Promise<Answer<Decoded>> {
      const [stored, input] =
        typeof pathOrBytes === 'string'
          ? [readWhole(pathOrBytes, size), undefined]
          : [bufferOf(pathOrBytes), pathOrBytes];
      const back = input === undefined ? [] : [input];
      const readers = columns.map(({ read }) => read);
      const decoded = stored && (await decodeFile(stored, decoding, readers, inflateWholeHere));
      if (decoded === undefined) return answer({ input, decoded: undefined }, back);
      const { rows, messages } = decoded;
      held.set(file, rows);
      const bounds = rows.bounds();
      const moved = columns.flatMap((column, index) => column.moved(decoded.columns[index]));
      return answer(
        {
          input,
          decoded: { bounds, columns: decoded.columns, messages, bytes: rows.content.length },
        },
        [bounds.starts, bounds.lengths, ...moved, ...back],
      );
    },

    /**
     * Writes rows to open files, one line for each row. Returns a failure as a plain object, because an error
     * that is sent to another thread loses its code.
     */
    write(file: number, rows: Uint32Array, ranges: readonly OpenFileRange[]) {
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
     * Encodes the rows of `list` in blocks. `ends[i]` is the index in `list` after the last row of block `i`.
     * If this fails, the main thread encodes the items again and throws the exact error.
     */
    encode(file: number, encoding: number, list: RowList, ends: readonly number[]) {
      const encodeRows = encoders[encoding]!;
      const rows = held.get(file)!;
      try {
        const blocks = ends.map((to, index) => encodeRows(rows, list, ends[index - 1] ?? 0, to));
        return answer(
          blocks,
          blocks.flatMap(({ parts }) => parts),
        );
      } catch {
        return answer(undefined);
      }
    },

    /**
     * Runs a task. Returns a failure as a plain object, because an error that is sent to another thread loses
     * its class.
     */
    run(name: string, input: unknown) {
      const task = named(abilities.tasks, name);
      try {
        const output = task.run(input);
        for (const part of task.given(input)) releaseMemory(part);
        return answer({ output }, task.made(output));
      } catch (error) {
        if (!(error instanceof DataError)) throw error;
        return answer({ problem: error.message });
      }
    },

    records(file: number, rows: Uint32Array): Answer<Uint8Array[]> {
      const from = held.get(file)!;
      return answer(Array.from(rows, row => new Uint8Array(from.record(row))));
    },

    replace(file: number, rows: Uint32Array, records: readonly Uint8Array[]) {
      held.get(file)!.replace(rows, records);
      return answer(undefined);
    },

    copy(file: number): Answer<Uint8Array> {
      const bytes = new Uint8Array(held.get(file)!.content);
      return answer(bytes, [bytes]);
    },

    /** Returns the content of a file. The thread then no longer holds it. */
    take(file: number): Answer<Uint8Array> {
      const bytes: Uint8Array = held.get(file)!.content;
      held.delete(file);
      return answer(bytes, [bytes]);
    },

    free(file: number) {
      held.get(file)!.release();
      held.delete(file);
      return answer(undefined);
    },

    /** Ends the thread. Once its listener is closed, nothing keeps the thread running. */
    end() {
      close();
      return answer(undefined);
    },
  };
}

function encoderOf(
  { encoders }: ThreadAbilities,
  { kind, compression }: NonNullable<ThreadStart['encodings'][number]>,
): EncodeRows {
  if (kind === undefined) return rowsEncoder({ compression });
  const { name, options } = kind;
  return rowsEncoder({ kind: named(encoders, name), options, compression });
}

function answer<T>(result: T, moved: readonly Memory[] = []): Answer<T> {
  return { result, moved };
}

function bufferOf({ buffer, byteOffset, byteLength }: Uint8Array): Buffer {
  return Buffer.from(buffer, byteOffset, byteLength);
}

/**
 * Writes lines at a position of a file. If the disk is nearly full, a system call may write fewer
 * bytes than requested. The rest is then written with further calls.
 */
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
