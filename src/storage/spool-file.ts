import { randomUUID } from 'node:crypto';
import { type FileHandle, open, unlink } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { StorageError } from '../base/errors.js';
import { writeAll } from './file-system.js';
import { withStorageError } from './storage-error.js';

/**
 * A temporary file for data that is too large for memory. The file is unlinked right after it is opened, so
 * that nothing is left behind, however the process ends. On systems that cannot unlink an open file, `close`
 * removes it.
 */
export class SpoolFile {
  readonly #path: string;
  readonly #content: string;
  readonly #handle: FileHandle;
  #unlinked: boolean;
  #bytes = 0;

  private constructor(file: string, content: string, handle: FileHandle, unlinked: boolean) {
    this.#path = file;
    this.#content = content;
    this.#handle = handle;
    this.#unlinked = unlinked;
  }

  /**
   * @param content what the file stores, for error messages
   * @throws StorageError
   */
  static async open(content: string, folder = tmpdir()): Promise<SpoolFile> {
    const file = path.join(folder, `millrace-spool-${process.pid}-${randomUUID()}`);
    return withStorageError(`store ${content} in`, file, async () => {
      const handle = await open(file, 'wx+', 0o600);
      return new SpoolFile(file, content, handle, await unlinked(file));
    });
  }

  /**
   * Appends all chunks. Must not be called again before the promise has resolved.
   * @throws StorageError
   */
  async write(chunks: readonly Buffer[]): Promise<void> {
    await withStorageError(`store ${this.#content} in`, this.#path, async () => {
      const size = chunks.reduce((sum, { length }) => sum + length, 0);
      const { bytesWritten } = await this.#handle.writev(chunks, this.#bytes);
      // If the disk accepts only some of the bytes, writes the rest. If that fails, the error gives the
      // reason.
      if (bytesWritten < size) {
        const rest = Buffer.concat(chunks).subarray(bytesWritten);
        await writeAll(this.#handle, rest, this.#bytes + bytesWritten);
      }
      this.#bytes += size;
    });
  }

  /** @throws StorageError */
  async read(position: number, length: number): Promise<Buffer> {
    const bytes = Buffer.allocUnsafeSlow(length);
    for (let read = 0; read < length; )
      read += await this.#readInto(bytes.subarray(read), position + read);
    return bytes;
  }

  /** @throws StorageError */
  async *blocks(blockBytes = 1024 * 1024): AsyncGenerator<Buffer, void, undefined> {
    for (let at = 0; at < this.#bytes; ) {
      // The block is not allocated from Node's shared pool. Otherwise, a consumer that keeps a part of the
      // block would keep the whole pool in memory.
      const block = Buffer.allocUnsafeSlow(Math.min(blockBytes, this.#bytes - at));
      const read = await this.#readInto(block, at);
      at += read;
      yield block.subarray(0, read);
    }
  }

  /** Reads at least one byte into `bytes`. Returns the number of bytes read. */
  async #readInto(bytes: Buffer, position: number): Promise<number> {
    const { bytesRead } = await withStorageError(`read ${this.#content} from`, this.#path, () =>
      this.#handle.read(bytes, 0, bytes.length, position),
    );
    if (bytesRead === 0)
      throw new StorageError(`${this.#path} was truncated`, { path: this.#path });
    return bytesRead;
  }

  async close(): Promise<void> {
    await this.#handle.close().catch(() => {});
    if (!this.#unlinked) this.#unlinked = await unlinked(this.#path);
  }
}

async function unlinked(file: string): Promise<boolean> {
  try {
    await unlink(file);
    return true;
  } catch {
    return false;
  }
}
