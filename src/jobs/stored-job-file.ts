import { DataError } from '../base/errors.js';
import type { DecodedFile } from '../files/decoded-file.js';
import type { FileContent } from '../files/file-source.js';
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

/** Files larger than this many bytes are stored on disk. */
const MAX_FILE_IN_MEMORY = 4 * 1024 * 1024;

/** A complete and undamaged file that is waiting to be delivered. */
export interface StoredJobFile extends CheckedFile {
  readonly origin: string;
  readonly decoded?: DecodedFile | undefined;
  /** Returns the bytes of the file. Used if the file is not decoded. */
  blocks(): AsyncIterable<Buffer>;
  /**
   * Gives the bytes of the file back to the memory budgets, or deletes its temporary file. Does not release
   * `decoded`.
   */
  release(): Promise<void>;
}

/**
 * The limits on the memory of all stored files. `waiting` limits compressed files, and `inflated` limits
 * contents that were decoded on the main thread.
 */
export interface JobFileMemory {
  readonly waiting: MemoryBudget;
  readonly inflated: MemoryBudget;
}

/**
 * Takes bytes from a budget. Returns a function that gives the bytes back. Calling that function again has no
 * effect. Returns `undefined` if the budget has too few bytes left.
 */
export type MemoryBudget = (bytes: number) => (() => void) | undefined;

export function memoryBudget(bytes: number): MemoryBudget {
  let free = bytes;
  return taken => {
    if (taken > free) return undefined;
    free -= taken;
    let held = taken;
    return () => {
      free += held;
      held = 0;
    };
  };
}

export interface DecodeOnce {
  /**
   * Whether threads hold the decoded contents. The threads limit this memory, so it is not counted on the
   * main thread.
   */
  readonly inThreads: boolean;
  decode(file: FileContent, origin: string): Promise<DecodedFile | undefined>;
}

/**
 * Checks a file that was received.
 *
 * @throws DataError, which is retryable, if the file is damaged
 */
type CheckReceived = (decoder?: DecodeOnce) => Promise<StoredJobFile>;

/**
 * Receives a file into memory or into a temporary file. Calls `onBytes` for each chunk. Returns a function
 * that checks the file.
 */
export async function receiveJobFile(
  response: HttpResponse,
  memory: JobFileMemory,
  onBytes: (bytes: number) => void,
): Promise<CheckReceived> {
  const length = Number(response.headers['content-length'] ?? Number.NaN);
  const leave = length <= MAX_FILE_IN_MEMORY ? memory.waiting(length) : undefined;
  if (leave === undefined) {
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
    return decoder => checkInMemory(file, response.url, leave, memory.inflated, decoder);
  } catch (error) {
    leave();
    throw error;
  }
}

/** @param leave Frees the share of the memory budget that the bytes of the file take. */
async function checkInMemory(
  file: FileContent,
  origin: string,
  leave: () => void,
  inflated: MemoryBudget,
  decoder: DecodeOnce | undefined,
): Promise<StoredJobFile> {
  const { length } = file.bytes;
  const inThreads = decoder?.inThreads === true;
  const size = inThreads ? 0 : inflatedSize(file.bytes);
  const deflate = inflated(size);
  const release = async () => {
    leave();
    deflate?.();
  };
  try {
    const decoded = deflate && (await decoder?.decode(file, origin));
    const whole = file.bytes;
    if (whole.length !== length)
      throw new DataError('The thread that checked the file has ended', {
        position: { origin },
        retryable: true,
      });
    const counted = decoded && checkDecodedFile(whole, decoded);
    if (counted !== undefined) {
      leave();
      // If threads hold the decoded contents, the compressed bytes are freed now. If this thread holds the
      // contents, early release is useless, because the allocator would keep the freed memory.
      if (inThreads) releaseMemory(whole);
      return { ...counted, origin, decoded, blocks: async function* () {}, release };
    }
    decoded?.release();
    const room = deflate === undefined ? 0 : size;
    const checked = await checkJobFile(whole, origin, inThreads ? MAX_FILE_IN_MEMORY : room);
    const blocks = async function* () {
      yield whole;
    };
    return { ...checked, origin, blocks, release };
  } catch (error) {
    await release();
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
