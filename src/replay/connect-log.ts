import { createHash } from 'node:crypto';
import { lstat, mkdir, open, readFile, rename, writeFile } from 'node:fs/promises';
import os from 'node:os';
import path from 'node:path';
import { StorageError } from '../errors.js';

/** Longer files are cut back to their end. */
const LONGEST_FILE = 64 * 1024;

/**
 * When connections were made, in a file of its own: a process that is killed while it connects must
 * not forget that it did, however often it is started again.
 */
export class ConnectLog {
  readonly #file: string;

  /** @param budget what the service counts together, such as the account's name and host */
  constructor(folder: string, budget: string) {
    const name = createHash('sha256').update(budget).digest('hex').slice(0, 16);
    this.#file = path.join(folder, `connects-${name}.log`);
  }

  /** Epoch milliseconds, in order. */
  async read(): Promise<number[]> {
    const text = await this.#text();
    const times = text.split('\n').map(line => Date.parse(line));
    return times.filter(at => !Number.isNaN(at)).sort((a, b) => a - b);
  }

  /** Adds a time, and resolves once it would survive a power cut. */
  async add(at: number): Promise<void> {
    await this.#guard(async () => {
      const handle = await open(this.#file, 'a', 0o600);
      try {
        await handle.appendFile(`${new Date(at).toISOString()}\n`);
        await handle.datasync();
      } finally {
        await handle.close();
      }
    });
  }

  async #text(): Promise<string> {
    return this.#guard(async () => {
      try {
        const text = await readFile(this.#file, 'latin1');
        if (text.length > LONGEST_FILE) await this.#shorten(text);
        return text;
      } catch (error) {
        if ((error as NodeJS.ErrnoException).code === 'ENOENT') return '';
        throw error;
      }
    });
  }

  async #shorten(text: string): Promise<void> {
    const beside = `${this.#file}.${process.pid}.tmp`;
    await writeFile(beside, text.split('\n').slice(-100).join('\n'), { mode: 0o600 });
    await rename(beside, this.#file);
  }

  #guard<T>(work: () => Promise<T>): Promise<T> {
    return storing(this.#file, 'keep the times of connections in', work);
  }
}

/** The folder for what replays keep for a while; made when it is not there. */
export async function replayFolder(folder: string | undefined): Promise<string> {
  const shared = folder === undefined;
  const at = folder ?? path.join(os.tmpdir(), `millrace-${process.getuid?.() ?? 'user'}`);
  await storing(at, 'use the folder', async () => {
    await mkdir(at, { recursive: true, mode: 0o700 });
    const { uid } = await lstat(at);
    // Whoever else may write to the temporary folder could have made it before us.
    if (shared && process.getuid !== undefined && uid !== process.getuid())
      throw new Error('it belongs to another user; pass `folder`');
  });
  return at;
}

/** Does something with a file, and says what failed on which. */
export async function storing<T>(file: string, doing: string, work: () => Promise<T>): Promise<T> {
  try {
    return await work();
  } catch (cause) {
    const reason = cause instanceof Error ? cause.message : String(cause);
    throw new StorageError(`Could not ${doing} ${file}: ${reason}`, {
      path: file,
      cause,
      retryable: /ENOSPC|EDQUOT|EIO|EMFILE/.test(reason),
    });
  }
}
