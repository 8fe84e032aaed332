import type { DecodedFile } from '../engine/decoded-file.js';
import type { FileBytes } from '../engine/file-source.js';
import { DataError } from '../errors.js';
import { inflatedSize } from '../gzip/inflate-whole.js';
import { releaseMemory } from '../gzip/release-memory.js';
import type { HttpResponse } from '../http/http-message.js';
import { SpoolFile } from '../storage/spool-file.js';
import {
  type CheckedFile,
  checkDecodedFile,
  checkJobFile,
  checkJobFileStream,
} from './check-job-file.js';

/** Larger files are stored on disk. */
const MAX_FILE_IN_MEMORY = 4 * 1024 * 1024;

/** A complete and undamaged file that waits for its turn. */
export interface StoredJobFile extends CheckedFile {
  readonly origin: string;
  /** Its posts, where the check decoded it. */
  readonly decoded?: DecodedFile | undefined;
  /** Its bytes, where it is not decoded. */
  blocks(): AsyncIterable<Buffer>;
  /** Frees its memory, but for what is decoded. */
  release(): Promise<void>;
}

/** The memory that all stored files may take: compressed files, and contents that were decoded on this thread. */
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

/** What decodes a file, once. */
export interface DecodeOnce {
  /** Whether threads hold the contents; they limit their own memory. */
  readonly inThreads: boolean;
  /** Resolves to `undefined` where the file cannot be decoded. */
  decode(file: FileBytes, origin: string): Promise<DecodedFile | undefined>;
}

/** Checks a file that was received. @throws DataError that is retryable, for a damaged file. */
type CheckReceived = (decoder?: DecodeOnce) => Promise<StoredJobFile>;

/** Receives a file into memory or a temporary file, and returns what checks it. `onBytes` is called for each chunk. */
export async function receiveJobFile(
  response: HttpResponse,
  memory: JobFileMemory,
  onBytes: (bytes: number) => void,
): Promise<CheckReceived> {
  const length = Number(response.headers['content-length'] ?? Number.NaN);
  if (!(length <= MAX_FILE_IN_MEMORY && memory.waiting.reserve(length))) {
    const stored = await storeOnDisk(response, onBytes);
    return async () => stored;
  }
  try {
    const bytes = Buffer.allocUnsafeSlow(length);
    let at = 0;
    for await (const blocks of response.rawBlocks)
      for (const chunk of blocks) {
        onBytes(chunk.length);
        at += chunk.copy(bytes, at);
      }
    const file = { bytes: bytes.subarray(0, at) };
    return decoder => checkInMemory(file, response.url, memory, decoder);
  } catch (error) {
    memory.waiting.release(length);
    throw error;
  }
}

async function checkInMemory(
  file: FileBytes,
  origin: string,
  memory: JobFileMemory,
  decoder: DecodeOnce | undefined,
): Promise<StoredJobFile> {
  const { length } = file.bytes;
  const inThreads = decoder?.inThreads === true;
  const size = inThreads ? 0 : inflatedSize(file.bytes);
  const fits = memory.inflated.reserve(size);
  let [waitingBytes, inflatedBytes] = [length, fits ? size : 0];
  const leave = () => {
    memory.waiting.release(waitingBytes);
    memory.inflated.release(inflatedBytes);
    [waitingBytes, inflatedBytes] = [0, 0];
  };
  try {
    const decoded = fits ? await decoder?.decode(file, origin) : undefined;
    const whole = file.bytes;
    if (whole.length !== length)
      throw new DataError('The thread that checked the file has ended', {
        position: { origin },
        retryable: true,
      });
    const counted = decoded && checkDecodedFile(whole, decoded);
    if (counted !== undefined) {
      memory.waiting.release(waitingBytes);
      waitingBytes = 0;
      // On this thread, a reader of items leaves contents to the garbage collector, and the allocator would keep them.
      if (inThreads) releaseMemory(whole);
      return {
        ...counted,
        origin,
        decoded,
        blocks: async function* () {},
        release: async () => leave(),
      };
    }
    decoded?.release();
    const checked = await checkJobFile(
      whole,
      origin,
      inThreads ? MAX_FILE_IN_MEMORY : inflatedBytes,
    );
    const blocks = async function* () {
      yield whole;
    };
    return { ...checked, origin, blocks, release: async () => leave() };
  } catch (error) {
    leave();
    throw error;
  }
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
      blocks: () => file.blocks(),
      release: () => file.close(),
    };
  } catch (error) {
    await file.close();
    throw error;
  }
}
