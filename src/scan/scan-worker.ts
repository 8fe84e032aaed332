import { parentPort, workerData } from 'node:worker_threads';
import { releaseMemory } from '../gzip/release-memory.js';
import { FileReader } from './file-reader.js';
import type { ScanCommand, ScanReply, WorkerStart, WriteFailure } from './messages.js';
import { MAX_FILE_BYTES, scanFile } from './scan-file.js';
import type { ScanTask } from './scan-task.js';
import type { RowBounds } from './scanned-columns.js';
import { RowWriter } from './write-rows.js';

// A thread that inflates and scans files, and keeps their content until it is written or sent.

interface HeldFile {
  readonly bytes: Buffer;
  readonly bounds: RowBounds;
}

const port = parentPort!;
const { fields } = workerData as WorkerStart;
const held = new Map<number, HeldFile>();
const reader = new FileReader(MAX_FILE_BYTES);
const writer = new RowWriter();

// V8 discards the optimised code that reads buffers when a thread transfers its first one: while there is none yet.
releaseMemory(Buffer.allocUnsafeSlow(1));

// One after the other: replies are in the order of the commands.
let last = Promise.resolve();
port.on('message', (command: ScanCommand) => {
  last = last.then(() => execute(command));
});

async function execute(command: ScanCommand): Promise<void> {
  switch (command.kind) {
    case 'scan':
      await scan(command);
      break;
    case 'write':
      reply({ kind: 'written', file: command.file, failure: write(command) });
      break;
    case 'send': {
      const { file } = command;
      const { bytes } = held.get(file)!;
      held.delete(file);
      reply({ kind: 'sent', file, bytes }, [bytes.buffer as ArrayBuffer]);
      break;
    }
    case 'free':
      releaseMemory(held.get(command.file)!.bytes);
      held.delete(command.file);
      break;
    case 'end':
      // The thread ends by itself, as nothing else keeps it.
      port.close();
      break;
  }
}

async function scan({ file, task }: ScanCommand & { kind: 'scan' }): Promise<void> {
  const content = contentOf(task);
  const scanned = content && (await scanFile(content, task, fields));
  const input = typeof task.file === 'string' ? undefined : task.file;
  const moved = input === undefined ? [] : [input.buffer as ArrayBuffer];
  if (scanned === undefined) {
    reply({ kind: 'refused', file, input }, moved);
    return;
  }
  const { bytes, columns, messages } = scanned;
  held.set(file, { bytes, bounds: columns.bounds() });
  const data = columns.data();
  reply({ kind: 'scanned', file, data, messages, bytes: bytes.length, input }, [
    data.numbers.buffer as ArrayBuffer,
    ...moved,
  ]);
}

function contentOf({ file, size }: ScanTask): Buffer | undefined {
  return typeof file === 'string'
    ? reader.read(file, size)
    : Buffer.from(file.buffer, file.byteOffset, file.byteLength);
}

function write({ file, rows, ranges }: ScanCommand & { kind: 'write' }): WriteFailure | undefined {
  const { bytes, bounds } = held.get(file)!;
  try {
    writer.write(bytes, bounds, rows, ranges);
    return undefined;
  } catch (error) {
    const { message, code, errno, syscall } = error as NodeJS.ErrnoException;
    return { index: writer.range, message, code, errno, syscall };
  }
}

function reply(message: ScanReply, transfer: ArrayBuffer[] = []): void {
  port.postMessage(message, transfer);
}
