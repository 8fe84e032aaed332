import { writeSync, writevSync } from 'node:fs';
import { parentPort, workerData } from 'node:worker_threads';
import { inflateWholeSync } from '../gzip/inflate-whole.js';
import { releaseMemory } from '../gzip/release-memory.js';
import { encodeChunks } from '../parquet/column-chunk.js';
import { decodeFile, MAX_FILE_BYTES } from './decode-file.js';
import { rowsEncoder } from './encode-rows.js';
import { FileContent } from './file-content.js';
import { FileReader } from './file-reader.js';
import type {
  DecodeTask,
  ThreadCommand,
  ThreadReply,
  WorkerStart,
  WriteFailure,
} from './messages.js';

// A thread that decodes files, and keeps their content until it is written or sent.

const port = parentPort!;
const { fields, encodings = [] } = workerData as WorkerStart;
const encoders = encodings.map(rowsEncoder);
const held = new Map<number, FileContent>();
const reader = new FileReader(MAX_FILE_BYTES);

// V8 discards the optimised code that reads buffers when a thread transfers its first one: while there is none yet.
releaseMemory(Buffer.allocUnsafeSlow(1));

// One after the other: replies are in the order of the commands.
let last = Promise.resolve();
port.on('message', (command: ThreadCommand) => {
  last = last.then(() => execute(command));
});

async function execute(command: ThreadCommand): Promise<void> {
  switch (command.kind) {
    case 'decode':
      await decode(command);
      break;
    case 'write':
      reply({ kind: 'written', file: command.file, failure: write(command) });
      break;
    case 'encode':
      encode(command);
      break;
    case 'chunks': {
      const { types, parts, compression } = command.task;
      const chunks = encodeChunks(types, parts, compression);
      for (const part of parts) releaseMemory(part);
      reply(
        { kind: 'chunks', chunks },
        chunks.flatMap(({ pieces }) => pieces.map(({ buffer }) => buffer as ArrayBuffer)),
      );
      break;
    }
    case 'posts': {
      const content = held.get(command.file)!;
      const posts = content.posts(command.rows).map(post => new Uint8Array(post));
      reply({ kind: 'posts', file: command.file, posts });
      break;
    }
    case 'replace':
      held.get(command.file)!.replace(command.rows, command.posts);
      break;
    case 'copy': {
      const { file } = command;
      const bytes = new Uint8Array(held.get(file)!.bytes);
      reply({ kind: 'sent', file, bytes }, [bytes.buffer]);
      break;
    }
    case 'send': {
      const { file } = command;
      const { bytes } = held.get(file)!;
      held.delete(file);
      reply({ kind: 'sent', file, bytes }, [bytes.buffer as ArrayBuffer]);
      break;
    }
    case 'free':
      held.get(command.file)!.release();
      held.delete(command.file);
      break;
    case 'end':
      // The thread ends by itself, as nothing else keeps it.
      port.close();
      break;
  }
}

async function decode({ file, task }: ThreadCommand & { kind: 'decode' }): Promise<void> {
  const content = contentOf(task);
  const decoded = content && (await decodeFile(content, task, fields, inflateWholeSync));
  const input = typeof task.file === 'string' ? undefined : task.file;
  const moved = input === undefined ? [] : [input.buffer as ArrayBuffer];
  if (decoded === undefined) {
    reply({ kind: 'refused', file, input }, moved);
    return;
  }
  const { bytes, fields: read, messages } = decoded;
  held.set(file, new FileContent(bytes, read.bounds()));
  const data = read.data();
  reply({ kind: 'decoded', file, data, messages, bytes: bytes.length, input }, [
    data.numbers.buffer as ArrayBuffer,
    data.shownIds.buffer as ArrayBuffer,
    ...moved,
  ]);
}

function contentOf({ file, size }: DecodeTask): Buffer | undefined {
  return typeof file === 'string'
    ? reader.read(file, size)
    : Buffer.from(file.buffer, file.byteOffset, file.byteLength);
}

/** Writes posts as lines at positions of open files. */
function write({
  file,
  rows,
  ranges,
}: ThreadCommand & { kind: 'write' }): WriteFailure | undefined {
  const content = held.get(file)!;
  for (const [index, { fd, position, from, to }] of ranges.entries())
    try {
      writeAll(fd, content.lines(rows, from, to), position);
    } catch (error) {
      const { message, code, errno, syscall } = error as NodeJS.ErrnoException;
      return { index, message, code, errno, syscall };
    }
  return undefined;
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

/** Where it fails, the main thread encodes the posts again, for the exact error. */
function encode({
  encoding,
  file,
  rows,
  tags,
  tagNames,
  ends,
}: ThreadCommand & { kind: 'encode' }): void {
  const encodeRows = encoders[encoding]!;
  const posts = { content: held.get(file)!, rows, tags, tagNames };
  try {
    const blocks = ends.map((to, index) => encodeRows(posts, ends[index - 1] ?? 0, to));
    const memory = blocks.flatMap(({ parts }) => parts.map(({ buffer }) => buffer as ArrayBuffer));
    reply({ kind: 'encoded', file, blocks }, memory);
  } catch {
    reply({ kind: 'encoded', file, blocks: undefined });
  }
}

function reply(message: ThreadReply, transfer: ArrayBuffer[] = []): void {
  port.postMessage(message, transfer);
}
