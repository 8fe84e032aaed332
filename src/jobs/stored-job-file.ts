import { rememberInflated } from '../gzip/inflated.js';
import { inflatedSize } from '../gzip/inflated-size.js';
import type { HttpResponse } from '../http/http-message.js';
import { SpoolFile } from '../storage/spool-file.js';
import { type CheckedFile, checkJobFile, checkJobFileStream } from './check-job-file.js';
import type { MemoryBudget } from './memory-budget.js';

/** Larger files do not stay in memory. */
const LARGEST_FILE = 4 * 1024 * 1024;

/** A file that has come whole and undamaged, and waits for its turn. */
export interface StoredJobFile extends CheckedFile {
  readonly origin: string;
  /** All of it, where it is in memory. */
  readonly whole: Buffer | undefined;
  blocks(): AsyncIterable<Buffer>;
  release(): Promise<void>;
}

/** What may be held in memory at once: files as they came, and what they hold. */
export interface Memory {
  readonly waiting: MemoryBudget;
  readonly inflated: MemoryBudget;
}

/** Receives a file, in memory or in a temporary file, and checks it. `onBytes` hears of each chunk. */
export async function storeJobFile(
  answer: HttpResponse,
  memory: Memory,
  onBytes: (bytes: number) => void,
): Promise<StoredJobFile> {
  const length = Number(answer.headers['content-length'] ?? Number.NaN);
  if (!(length <= LARGEST_FILE && memory.waiting.take(length))) return spool(answer, onBytes);
  let kept = 0;
  let held = true;
  const release = async () => {
    if (!held) return;
    held = false;
    memory.waiting.give(length);
    memory.inflated.give(kept);
  };
  try {
    const chunks: Buffer[] = [];
    for await (const chunk of answer.body) {
      onBytes(chunk.length);
      chunks.push(chunk);
    }
    const whole = Buffer.concat(chunks);
    const size = inflatedSize(whole);
    if (memory.inflated.take(size)) kept = size;
    const { content, ...checked } = await checkJobFile(whole, answer.url, kept);
    // Whoever unzips it next need not do it again.
    if (content !== undefined) rememberInflated(whole, content);
    const blocks = async function* () {
      yield whole;
    };
    return { ...checked, origin: answer.url, whole, blocks, release };
  } catch (error) {
    await release();
    throw error;
  }
}

async function spool(
  answer: HttpResponse,
  onBytes: (bytes: number) => void,
): Promise<StoredJobFile> {
  const file = await SpoolFile.open();
  try {
    const written = async function* () {
      for await (const chunk of answer.body) {
        onBytes(chunk.length);
        await file.write(chunk);
        yield chunk;
      }
    };
    const checked = await checkJobFileStream(written(), answer.url);
    return {
      ...checked,
      origin: answer.url,
      whole: undefined,
      blocks: () => file.blocks(),
      release: () => file.close(),
    };
  } catch (error) {
    await file.close();
    throw error;
  }
}
