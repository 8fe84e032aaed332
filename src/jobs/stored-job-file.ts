import { DataError } from '../errors.js';
import { inflatedSize } from '../gzip/inflated-size.js';
import { releaseMemory } from '../gzip/release-memory.js';
import type { HttpResponse } from '../http/http-message.js';
import type { HeldFile } from '../scan/held-file.js';
import type { FileBytes } from '../scan/scan-task.js';
import { SpoolFile } from '../storage/spool-file.js';
import {
  type CheckedFile,
  checkJobFile,
  checkJobFileStream,
  checkScannedFile,
} from './check-job-file.js';

/** Larger files are stored on disk. */
const MAX_FILE_IN_MEMORY = 4 * 1024 * 1024;

/** A complete and undamaged file that waits for its turn. */
export interface StoredJobFile extends CheckedFile {
  readonly origin: string;
  /** The whole file, if it is in memory. */
  readonly whole: Buffer | undefined;
  /** Its content, where the check inflated it in memory: `gunzip` does not inflate it again. */
  readonly inflated: Buffer | undefined;
  /** Its posts, where a thread checked it and holds the content. */
  readonly scanned?: HeldFile | undefined;
  blocks(): AsyncIterable<Buffer>;
  release(): Promise<void>;
}

/** The memory that all stored files may take: compressed files, and their inflated contents. */
export interface JobFileMemory {
  readonly waiting: MemoryBudget;
  readonly inflated: MemoryBudget;
}

/** A number of bytes that several users share. */
export class MemoryBudget {
  #free: number;

  constructor(bytes: number) {
    this.#free = bytes;
  }

  /** Whether there was room; if so, `release` the same number later. */
  reserve(bytes: number): boolean {
    if (bytes > this.#free) return false;
    this.#free -= bytes;
    return true;
  }

  release(bytes: number): void {
    this.#free += bytes;
  }
}

/** Scans a file in another thread; `undefined` where that cannot be done. */
export type ScanBytes = (file: FileBytes, origin: string) => Promise<HeldFile | undefined>;

/** A file that has been received, and must be checked. */
export interface ReceivedJobFile {
  /** @throws DataError that is retryable, for a damaged file. */
  check(scan?: ScanBytes): Promise<StoredJobFile>;
}

/** Receives a file into memory or a temporary file. `onBytes` is called for each chunk. */
export async function receiveJobFile(
  response: HttpResponse,
  memory: JobFileMemory,
  onBytes: (bytes: number) => void,
): Promise<ReceivedJobFile> {
  const length = Number(response.headers['content-length'] ?? Number.NaN);
  if (!(length <= MAX_FILE_IN_MEMORY && memory.waiting.reserve(length))) {
    const stored = await storeOnDisk(response, onBytes);
    return { check: async () => stored };
  }
  try {
    const bytes = Buffer.allocUnsafeSlow(length);
    let at = 0;
    for await (const chunk of response.body) {
      onBytes(chunk.length);
      at += chunk.copy(bytes, at);
    }
    const file = { bytes: bytes.subarray(0, at) };
    return { check: scan => checkInMemory(file, response.url, memory, scan) };
  } catch (error) {
    memory.waiting.release(length);
    throw error;
  }
}

async function checkInMemory(
  file: FileBytes,
  origin: string,
  memory: JobFileMemory,
  scan: ScanBytes | undefined,
): Promise<StoredJobFile> {
  const { length } = file.bytes;
  let inflatedBytes = 0;
  let released = false;
  const release = async () => {
    if (released) return;
    released = true;
    memory.waiting.release(length);
    memory.inflated.release(inflatedBytes);
  };
  try {
    const scanned = await scan?.(file, origin);
    const whole = file.bytes;
    if (whole.length !== length)
      throw new DataError('The thread that checked the file has ended', {
        position: { origin },
        retryable: true,
      });
    const counted = scanned && checkScannedFile(whole, scanned);
    if (counted !== undefined) {
      await release();
      releaseMemory(whole);
      return { ...counted, ...storedInThread(scanned as HeldFile) };
    }
    scanned?.release();
    const size = inflatedSize(whole);
    if (memory.inflated.reserve(size)) inflatedBytes = size;
    const { content, ...checked } = await checkJobFile(whole, origin, inflatedBytes);
    const blocks = async function* () {
      yield whole;
    };
    return { ...checked, origin, whole, inflated: content, blocks, release };
  } catch (error) {
    await release();
    throw error;
  }
}

function storedInThread(file: HeldFile): Omit<StoredJobFile, keyof CheckedFile> {
  return {
    ...{ origin: file.origin, whole: undefined, inflated: undefined, scanned: file },
    blocks: async function* () {},
    release: async () => file.release(),
  };
}

async function storeOnDisk(
  response: HttpResponse,
  onBytes: (bytes: number) => void,
): Promise<StoredJobFile> {
  const file = await SpoolFile.open('a large file of a job');
  try {
    const written = async function* () {
      for await (const chunk of response.body) {
        onBytes(chunk.length);
        await file.write([chunk]);
        yield chunk;
      }
    };
    const checked = await checkJobFileStream(written(), response.url);
    return {
      ...checked,
      origin: response.url,
      whole: undefined,
      inflated: undefined,
      blocks: () => file.blocks(),
      release: () => file.close(),
    };
  } catch (error) {
    await file.close();
    throw error;
  }
}
