import { randomUUID } from 'node:crypto';
import { type FileHandle, open, unlink } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { StorageError } from '../errors.js';

const BLOCK = 1024 * 1024;

/**
 * A temporary file for what is too large for memory. Its name is taken away at once, so nothing is
 * left behind however the process ends; where that cannot be, it goes when it is closed.
 */
export class SpoolFile {
  readonly #path: string;
  readonly #handle: FileHandle;
  #nameless: boolean;
  #bytes = 0;

  private constructor(file: string, handle: FileHandle, nameless: boolean) {
    this.#path = file;
    this.#handle = handle;
    this.#nameless = nameless;
  }

  static async open(): Promise<SpoolFile> {
    const file = path.join(tmpdir(), `millrace-${randomUUID()}`);
    return failing(file, async () => {
      const handle = await open(file, 'wx+', 0o600);
      return new SpoolFile(file, handle, await removed(file));
    });
  }

  async write(chunk: Buffer): Promise<void> {
    await failing(this.#path, async () => {
      for (let done = 0; done < chunk.length; ) {
        const { bytesWritten } = await this.#handle.write(chunk, done, undefined, this.#bytes);
        done += bytesWritten;
        this.#bytes += bytesWritten;
      }
    });
  }

  async *blocks(): AsyncGenerator<Buffer, void, undefined> {
    for (let at = 0; at < this.#bytes; ) {
      const block = Buffer.allocUnsafeSlow(Math.min(BLOCK, this.#bytes - at));
      const { bytesRead } = await failing(this.#path, () =>
        this.#handle.read(block, 0, block.length, at),
      );
      if (bytesRead === 0) throw new StorageError(`${this.#path} was cut`, { path: this.#path });
      at += bytesRead;
      yield block.subarray(0, bytesRead);
    }
  }

  async close(): Promise<void> {
    await this.#handle.close().catch(() => {});
    if (!this.#nameless) this.#nameless = await removed(this.#path);
  }
}

async function removed(file: string): Promise<boolean> {
  try {
    await unlink(file);
    return true;
  } catch {
    return false;
  }
}

async function failing<T>(file: string, action: () => Promise<T>): Promise<T> {
  try {
    return await action();
  } catch (cause) {
    const reason = cause instanceof Error ? cause.message : String(cause);
    throw new StorageError(
      `Could not keep a large file of a job in ${file}: ${reason}. Make room there, or name another folder in TMPDIR`,
      { cause, path: file },
    );
  }
}
